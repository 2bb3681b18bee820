#include "trawl/api.h"

const char *trawl_version(void)
{
	return TRAWL_VERSION;
}
