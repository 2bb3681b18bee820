#include "merge/compat.h"

int tw_merge_compat(const struct tw_merge_compat *compat, struct tw_str *said,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	(void)compat;
	(void)said;
	(void)allocator;
	return trawl_error_set(err, TRAWL_EUSAGE, "not yet");
}
