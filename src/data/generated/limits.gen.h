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

/* findings above Low: with fewer, operators with headroom are added up to this number */
#define TW_LIMIT_FINDINGS_FEWEST 3

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
