/* Times that no event has. */
#ifndef TW_OS_TIMES_H
#define TW_OS_TIMES_H

#include <stdint.h>

/* A longer duration is a corrupt record: profilers write INT64 limits for calls that never ended. */
#define TW_LONGEST_DURATION_NS ((int64_t)7 * 86400 * 1000000000)
/* Room that sums and differences of two times need. */
#define TW_LATEST_TIME_NS (INT64_MAX / 4)

#endif
