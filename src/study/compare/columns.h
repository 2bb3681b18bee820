/* Headers of what a comparison gives, for those who show it. */
#ifndef TW_STUDY_COMPARE_COLUMNS_H
#define TW_STUDY_COMPARE_COLUMNS_H

#define TW_COL_BASELINE_COMM_MS "baseline communication ms"
#define TW_COL_BASELINE_EXPOSED_MS "baseline exposed ms"
#define TW_COL_BASELINE_MS "baseline ms"
#define TW_COL_BASELINE_OVERLAP "baseline overlap (%)"
#define TW_COL_BEST_CONFIGURATION "best configuration"
#define TW_COL_BEST_OF "best of"
#define TW_COL_BEST_TOTAL_MS "best total ms"
#define TW_COL_CHANGE_OF_TOTAL "change of total (%)"
#define TW_COL_DIFFERENCE_MS "difference ms"
#define TW_COL_FASTER "faster (%)"
#define TW_COL_IDLE_CAUSE "cause"
#define TW_COL_IN_BOTH "in both"
#define TW_COL_NOISE_MS "noise ms"
#define TW_COL_OF_TOTAL "of total (%)"
#define TW_COL_ONLY_HERE "only here"
#define TW_COL_OTHERS_DIFFERENCE_MS "others difference ms"
#define TW_COL_TEST_CONFIGURATION "test configuration"
#define TW_COL_TEST_COMM_MS "test communication ms"
#define TW_COL_TEST_EXPOSED_MS "test exposed ms"
#define TW_COL_TEST_MS "test ms"
#define TW_COL_TEST_OVERLAP "test overlap (%)"
#define TW_COL_BASELINE_INCLUSIVE_MS "baseline inclusive ms"
#define TW_COL_TEST_INCLUSIVE_MS "test inclusive ms"
#define TW_COL_TEST_NAME "test name"
#define TW_COL_TOTAL_MS "total ms"
#define TW_COL_WORST_CONFIGURATION "worst configuration"

#endif
