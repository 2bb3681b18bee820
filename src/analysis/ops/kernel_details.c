#include "analysis/ops/kernel_details.h"

#include "analysis/order.h"
#include "analysis/signature.h"
#include "analysis/stats.h"
#include "base/alloc.h"
#include "base/scope.h"

#include <math.h>
#include <string.h>

/* The short form shows this much of a kernel's name. */
#define SHORT_NAME 64

struct position {
	uint64_t gpu; /* the first operation's GPU event */
	struct tw_stats stats;
};

static uint64_t gpu_count(const struct tw_members *l, uint64_t op)
{
	return l->first[op + 1] - l->first[op];
}

static void add_stream(const struct tw_derived *d, uint64_t gpu, struct tw_str *out)
{
	tw_code stream = d->gpu.queues[d->gpu.queue[gpu]].stream;
	char buffer[24];
	size_t len;
	const char *text = tw_code_text(d->trace, stream, buffer, &len);

	if (stream == TW_CODE_NONE)
		tw_str_add_cstr(out, "None");
	else if (stream & TW_CODE_TEXT)
		tw_python_quote(text, len, out);
	else
		tw_str_add(out, text, len);
}

static void add_us(struct tw_str *out, const char *key, double ns)
{
	tw_str_addf(out, ", '%s': ", key);
	tw_str_add_real(out, ns / 1000);
}

static void add_full(const struct tw_derived *d, const struct position *p, struct tw_str *out)
{
	const struct tw_pool_entry *name =
		&d->trace->texts.entries[d->trace->events.name[d->gpu.event[p->gpu]]];

	tw_str_add_cstr(out, "{'name': ");
	tw_python_quote(name->ptr, name->len, out);
	tw_str_add_cstr(out, ", 'stream': ");
	add_stream(d, p->gpu, out);
	tw_str_addf(out,
		    ", 'count': %llu, 'total_duration_us': ", (unsigned long long)p->stats.count);
	if (tw_wide_fits(p->stats.sum))
		tw_str_add_decimal(out, (int64_t)p->stats.sum, 3);
	else
		tw_str_add_cstr(out, "None");
	add_us(out, TW_COL_MEAN_DURATION_US, p->stats.mean);
	add_us(out, "median_duration_us", p->stats.median);
	add_us(out, "std_dev_duration_us", p->stats.population_std);
	tw_str_add_cstr(out, ", 'min_duration_us': ");
	tw_str_add_decimal(out, p->stats.min, 3);
	tw_str_add_cstr(out, ", 'max_duration_us': ");
	tw_str_add_decimal(out, p->stats.max, 3);
	tw_str_add_char(out, '}');
}

static void add_short(const struct tw_derived *d, const struct position *p, struct tw_str *out)
{
	const struct tw_pool_entry *name =
		&d->trace->texts.entries[d->trace->events.name[d->gpu.event[p->gpu]]];
	size_t len = name->len;
	struct tw_str cut;

	tw_str_init(&cut, out->allocator);
	if (len > SHORT_NAME) {
		/* Never in the middle of a character. */
		for (len = SHORT_NAME; len && (name->ptr[len] & 0xc0) == 0x80;)
			len--;
	}
	tw_str_add(&cut, name->ptr, len);
	if (len < name->len)
		tw_str_add_cstr(&cut, "...");
	tw_str_add_cstr(out, "{'name': ");
	tw_python_quote(cut.ptr ? cut.ptr : "", cut.len, out);
	tw_str_add_cstr(out, ", 'stream': ");
	add_stream(d, p->gpu, out);
	tw_str_add_cstr(out, ", 'mean_duration_us': ");
	tw_str_add_real(out, round(p->stats.mean / 10) / 100);
	tw_str_add_char(out, '}');
	out->failed |= cut.failed;
	tw_str_release(&cut);
}

/* Statistics of each position over the operations of the template's length. */
static void measure_positions(const struct tw_derived *d, const struct tw_members *l,
			      const uint32_t *list, uint64_t count, struct position *positions,
			      uint64_t length, int64_t *values)
{
	uint64_t p, i;

	for (p = 0; p < length; p++) {
		uint64_t n = 0;

		for (i = 0; i < count; i++) {
			uint64_t gpu;

			if (gpu_count(l, list[i]) != length)
				continue;
			gpu = l->list[l->first[list[i]] + p];
			values[n++] = d->gpu.end_ns[gpu] - d->gpu.start_ns[gpu];
		}
		positions[p].gpu = l->list[l->first[list[0]] + p];
		positions[p].stats = tw_stats_of(values, n);
	}
}

/* Ascending by time, then by name. */
static struct tw_order describe_position(const struct tw_derived *d,
					 const struct position *position, uint32_t number)
{
	return (struct tw_order){
		.value = -position->stats.sum,
		.texts = { d->trace->events.name[d->gpu.event[position->gpu]] },
		.index = number,
	};
}

/* The positions of the template, `list[0]`, in order. */
static int add_positions(const struct tw_derived *d, const struct tw_members *l,
			 const uint32_t *list, uint64_t count, const struct trawl_allocator *a,
			 struct tw_str *full, struct tw_str *short_form)
{
	uint64_t length = count ? gpu_count(l, *list) : 0, p;
	struct position *positions = tw_alloc(a, (length + 1) * sizeof(*positions));
	struct tw_order *order = tw_alloc(a, (length + 1) * sizeof(*order));
	int64_t *values = tw_alloc(a, (count + 1) * sizeof(*values));

	if (!positions || !order || !values)
		return -1;
	measure_positions(d, l, list, count, positions, length, values);
	for (p = 0; p < length; p++)
		order[p] = describe_position(d, &positions[p], (uint32_t)p);
	tw_order_sort(order, length, &d->trace->texts);
	for (p = 0; p < length; p++) {
		tw_str_add_cstr(full, p ? ", " : "");
		tw_str_add_cstr(short_form, p ? ", " : "[");
		add_full(d, &positions[order[p].index], full);
		add_short(d, &positions[order[p].index], short_form);
	}
	tw_str_add_cstr(short_form, length ? "]" : "");
	return 0;
}

int tw_kernel_details(const struct tw_derived *d, const struct tw_members *l, const uint32_t *list,
		      uint64_t count, struct tw_str *full, struct tw_str *short_form)
{
	struct tw_scope scope;
	int status;

	for (; count && !gpu_count(l, *list); count--)
		list++;
	tw_scope_begin(&scope, d->allocator);
	tw_str_add_char(full, '[');
	status = add_positions(d, l, list, count, &scope.allocator, full, short_form);
	tw_str_add_char(full, ']');
	tw_scope_end(&scope);
	return status || full->failed || short_form->failed ? -1 : 0;
}
