#include "analysis/launches/categories.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* The number of a category. */
static unsigned number_of(struct tw_categories *c, const char *name)
{
	unsigned i;

	for (i = 0; i < c->count; i++)
		if (!strcmp(c->names[i], name))
			return i;
	assert(c->count < TW_MAX_OP_CATEGORIES);
	c->names[c->count] = name;
	return c->count++;
}

static uint16_t by_op_name(struct tw_categories *c, const struct tw_pool_entry *name)
{
	const char *known = tw_op_category(name->ptr, name->len);

	return known ? (uint16_t)(1 + number_of(c, known)) : 0;
}

static uint16_t by_kernel_name(struct tw_categories *c, const char *name)
{
	if (!starts_with(name, "void at::native"))
		return 0;
	if (strstr(name, "elementwise"))
		return (uint16_t)(1 + number_of(c, "elementwise"));
	if (strstr(name, "reduce"))
		return (uint16_t)(1 + number_of(c, "reduce"));
	if (strstr(name, "multi_tensor_apply"))
		return (uint16_t)(1 + number_of(c, "multi_tensor_apply"));
	return 0;
}

static void look_up_names(struct tw_categories *c, uint8_t *asked)
{
	const struct tw_derived *d = c->derived;
	const struct tw_pool_entry *texts = d->trace->texts.entries;
	const uint32_t *names = d->trace->events.name;
	uint64_t i;

	for (i = 0; i < d->trace->texts.count; i++)
		if (d->host.name[i])
			c->of_op[i] = by_op_name(c, &texts[i]);
	for (i = 0; i < d->gpu.count; i++) {
		uint32_t name = names[d->gpu.event[i]];

		if (!asked[name])
			c->of_kernel[name] = by_kernel_name(c, texts[name].ptr);
		asked[name] = 1;
	}
}

int tw_categories_init(struct tw_categories *c, const struct tw_derived *d,
		       const struct trawl_allocator *allocator)
{
	uint32_t count = d->trace->texts.count;
	uint8_t *asked = tw_alloc_array(allocator, count, 1);

	*c = (struct tw_categories){ .derived = d };
	c->of_op = tw_alloc_array(allocator, count, sizeof(*c->of_op));
	c->of_kernel = tw_alloc_array(allocator, count, sizeof(*c->of_kernel));
	if (!asked || !c->of_op || !c->of_kernel)
		return -1;
	/* Number 0: names without a category. */
	number_of(c, "other");
	look_up_names(c, asked);
	tw_free(allocator, asked, count);
	return 0;
}

unsigned tw_category_of(const struct tw_categories *c, uint64_t event, uint64_t first_gpu)
{
	const struct tw_derived *d = c->derived;
	const uint32_t *names = d->trace->events.name;
	unsigned found = c->of_op[names[event]];

	if (!found && first_gpu != TW_NONE)
		found = c->of_kernel[names[d->gpu.event[first_gpu]]];
	return found ? found - 1 : 0;
}

unsigned tw_category_of_kernel(const struct tw_categories *c, uint64_t gpu)
{
	unsigned found = c->of_kernel[c->derived->trace->events.name[c->derived->gpu.event[gpu]]];

	return found ? found - 1 : 0;
}
