#include "base/alloc.h"
#include "render/render.h"
#include "trawl/render.h"

int trawl_write_csv(const struct trawl_table *const *tables, size_t count, const char *dir,
		    struct trawl_error *err)
{
	return tw_render_csv_directory(tables, count, dir, trawl_allocator_default(), err);
}

int trawl_write_xlsx(const struct trawl_table *const *tables, size_t count, const char *path,
		     struct trawl_error *err)
{
	return tw_render_xlsx(tables, count, path, trawl_allocator_default(), err);
}
