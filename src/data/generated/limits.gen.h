/* Made from data/limits.tsv by tools/gen_tables.py. DO NOT EDIT. */

/* % of the time of collectives, or of all waiting: below it nobody is a straggler, and passing on is not told */
#define TW_LIMIT_WAITS_MATTER_PERCENT 10

/* % of the time of collectives: from it on communication is waiting, below it transfers */
#define TW_LIMIT_WAITS_ARE_MOST_PERCENT 50

/* ranks: so many at most are stragglers */
#define TW_LIMIT_STRAGGLERS_MOST 4

/* 1 / this of the ranks: so many at most are stragglers, but one may always be */
#define TW_LIMIT_STRAGGLERS_SHARE 4

/* times the mean: all_to_allv whose largest part is this or more is uneven */
#define TW_LIMIT_UNEVEN_TIMES 1.25

/* % of the waiting for the stragglers: from it on a collective is named without its share */
#define TW_LIMIT_NEARLY_ALL_PERCENT 99.5

/* % over the median rank: a rank that is no more over it does not stand out, nor is that the reason why it is late */
#define TW_LIMIT_OUTLIER_PERCENT 5

/* % of the median total time: nor does a rank that is no more over the median rank */
#define TW_LIMIT_OUTLIER_OF_TOTAL_PERCENT 1

/* times its uncertainty: a clock that is off by no more does not differ */
#define TW_LIMIT_CLOCKS_DIFFER_TIMES 3

/* ns: nor does one that is off by no more than that */
#define TW_LIMIT_CLOCKS_DIFFER_NS 50000

/* ns from the median of its node: a clock that is further off is in doubt: its trace may be of another time */
#define TW_LIMIT_CLOCK_SUSPECT_NS 10000000

/* ranks of a node: of fewer none is in doubt */
#define TW_LIMIT_CLOCK_SUSPECT_RANKS 3

/* % of the operators and kernels that either names: traces that share so many may be ranks of one job, which nothing else says of them */
#define TW_LIMIT_RANKS_ALIKE_PERCENT 50

/* ns: what begins later than that after the rest ended is another job; so are base times that are further apart */
#define TW_LIMIT_JOB_APART_NS 600000000000

/* % of the baseline: two times that differ by less are the same */
#define TW_LIMIT_SAME_BELOW_PERCENT 1

/* 1/1000 of the baseline's total time: two times that differ by less are the same */
#define TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE 1

/* % of the calls of the other side: sides whose common factor is this or more, or the inverse, do not show the same number of steps */
#define TW_LIMIT_UNEVEN_CALLS_PERCENT 120

/* % from the factor of the middle: calls by no more than this away have that factor in common */
#define TW_LIMIT_UNEVEN_SAME_PERCENT 5

/* operations and kernels: of fewer a factor is not common */
#define TW_LIMIT_UNEVEN_LEAST 2

/* spreads of the ranks: a rank whose change is no further from the median stands not out */
#define TW_LIMIT_RANK_APART_SPREADS 5

/* % of its computing in the baseline: nor does one whose change is no further from the median */
#define TW_LIMIT_RANK_APART_PERCENT 5

/* % of its total time in the baseline: nor does one whose change is less than that */
#define TW_LIMIT_RANK_APART_TOTAL_PERCENT 1

/* % of the baseline's total time: an item that takes less does not fail the gate */
#define TW_LIMIT_GATE_OF_TOTAL_PERCENT 1

/* % more or fewer calls: sides that differ by no more did the same work */
#define TW_LIMIT_SAME_WORK_PERCENT 1

/* % of the part that changed most: what parts leave of the total is told from there on */
#define TW_LIMIT_REST_PERCENT 1

/* %: more is told as over that */
#define TW_LIMIT_TOLD_PERCENT_MOST 1000000

/* times the noise of the ranks: from there on the difference is told as far over it */
#define TW_LIMIT_TOLD_NOISE_MOST 1000

/* %: a share below it is told as no difference */
#define TW_LIMIT_NO_DIFFERENCE_PERCENT 0.05

/* % of the total time: configurations that differ by less will either do; no more in a part is no trade */
#define TW_LIMIT_SWEEP_TOLD_PERCENT 1

/* overlap ratio: a trial that is no further from the baseline is similar to it */
#define TW_LIMIT_TRIALS_SIMILAR 0.001

/* MB: a smaller message is tiny */
#define TW_LIMIT_MESSAGE_TINY_MB 0.01

/* MB: a smaller message is medium, others are large */
#define TW_LIMIT_MESSAGE_MEDIUM_MB 100

/* of the expected time: by default, a call that is off by no more is within_tol */
#define TW_LIMIT_SWEEP_TOLERANCE 0.01

/* µs: by default, a kernel below it is short */
#define TW_LIMIT_SHORT_KERNEL_US 10

/* µs: the same in the reports of a sweep */
#define TW_LIMIT_SWEEP_SHORT_KERNEL_US 50

/* % of the roofline or of the bandwidth: above it the time, the model or the peak is wrong */
#define TW_LIMIT_ROOFLINE_ANOMALY_PERCENT 110

/* % of a platform's memory: a device whose memory is further off is another variant, or a part of a GPU */
#define TW_LIMIT_PLATFORM_MEMORY_PERCENT 10

/* % of what was launched: more that annotations of the GPU leave uncovered is noted */
#define TW_LIMIT_UNCOVERED_PERCENT 1

/* 1 / this of the host's range: a range on the GPU that covers less is not the whole of it, and the host's counts */
#define TW_LIMIT_GPU_RANGE_SHARE 10

/* 1 / this of the time with GPU work: repeated ranges that take less are no steady state */
#define TW_LIMIT_STEADY_SHARE 10

/* ranges of a name: fewer are no steady state */
#define TW_LIMIT_STEADY_REPEATED 3

/* operations: so many with the most time are the top operations, which makes a bottleneck High at least */
#define TW_LIMIT_TOP_OPERATIONS 10

/* findings above Low: with fewer, operations with headroom are added until there are as many */
#define TW_LIMIT_FINDINGS_FEWEST 3

/* times: more is told as over that */
#define TW_LIMIT_TOLD_SPEEDUP_MOST 10

/* of what lies between an efficiency and the roofline: the low estimate of a gain */
#define TW_LIMIT_GAIN_LOW_FRAC 0.75

/* of what lies between an efficiency and the roofline: the estimate of a gain */
#define TW_LIMIT_GAIN_MIDDLE_FRAC 0.875

/* of the time: the low estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_LOW_FRAC 0.15

/* of the time: the estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_MIDDLE_FRAC 0.3

/* of the time: the high estimate where the efficiency is not known */
#define TW_LIMIT_GAIN_GUESS_HIGH_FRAC 0.45
