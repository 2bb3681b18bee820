#include "study/variance/kernel_details.h"

#include "base/alloc.h"
#include "base/list.h"
#include "table/columns.h"
#include "text/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a cell's dictionaries are read: what was found of the present one. */
struct reading {
	struct tw_listed_kernels *kernels;
	const char *p;
	struct tw_str text;
	size_t current; /* index of the kernel whose dictionary this is, SIZE_MAX: none yet */
	double total_us, mean_us, count; /* NaN: not told */
	bool failed;
};

/* A text in quotes at p into r->text; false when it has no end. */
static bool read_text(struct reading *r)
{
	char quote = *r->p++;

	tw_str_clear(&r->text);
	for (; *r->p && *r->p != quote; r->p++) {
		if (*r->p == '\\' && r->p[1] && strchr("\\'\"", r->p[1]))
			r->p++;
		tw_str_add_char(&r->text, *r->p);
	}
	return *r->p && *r->p++;
}

/* The number behind a colon, in what it is wrapped; NaN: there is none. */
static double read_number(const char *p)
{
	char copy[48] = "";
	size_t len;
	double value;

	p += strspn(p, " :");
	/* np.float64( */
	if (*p >= 'a' && *p <= 'z' && strchr(p, '(') && strcspn(p, "(") < strcspn(p, ",}"))
		p += strcspn(p, "(") + 1;
	len = strspn(p, "0123456789+-.eE");
	if (!len || len > sizeof(copy) - 9)
		return NAN;
	memcpy(copy, p, len);
	return tw_parse_real(copy, &value) ? value : (double)NAN;
}

static void end_kernel(struct reading *r)
{
	const double limit = 9e18;
	double us = isnan(r->total_us) ? r->mean_us * r->count : r->total_us;

	if (r->current != SIZE_MAX && us > 0 && us * 1000 < limit) {
		int64_t *total = &r->kernels->items[r->current].total_ns;

		if (__builtin_add_overflow(*total, llround(us * 1000), total))
			*total = INT64_MAX;
	}
	r->current = SIZE_MAX;
	r->total_us = r->mean_us = r->count = NAN;
}

static size_t find_kernel(struct reading *r, const char *name)
{
	struct tw_listed_kernels *k = r->kernels;
	size_t i, size = strlen(name) + 1;

	for (i = 0; i < k->count; i++)
		if (!strcmp(k->items[i].name, name))
			return i;
	if (!tw_list_grow(&k->items, &k->capacity, k->count, sizeof(*k->items), k->allocator)) {
		r->failed = true;
		return SIZE_MAX;
	}
	k->items[i].total_ns = 0;
	k->items[i].name = tw_alloc(k->allocator, size);
	if (!k->items[i].name) {
		r->failed = true;
		return SIZE_MAX;
	}
	memcpy(k->items[i].name, name, size);
	k->count++;
	return i;
}

static void read_pair(struct reading *r)
{
	const char *key = r->text.ptr;
	const char *value = r->p + strspn(r->p, " ");

	if (*value != ':' || !key)
		return;
	value += 1 + strspn(value + 1, " ");
	if (!strcmp(key, "name") && (*value == '\'' || *value == '"')) {
		end_kernel(r);
		r->p = value;
		/* A name that is cut off is none. */
		if (read_text(r) && r->text.len && !r->text.failed)
			r->current = find_kernel(r, r->text.ptr);
	} else if (!strcmp(key, TW_COL_TOTAL_DURATION_US)) {
		r->total_us = read_number(value);
	} else if (!strcmp(key, TW_COL_MEAN_DURATION_US)) {
		r->mean_us = read_number(value);
	} else if (!strcmp(key, "count")) {
		r->count = read_number(value);
	}
}

static int compare(const void *a, const void *b)
{
	const struct tw_listed_kernel *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

int tw_listed_kernels_read(struct tw_listed_kernels *kernels, const char *cell,
			   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct reading r = { .kernels = kernels,
			     .p = cell,
			     .current = SIZE_MAX,
			     .total_us = NAN,
			     .mean_us = NAN,
			     .count = NAN };

	*kernels = (struct tw_listed_kernels){ .allocator = allocator };
	tw_str_init(&r.text, allocator);
	while (*r.p && !r.failed && !r.text.failed) {
		if (*r.p != '\'' && *r.p != '"')
			r.p++;
		else if (read_text(&r))
			read_pair(&r);
	}
	end_kernel(&r);
	r.failed |= r.text.failed;
	tw_str_release(&r.text);
	if (r.failed)
		return tw_no_memory(err);
	if (kernels->count)
		qsort(kernels->items, kernels->count, sizeof(*kernels->items), compare);
	return 0;
}

void tw_listed_kernels_release(struct tw_listed_kernels *kernels)
{
	const struct trawl_allocator *a = kernels->allocator;
	size_t i;

	for (i = 0; i < kernels->count; i++)
		tw_free(a, kernels->items[i].name, strlen(kernels->items[i].name) + 1);
	tw_free(a, kernels->items, kernels->capacity * sizeof(*kernels->items));
	*kernels = (struct tw_listed_kernels){ 0 };
}
