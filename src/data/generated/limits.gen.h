/* Made from data/limits.tsv by tools/gen_tables.py. DO NOT EDIT. */

/* % of communication time, or of all wait: below it no rank is a straggler, and propagated waits are not shown */
#define TW_LIMIT_WAITS_MATTER_PERCENT 10

/* % of communication time: at or above it communication is waiting, below it transfers */
#define TW_LIMIT_WAITS_ARE_MOST_PERCENT 50

/* ranks: max number of stragglers */
#define TW_LIMIT_STRAGGLERS_MOST 4

/* 1 / this of the ranks: max share of stragglers (one is always allowed) */
#define TW_LIMIT_STRAGGLERS_SHARE 4

/* times the mean: an all_to_allv with a largest part at or above it is uneven */
#define TW_LIMIT_UNEVEN_TIMES 1.25

/* % of the waiting for the stragglers: at or above it a collective is named without its share */
#define TW_LIMIT_NEARLY_ALL_PERCENT 99.5

/* % over the median rank: a rank above it is an outlier; a larger excess is the reason why a rank is late */
#define TW_LIMIT_OUTLIER_PERCENT 5

/* % of the median total time: min excess of an outlier rank over the median rank */
#define TW_LIMIT_OUTLIER_OF_TOTAL_PERCENT 1

/* times its uncertainty: a clock with a larger offset differs */
#define TW_LIMIT_CLOCKS_DIFFER_TIMES 3

/* ns: a clock with a larger offset differs */
#define TW_LIMIT_CLOCKS_DIFFER_NS 50000

/* ns from the median of its node: a clock with a larger offset is suspect: its trace may be from another time */
#define TW_LIMIT_CLOCK_SUSPECT_NS 10000000

/* ranks of a node: with fewer ranks no clock is suspect */
#define TW_LIMIT_CLOCK_SUSPECT_RANKS 3

/* % of the operators and kernels that either names: traces with at least this share in common may be ranks of one job, without other evidence */
#define TW_LIMIT_RANKS_ALIKE_PERCENT 50

/* ns: a trace that begins later after the end of the others is another job; so are base times with a larger difference */
#define TW_LIMIT_JOB_APART_NS 600000000000

/* % of the baseline: times with a smaller difference are the same */
#define TW_LIMIT_SAME_BELOW_PERCENT 1

/* 1/1000 of the baseline's total time: times with a smaller difference are the same */
#define TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE 1

/* % of the calls of the other side: sides with at least this common factor, or its inverse, have different numbers of steps */
#define TW_LIMIT_UNEVEN_CALLS_PERCENT 120

/* % from the factor of the middle: calls within this distance share the factor */
#define TW_LIMIT_UNEVEN_SAME_PERCENT 5

/* operations and kernels: min number of items with a common factor */
#define TW_LIMIT_UNEVEN_LEAST 2

/* spreads of the ranks: a rank with a change further from the median is an outlier */
#define TW_LIMIT_RANK_APART_SPREADS 5

/* % of its computing in the baseline: a rank with a change further from the median is an outlier */
#define TW_LIMIT_RANK_APART_PERCENT 5

/* % of its total time in the baseline: min change of an outlier rank */
#define TW_LIMIT_RANK_APART_TOTAL_PERCENT 1

/* % of the baseline's total time: min share of an item that fails the gate */
#define TW_LIMIT_GATE_OF_TOTAL_PERCENT 1

/* % more or fewer calls: sides with a smaller difference did the same work */
#define TW_LIMIT_SAME_WORK_PERCENT 1

/* % of what a part changed by over the ranks: at or above it the rank is named in the breakdown of a difference */
#define TW_LIMIT_SPLIT_RANK_PERCENT 75

/* % of the differences of GPU time of both sides, whichever way: at or above it, with less of the baseline's GPU time, the answer names a step, phase, module or call site */
#define TW_LIMIT_PLACE_PERCENT 75

/* % of the part that changed most: at or above it the rest of the total is shown */
#define TW_LIMIT_REST_PERCENT 1

/* %: an increase above it is shown as a factor, and has no percentage */
#define TW_LIMIT_TOLD_PERCENT_MOST 1000

/* times the noise of the ranks, or the baseline: at or above it a factor is shown as over this, or as far above the noise */
#define TW_LIMIT_TOLD_TIMES_MOST 1000

/* %: a smaller share is shown as no difference */
#define TW_LIMIT_NO_DIFFERENCE_PERCENT 0.05

/* % of the total time: configurations with a smaller difference are a tie; a smaller difference of a part is not a trade-off */
#define TW_LIMIT_SWEEP_TOLD_PERCENT 1

/* overlap ratio: a trial within this distance of the baseline is similar */
#define TW_LIMIT_TRIALS_SIMILAR 0.001

/* MB: a smaller message is tiny */
#define TW_LIMIT_MESSAGE_TINY_MB 0.01

/* MB: a smaller message is medium, larger ones large */
#define TW_LIMIT_MESSAGE_MEDIUM_MB 100

/* of the expected time: default: a call with a smaller difference is within_tol */
#define TW_LIMIT_SWEEP_TOLERANCE 0.01

/* µs: default: a shorter kernel is short */
#define TW_LIMIT_SHORT_KERNEL_US 10

/* µs: default in reports of a sweep */
#define TW_LIMIT_SWEEP_SHORT_KERNEL_US 50

/* % of the roofline or of the bandwidth: above it the time, the model or the peak is wrong */
#define TW_LIMIT_ROOFLINE_ANOMALY_PERCENT 110

/* % of a platform's memory: a device with a larger difference is another variant, or part of a GPU */
#define TW_LIMIT_PLATFORM_MEMORY_PERCENT 10

/* % of what was launched: a larger part not covered by GPU annotations is noted */
#define TW_LIMIT_UNCOVERED_PERCENT 1

/* 1 / this of the host's range: a shorter range on the GPU is incomplete, and the host's counts */
#define TW_LIMIT_GPU_RANGE_SHARE 10

/* 1 / this of the time with GPU work: repeated ranges with a smaller share are not a steady state */
#define TW_LIMIT_STEADY_SHARE 10

/* ranges of a name: min number of ranges of a steady state */
#define TW_LIMIT_STEADY_REPEATED 3

/* operations: number of top operators by time, whose bottlenecks are at least High */
#define TW_LIMIT_TOP_OPERATIONS 10

/* times: larger values are shown as "over" this */
#define TW_LIMIT_TOLD_SPEEDUP_MOST 10

/* of the distance between efficiency and roofline: the low estimate of a gain */
#define TW_LIMIT_GAIN_LOW_FRAC 0.75

/* of the distance between efficiency and roofline: the estimate of a gain */
#define TW_LIMIT_GAIN_MIDDLE_FRAC 0.875

/* of the time: the low estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_LOW_FRAC 0.15

/* of the time: the estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_MIDDLE_FRAC 0.3

/* of the time: the high estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_HIGH_FRAC 0.45

/* ns: a longer stretch of a host thread outside of operators is a pause on the critical path */
#define TW_LIMIT_PATH_PAUSE_NS 5000000

/* % of the roofline: scenarios of `trawl path` have operators at this share of their roofline */
#define TW_LIMIT_PATH_ROOFLINE_PERCENT 80

/* % of the platform's peak: what well-tuned matrix kernels reach: the target of findings */
#define TW_LIMIT_TARGET_MATH_PERCENT 80

/* % of the platform's bandwidth: what well-tuned memory-bound kernels reach: the target of findings */
#define TW_LIMIT_TARGET_MEMORY_PERCENT 85

/* % of the GPU time under an operator: kernels of an operator inside with less do not stand for it */
#define TW_LIMIT_STANDS_FOR_PERCENT 95

/* kernels: with more beside its own, kernels of an operator inside do not stand for it */
#define TW_LIMIT_KERNELS_BESIDE 2

/* % of its time: a kernel with a lower target time is far below the roofline */
#define TW_LIMIT_SLOW_KERNEL_PERCENT 75

/* µs: a shorter kernel is never told as slow */
#define TW_LIMIT_SLOW_KERNEL_LEAST_US 20

/* % of a step: without a larger gain nothing worth changing was found */
#define TW_LIMIT_FINDING_TOLD_PERCENT 1

/* % of a step: a finding with at least this gain is Critical */
#define TW_LIMIT_FINDING_CRITICAL_PERCENT 20

/* % of a step: a finding with at least this gain is High */
#define TW_LIMIT_FINDING_HIGH_PERCENT 10

/* % of a step: a finding with at least this gain is Medium, smaller ones Low */
#define TW_LIMIT_FINDING_MEDIUM_PERCENT 5

/* % of the critical path: with more inferred causes the confidence is medium */
#define TW_LIMIT_INFERRED_MEDIUM_PERCENT 10

/* % of the critical path: with more inferred causes the confidence is low */
#define TW_LIMIT_INFERRED_LOW_PERCENT 30

/* % of the platform's peak: what fused attention reaches forward: the target of findings */
#define TW_LIMIT_TARGET_ATTENTION_PERCENT 75

/* % of the platform's peak: what fused attention reaches backward: the target of findings */
#define TW_LIMIT_TARGET_ATTENTION_BACKWARD_PERCENT 58

/* % of the platform's peak: what convolutions reach: the target of findings */
#define TW_LIMIT_TARGET_CONVOLUTION_PERCENT 65

/* times what the link needs: a collective that takes longer is slow */
#define TW_LIMIT_SLOW_TRANSFER_TIMES 2

/* ns: a collective that need not wait for the end of the backward pass begins this long after the kernel that its gradients come from */
#define TW_LIMIT_GRADIENTS_READY_NS 1000

/* ns: the gap between kernels of a stream that has none */
#define TW_LIMIT_UNSEEN_GAP_NS 1000

/* % of the gain: work with a smaller share of it does not give a finding module and call site */
#define TW_LIMIT_WHOSE_LEAST_PERCENT 10

/* % of the gain: passes and phases with a smaller share of it are not named */
#define TW_LIMIT_SHARE_LEAST_PERCENT 5

/* siblings: with fewer no module is slower than its siblings */
#define TW_LIMIT_SIBLINGS_LEAST 4

/* steps: a module that was compared in fewer is not slower than its siblings */
#define TW_LIMIT_SIBLING_STEPS 2

/* 1 / this of the modules: with more slow ones (one is always allowed) no module is slower than its siblings */
#define TW_LIMIT_SIBLINGS_SLOW_SHARE 10

/* scaled median absolute deviations from the median: a module that is farther may be slower than its siblings */
#define TW_LIMIT_SIBLING_MADS 3

/* % of the median: a module that is farther may be slower than its siblings */
#define TW_LIMIT_SIBLING_PERCENT 5

/* % of the gaps that launches end: modules with a smaller share are not where a run is launch-bound */
#define TW_LIMIT_LAUNCH_PLACE_PERCENT 80

/* % of the window: modules whose gaps take a larger part are no place of their own */
#define TW_LIMIT_LAUNCH_PLACE_TIME_PERCENT 50

/* ns: gains in the same such part of time are the same */
#define TW_LIMIT_SAME_GAIN_NS 1000

/* 1/1000 of a step: a finding with a smaller gain has no row */
#define TW_LIMIT_FINDING_ROW_PERMILLE 5

/* GB/s: link to the host of a platform that is not known */
#define TW_LIMIT_HOST_LINK_GBPS 25

/* µs: a wait that ends longer before memory is freed is no part of that */
#define TW_LIMIT_SYNC_BEFORE_FREE_US 50

/* µs: operators that begin this long after the one before, or later, are no chain with it */
#define TW_LIMIT_CHAIN_TOGETHER_US 100

/* ns: operators whose kernels take no longer in the mean are no chain: launches count there, not bytes */
#define TW_LIMIT_CHAIN_KERNEL_NS 2000

/* µs: the host's time between two operators that are further apart stays when they are fused */
#define TW_LIMIT_FUSED_TOGETHER_US 50

/* operators: max length of a norm */
#define TW_LIMIT_NORM_PARTS_MOST 8

/* times the forward pass: time of a fused attention's backward pass */
#define TW_LIMIT_ATTENTION_BACKWARD_TIMES 2.5

/* bytes: a matrix product with a dimension that is no multiple of it is misaligned */
#define TW_LIMIT_GEMM_ALIGNED_BYTES 16

/* elements: a misaligned dimension is padded to a multiple of it */
#define TW_LIMIT_GEMM_PADDED 64

/* µs: a longer matrix product is not small */
#define TW_LIMIT_SMALL_GEMM_US 20

/* products: fewer in a row are no finding */
#define TW_LIMIT_SMALL_GEMMS_LEAST 4

/* µs: a product that begins longer after the one before is not in its row */
#define TW_LIMIT_SMALL_GEMMS_TOGETHER_US 100

/* ns: a fused kernel takes at least this */
#define TW_LIMIT_KERNEL_LEAST_NS 2000

/* kernels: an optimizer's step with fewer is fused */
#define TW_LIMIT_OPTIMIZER_KERNELS_LEAST 50

/* µs: an optimizer's kernels that take this long in the median, or longer, are not small */
#define TW_LIMIT_OPTIMIZER_KERNEL_US 20

/* times the parameters' bytes: what a fused step of Adam moves: parameters, gradients and two states read, parameters and two states written */
#define TW_LIMIT_OPTIMIZER_PASSES 7

/* µs: host time of a fused optimizer's step */
#define TW_LIMIT_OPTIMIZER_HOST_US 65

/* bytes over the links of a rank: the bandwidth of one with no more says nothing */
#define TW_LIMIT_LARGE_COLLECTIVE_BYTES 4000000

/* bytes over the links of a rank: one with as many or more is not small */
#define TW_LIMIT_SMALL_COLLECTIVE_BYTES 1000000

/* collectives: fewer in a row are no finding */
#define TW_LIMIT_SMALL_COLLECTIVES_LEAST 4

/* µs: one launched this long after the one before, or later, is not in its row */
#define TW_LIMIT_SMALL_COLLECTIVES_TOGETHER_US 200

/* ns: what a transfer takes beside its bytes */
#define TW_LIMIT_COLLECTIVE_LATENCY_NS 10000

/* % of the bandwidth of an allreduce: what an all-to-all reaches */
#define TW_LIMIT_TO_ALL_PERCENT 70

/* µs: a copy that takes no longer is no finding */
#define TW_LIMIT_COPY_LEAST_US 20

/* ns: a call that copies from pinned memory and does not wait */
#define TW_LIMIT_COPY_CALL_NS 6000

/* times the usual gap: a larger gap before queued work is a finding */
#define TW_LIMIT_GAP_TIMES 3

/* ns: a smaller usual gap counts as this */
#define TW_LIMIT_GAP_USUAL_LEAST_NS 1000

/* µs: a shorter pause of the host is none */
#define TW_LIMIT_PAUSE_LEAST_US 1000

/* times the usual time at its place: a shorter one is no pause */
#define TW_LIMIT_PAUSE_TIMES 20

/* % of the pause: more of it without an event: it is one */
#define TW_LIMIT_PAUSE_SILENT_PERCENT 50

/* % of an idle gap: what the host did in no more of it is not its cause */
#define TW_LIMIT_IDLE_CAUSE_PERCENT 20

/* µs: what takes the host longer stays in a GPU graph too */
#define TW_LIMIT_GRAPH_LONGEST_US 1000

/* % of the window: with less idle time that ends with a launch nothing is launch-bound */
#define TW_LIMIT_LAUNCH_IDLE_PERCENT 1

/* % of the mean: an all-to-all with a largest part at or above it is uneven */
#define TW_LIMIT_TOKENS_UNEVEN_PERCENT 105

/* % of the fastest step: kernels of a step that take as much, or more, got slower */
#define TW_LIMIT_CLOCK_SLOWER_PERCENT 105

/* % of the next rank's host: a rank below it is no straggler of the host */
#define TW_LIMIT_STRAGGLER_HOST_PERCENT 110

/* µs more than the next rank's host: a rank below it is no straggler of the host */
#define TW_LIMIT_STRAGGLER_HOST_LEAST_US 1000

/* times the microbatches: what the remedy of a pipeline's bubble has */
#define TW_LIMIT_MICROBATCHES_TIMES 4

/* µs: a first launch of a kernel that takes no longer loads no code worth telling */
#define TW_LIMIT_FIRST_USE_US 1000

/* % of the window: without steps, with less time in first launches no warm-up is told */
#define TW_LIMIT_WARMUP_PERCENT 5

/* times the other steps: a first step that takes longer warms up */
#define TW_LIMIT_WARMUP_TIMES 1.5

/* % of the window: with more idle time than this, and nothing found, it is said beside */
#define TW_LIMIT_IDLE_UNEXPLAINED_PERCENT 10

/* GPU events: a gap with fewer before or after it is at the edge of a recording without steps */
#define TW_LIMIT_EDGE_EVENTS 3

/* µs: less idle time at the edge is not told, and no such wait in the first collective */
#define TW_LIMIT_EDGE_IDLE_US 1000

/* % of the window: less idle time at the edge is not told */
#define TW_LIMIT_EDGE_IDLE_PERCENT 1

/* times the median wait: a longer wait in the first collective is one for profilers that started later */
#define TW_LIMIT_START_SKEW_TIMES 10

/* ns: a copy call that lasts as long as its copy, and longer than this, waited for it */
#define TW_LIMIT_PATH_COPY_CALL_NS 20000

/* ns: a call that may wait implicitly (module loads, page-locked memory) waited only if it is longer */
#define TW_LIMIT_PATH_IMPLICIT_WAIT_NS 100000

/* ns: and only if it ends at most this after the work */
#define TW_LIMIT_PATH_IMPLICIT_RETURN_NS 50000

/* ns: clocks of ranks are taken to be off by no less than this */
#define TW_LIMIT_PATH_CLOCKS_LEAST_NS 20000

/* ns: and by no more than this */
#define TW_LIMIT_PATH_CLOCKS_MOST_NS 1000000

/* ns: ends that disagree by more, and by four times what clocks may be off, are not those of one collective */
#define TW_LIMIT_PATH_ENDS_APART_NS 1000000

/* % of a step: a model of a pipeline's schedule that is further off is of another schedule */
#define TW_LIMIT_PIPELINE_MODEL_PERCENT 25

/* steps: with fewer no step is odd */
#define TW_LIMIT_ODD_STEP_LEAST 4

/* scaled median absolute deviations from the median: a step that is farther may be odd */
#define TW_LIMIT_ODD_STEP_MADS 3

/* % of the median: a step that is farther may be odd */
#define TW_LIMIT_ODD_STEP_PERCENT 5

/* % of the difference of an odd step: parts with a smaller share are not named */
#define TW_LIMIT_ODD_STEP_PART_PERCENT 10

/* % of the time of computing kernels: with a smaller part under operators with a FLOP estimate there is no MFU */
#define TW_LIMIT_MFU_COVERED_PERCENT 90

/* % of the GPU time: at or above it in GPU graphs without a source the summary says so first */
#define TW_LIMIT_GRAPH_UNKNOWN_PERCENT 20

/* % of the nodes, and of the calls: with more nodes of a GPU graph without a call of the capture, or more calls (one is allowed) without a node, it is no replay of the capture */
#define TW_LIMIT_GRAPH_LEFT_PERCENT 1

/* modules: max depth of a module path: what is deeper belongs to the last one */
#define TW_LIMIT_MODULE_DEPTH 100

/* frames: max frames, operators and calls of a stack: what is deeper is left out */
#define TW_LIMIT_STACK_DEPTH 200
