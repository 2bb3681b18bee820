#include "os/creation.h"

#include <errno.h>
#include <stdlib.h>

#define EARLIEST 315532800
/* The end of 9999, the last that a workbook can name. */
#define LATEST 253402300799

time_t tw_creation_time(void)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	long long value;
	char *end;

	if (!text || !*text)
		return EARLIEST;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end || value < EARLIEST || value > LATEST)
		return EARLIEST;
	return (time_t)value;
}
