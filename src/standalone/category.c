#include "standalone/category.h"

#include <string.h>

int tw_category(struct tw_prepared *prepared, const char *name, struct tw_category_result *result,
		struct trawl_error *err)
{
	if (!strcmp(name, "multi_kernel"))
		return tw_category_multi_kernel(prepared, result, err);
	if (!strcmp(name, "cpu_idle"))
		return tw_category_cpu_idle(prepared, result, err);
	return tw_category_compute(prepared, name, result, err);
}
