#include "study/compare/samples.h"

#include "analysis/analysis.h"
#include "analysis/who/stacks.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "job/tables/all_tables.h"
#include "nsys/tables.h"
#include "study/compare/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct tw_table_spec *const tw_compared_tables[TW_COMPARED_KINDS] = {
	[TW_TIMELINE_PART] = &tw_analysis_gpu_timeline.table,
	[TW_OPERATION] = &tw_analysis_ops_summary.table,
	[TW_KERNEL] = &tw_analysis_kernel_summary.table,
	[TW_COLLECTIVE_SYNC] = &tw_ranks_table_nccl_summary_implicit_sync.table,
	[TW_COLLECTIVE_RANK] = &tw_analysis_coll_analysis.table,
	[TW_RANGE] = &tw_analysis_nvtx_ranges.table,
	[TW_RANGE_EXPOSED] = &tw_analysis_nvtx_ranges.table,
	[TW_MODULE] = &tw_analysis_modules.table,
	[TW_MODULE_CLASS] = &tw_analysis_modules.table,
	[TW_MODULE_OPERATION] = &tw_module_stacks_spec,
	[TW_CALL_SITE] = &tw_analysis_call_sites.table,
	[TW_PASS] = &tw_analysis_call_sites.table,
	[TW_PHASE] = &tw_analysis_phases.table,
	[TW_STEP] = &tw_analysis_steps.table,
	[TW_MODULE_STACK] = &tw_module_stacks_spec,
	[TW_FULL_STACK] = &tw_full_stacks_spec,
	[TW_MODULE_TOTAL] = &tw_analysis_modules.table,
	[TW_STAGE] = &tw_nsys_overlap_spec,
	[TW_STAGE_COMM] = &tw_nsys_overlap_spec,
};

const char *const tw_compared_parts[] = {
	"computation_time",
	"exposed_comm_time",
	"exposed_memcpy_time",
	"busy_time",
	"idle_time",
	"micro_idle_time",
	"macro_idle_time",
	"total_time",
	"total_comm_time",
	"total_memcpy_time",
	NULL,
};

#define MEDIAN "_median"
#define TOTAL "_total"
#define KEYS 4

/*
 * Columns of a sheet; stages are no sheet, and passes several columns of one.  A name may be written in several ways; of a
 * report over ranks the last is.
 */
struct source {
	const char *keys[KEYS];
	const char *times[2];
	double ns_per_unit;
	const char *calls[2];
};

#define NS_PER_MS 1e6
#define NS_PER_US 1e3

static const struct source sources[TW_COMPARED_KINDS] = {
	[TW_TIMELINE_PART] = { { "type" },
			       { TW_COL_TIME_MS, TW_COL_TIME_MS MEDIAN },
			       NS_PER_MS,
			       { NULL } },
	[TW_OPERATION] = { { "name" },
			   { TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
			     TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS MEDIAN },
			   NS_PER_MS,
			   { TW_COL_COUNT, TW_COL_COUNT MEDIAN } },
	[TW_KERNEL] = { { TW_COL_KERNEL_NAME },
			{ TW_COL_KERNEL_DURATION_US_SUM, TW_COL_KERNEL_DURATION_US_SUM MEDIAN },
			NS_PER_US,
			{ TW_COL_KERNEL_DURATION_US_COUNT,
			  TW_COL_KERNEL_DURATION_US_COUNT MEDIAN } },
	[TW_COLLECTIVE_SYNC] = { { TW_COL_COLLECTIVE_NAME, "dtype", TW_COL_IN_MSG_NELEMS },
				 { TW_COL_TOTAL_COMM_LATENCY_MS },
				 NS_PER_MS,
				 { "count" } },
	[TW_COLLECTIVE_RANK] = { { TW_COL_COLLECTIVE_NAME, "dtype", TW_COL_IN_MSG_NELEMS },
				 { TW_COL_DUR_SUM, TW_COL_DUR_SUM MEDIAN },
				 NS_PER_US,
				 { TW_COL_OPERATION_COUNT, TW_COL_OPERATION_COUNT MEDIAN } },
	[TW_RANGE] = { { "range", "domain", "kind" },
		       { TW_COL_GPU_TIME_MS, TW_COL_GPU_TIME_MS MEDIAN },
		       NS_PER_MS,
		       { "instances", "instances" MEDIAN } },
	[TW_RANGE_EXPOSED] = { { "range", "domain", "kind" },
			       { TW_COL_EXPOSED_COMMUNICATION_MS },
			       NS_PER_MS,
			       { NULL } },
	[TW_MODULE] = { { TW_COL_MODULE },
			{ TW_COL_SELF_GPU_TIME_MS, TW_COL_SELF_GPU_TIME_MS TOTAL },
			NS_PER_MS,
			{ "calls", "calls" TOTAL } },
	[TW_MODULE_CLASS] = { { TW_COL_MODULE },
			      { TW_COL_SELF_GPU_TIME_MS, TW_COL_SELF_GPU_TIME_MS TOTAL },
			      NS_PER_MS,
			      { "calls", "calls" TOTAL } },
	[TW_MODULE_OPERATION] = { { TW_COL_MODULE, "pass", "name" },
				  { TW_COL_GPU_TIME_MS },
				  NS_PER_MS,
				  { NULL } },
	[TW_CALL_SITE] = { { TW_COL_CALL_SITE },
			   { TW_COL_GPU_TIME_MS, TW_COL_GPU_TIME_MS TOTAL },
			   NS_PER_MS,
			   { NULL } },
	[TW_PASS] = { { TW_COL_CALL_SITE },
		      { TW_COL_GPU_TIME_MS, TW_COL_GPU_TIME_MS TOTAL },
		      NS_PER_MS,
		      { NULL } },
	[TW_PHASE] = { { "phase" }, { TW_COL_GPU_TIME_MS }, NS_PER_MS, { NULL } },
	[TW_STEP] = { { "name" },
		      { TW_COL_GPU_TIME_MS, TW_COL_GPU_TIME_MS TOTAL },
		      NS_PER_MS,
		      { NULL } },
	[TW_MODULE_STACK] = { { TW_COL_MODULE, "pass", "name", TW_COL_KERNEL_NAME },
			      { TW_COL_GPU_TIME_MS },
			      NS_PER_MS,
			      { NULL } },
	[TW_FULL_STACK] = { { TW_COL_STACK }, { TW_COL_GPU_TIME_MS }, NS_PER_MS, { NULL } },
	[TW_MODULE_TOTAL] = { { TW_COL_MODULE },
			      { TW_COL_GPU_TIME_MS, TW_COL_GPU_TIME_MS TOTAL },
			      NS_PER_MS,
			      { NULL } },
};

int64_t tw_compared_ns(double value, double ns_per_unit)
{
	double ns = value * ns_per_unit;

	if (!(ns >= 0) || ns > (double)TW_LONGEST_COMPARED_NS)
		return -1;
	return (int64_t)llround(ns);
}

int tw_samples_init(struct tw_samples *samples, const struct trawl_allocator *allocator)
{
	*samples = (struct tw_samples){ .allocator = allocator };
	return tw_pool_init(&samples->texts, allocator);
}

void tw_samples_release(struct tw_samples *samples)
{
	const struct trawl_allocator *a = samples->allocator;

	if (!a)
		return;
	tw_pool_release(&samples->texts);
	tw_free(a, samples->items, samples->capacity * sizeof(*samples->items));
	tw_free(a, samples->configs, samples->config_capacity * sizeof(*samples->configs));
	tw_free(a, samples->test_names, samples->test_name_count * sizeof(*samples->test_names));
	tw_free(a, samples->damaged, samples->damaged_capacity * sizeof(*samples->damaged));
	*samples = (struct tw_samples){ 0 };
}

static const char *kept(struct tw_samples *samples, const char *text)
{
	return tw_pool_text(&samples->texts, tw_pool_intern_cstr(&samples->texts, text), NULL);
}

/* Its number, adding it when new; UINT32_MAX when out of memory. */
static uint32_t config_of(struct tw_samples *samples, const struct tw_sample_place *place)
{
	struct tw_sample_config *configs;
	uint32_t i;

	for (i = 0; i < samples->config_count; i++)
		if (samples->configs[i].threads == place->threads &&
		    samples->configs[i].channels == place->channels) {
			samples->configs[i].there[place->side] = true;
			return i;
		}
	if (!tw_list_grow(&samples->configs, &samples->config_capacity, samples->config_count,
			  sizeof(*configs), samples->allocator)) {
		samples->failed = true;
		return UINT32_MAX;
	}
	configs = samples->configs;
	configs[i] = (struct tw_sample_config){ .threads = place->threads,
						.channels = place->channels,
						.name = kept(samples, place->config),
						.first_step = { -1, -1 },
						.last_step = { -1, -1 } };
	configs[i].there[place->side] = true;
	samples->config_count++;
	return i;
}

void tw_samples_add(struct tw_samples *samples, const struct tw_sample_place *place,
		    enum tw_compared_kind kind, const char *name, int64_t ns, int64_t calls)
{
	uint32_t config = config_of(samples, place);

	if (config == UINT32_MAX ||
	    !tw_list_grow(&samples->items, &samples->capacity, samples->count,
			  sizeof(*samples->items), samples->allocator)) {
		samples->failed = true;
		return;
	}
	samples->items[samples->count++] = (struct tw_sample){
		.kind = kind,
		.name = tw_pool_intern_cstr(&samples->texts, name),
		.config = config,
		.side = place->side,
		.rank = place->rank,
		.ns = ns,
		.calls = calls,
	};
}

void tw_samples_note_damage(struct tw_samples *samples, const struct tw_sample_place *place)
{
	uint32_t config = config_of(samples, place);

	if (config == UINT32_MAX ||
	    !tw_list_grow(&samples->damaged, &samples->damaged_capacity, samples->damaged_count,
			  sizeof(*samples->damaged), samples->allocator)) {
		samples->failed = true;
		return;
	}
	samples->damaged[samples->damaged_count++] = (struct tw_sample_damage){
		.config = config,
		.side = place->side,
		.rank = place->rank,
	};
}

void tw_samples_note_steps(struct tw_samples *samples, const struct tw_sample_place *place,
			   int64_t first, int64_t last)
{
	uint32_t number = config_of(samples, place);
	struct tw_sample_config *config;

	if (number == UINT32_MAX || first < 0)
		return;
	config = &samples->configs[number];
	if (config->first_step[place->side] < 0 || first < config->first_step[place->side])
		config->first_step[place->side] = first;
	if (last > config->last_step[place->side])
		config->last_step[place->side] = last;
}

void tw_samples_note_window(struct tw_samples *samples, const struct tw_sample_place *place,
			    int64_t ns)
{
	uint32_t config = config_of(samples, place);

	if (config != UINT32_MAX && ns > samples->configs[config].window_ns[place->side])
		samples->configs[config].window_ns[place->side] = ns;
}

void tw_samples_note_waits(struct tw_samples *samples, const struct tw_sample_place *place)
{
	uint32_t config = config_of(samples, place);

	if (config != UINT32_MAX)
		samples->configs[config].waits[place->side] = true;
}

void tw_samples_note_idle_causes(struct tw_samples *samples, const struct tw_sample_place *place)
{
	uint32_t config = config_of(samples, place);

	if (config != UINT32_MAX)
		samples->configs[config].idle_causes[place->side] = true;
}

void tw_samples_note_findings(struct tw_samples *samples, const struct tw_sample_place *place,
			      const struct trawl_table *findings)
{
	uint32_t config = config_of(samples, place);

	if (config != UINT32_MAX)
		samples->configs[config].findings[place->side] = findings;
}

void tw_samples_note_stragglers(struct tw_samples *samples, const struct tw_sample_place *place,
				const char *ranks, const char *because)
{
	uint32_t config = config_of(samples, place);

	if (config == UINT32_MAX)
		return;
	samples->configs[config].stragglers[place->side] = kept(samples, ranks);
	samples->configs[config].because[place->side] = kept(samples, because);
}

/* What is known of a side of a configuration, besides its times. */
static void append_config(struct tw_samples *samples, const struct tw_sample_config *c,
			  uint32_t side)
{
	const struct tw_sample_place at = { side, c->threads, c->channels, c->name, TW_NO_RANK };

	if (config_of(samples, &at) == UINT32_MAX)
		return;
	tw_samples_note_steps(samples, &at, c->first_step[0], c->last_step[0]);
	tw_samples_note_window(samples, &at, c->window_ns[0]);
	if (c->waits[0])
		tw_samples_note_waits(samples, &at);
	if (c->idle_causes[0])
		tw_samples_note_idle_causes(samples, &at);
	if (c->findings[0])
		tw_samples_note_findings(samples, &at, c->findings[0]);
	if (c->stragglers[0])
		tw_samples_note_stragglers(samples, &at, c->stragglers[0], c->because[0]);
}

void tw_samples_append(struct tw_samples *samples, const struct tw_samples *others, uint32_t side)
{
	const struct tw_sample_config *c;
	struct tw_sample_place at;
	size_t i;

	samples->failed |= others->failed | others->texts.failed;
	for (i = 0; i < others->config_count; i++)
		append_config(samples, &others->configs[i], side);
	for (i = 0; i < others->count; i++) {
		const struct tw_sample *s = &others->items[i];

		c = &others->configs[s->config];
		at = (struct tw_sample_place){ side, c->threads, c->channels, c->name, s->rank };
		tw_samples_add(samples, &at, (enum tw_compared_kind)s->kind,
			       tw_pool_text(&others->texts, s->name, NULL), s->ns, s->calls);
	}
	for (i = 0; i < others->damaged_count; i++) {
		c = &others->configs[others->damaged[i].config];
		at = (struct tw_sample_place){ side, c->threads, c->channels, c->name,
					       others->damaged[i].rank };
		tw_samples_note_damage(samples, &at);
	}
}

/* The first of the names that is a column; none when there is none. */
static size_t column_of(const struct trawl_table *table, const char *const names[2])
{
	size_t column = names[0] ? trawl_table_find_column(table, names[0]) : SIZE_MAX;

	return column >= trawl_table_columns(table) && names[1] ?
		       trawl_table_find_column(table, names[1]) :
		       column;
}

/* What the table lacks, NULL: nothing. */
static const char *find_columns(const struct source *source, const struct trawl_table *table,
				size_t keys[KEYS])
{
	size_t i;

	for (i = 0; i < KEYS && source->keys[i]; i++) {
		keys[i] = trawl_table_find_column(table, source->keys[i]);
		if (keys[i] == trawl_table_columns(table))
			return source->keys[i];
	}
	return column_of(table, source->times) < trawl_table_columns(table) ? NULL :
									      source->times[0];
}

static void add_key(struct tw_str *out, const struct source *source,
		    const struct trawl_table *table, size_t row, const size_t keys[KEYS])
{
	size_t i;

	tw_str_clear(out);
	for (i = 0; i < KEYS && source->keys[i]; i++) {
		if (i)
			tw_str_add_char(out, TW_KEY_SEPARATOR);
		tw_table_add_text(out, table, row, keys[i]);
	}
	/* What is in no phase says so there. */
	if (!out->len && source == &sources[TW_PHASE])
		tw_table_add_text(out, table, row, trawl_table_find_column(table, "name"));
}

/* A path of modules without their numbers. */
static void add_classes(struct tw_str *out, const char *path)
{
	const char *end;

	tw_str_clear(out);
	for (;; path = end + strlen(TW_MODULE_SEPARATOR)) {
		end = strstr(path, TW_MODULE_SEPARATOR);
		tw_str_add(out, path,
			   tw_module_class_len(path, end ? (size_t)(end - path) : strlen(path)));
		if (!end)
			return;
		tw_str_add_cstr(out, TW_MODULE_SEPARATOR);
	}
}

/* Passes of a call site; what has no launch has none. */
static void add_passes(struct tw_samples *samples, const struct tw_sample_place *place,
		       const struct trawl_table *table, size_t row, int64_t all_ns)
{
	static const struct {
		const char *pass, *columns[2];
	} passes[] = {
		{ "forward", { TW_COL_FORWARD_MS, TW_COL_FORWARD_MS TOTAL } },
		{ "backward", { TW_COL_BACKWARD_MS, TW_COL_BACKWARD_MS TOTAL } },
		{ "recompute", { TW_COL_RECOMPUTE_MS, TW_COL_RECOMPUTE_MS TOTAL } },
	};
	bool launched = false;
	size_t i;

	for (i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		size_t column = column_of(table, passes[i].columns);
		int64_t ns = tw_compared_ns(tw_table_number(table, row, column), NS_PER_MS);

		launched |= ns >= 0;
		if (ns > 0)
			tw_samples_add(samples, place, TW_PASS, passes[i].pass, ns, TW_NO_CALLS);
	}
	if (!launched)
		tw_samples_add(samples, place, TW_PASS, TW_LABEL_UNLINKED, all_ns, TW_NO_CALLS);
}

bool tw_samples_add_sheet(struct tw_samples *samples, const struct tw_sample_place *place,
			  enum tw_compared_kind kind, const struct trawl_table *table,
			  struct tw_str *lacks)
{
	const struct source *source = &sources[kind];
	size_t keys[KEYS], time = column_of(table, source->times),
			   calls = column_of(table, source->calls), row;
	const char *lacking = find_columns(source, table, keys);
	struct tw_str key, classes;

	if (lacking) {
		if (lacks)
			tw_str_addf(lacks, "%s has no column '%s'", tw_compared_tables[kind]->name,
				    lacking);
		return false;
	}
	tw_str_init(&key, samples->allocator);
	tw_str_init(&classes, samples->allocator);
	for (row = 0; row < trawl_table_rows(table); row++) {
		int64_t ns = tw_compared_ns(tw_table_number(table, row, time), source->ns_per_unit);

		/* Ranges that are operators are compared as such. */
		if ((kind == TW_RANGE || kind == TW_RANGE_EXPOSED) &&
		    tw_table_text_is(table, row, keys[2], "operation"))
			continue;
		add_key(&key, source, table, row, keys);
		if (kind == TW_PASS && ns >= 0)
			add_passes(samples, place, table, row, ns);
		if (kind == TW_PASS)
			continue;
		/* Rows below a table, such as a sum without a name, are of no item. */
		if (ns < 0 || !key.len)
			continue;
		if (kind == TW_MODULE_CLASS)
			add_classes(&classes, key.ptr);
		if (!classes.failed)
			tw_samples_add(samples, place, kind, classes.len ? classes.ptr : key.ptr,
				       ns, tw_compared_ns(tw_table_number(table, row, calls), 1));
	}
	samples->failed |= key.failed | classes.failed;
	tw_str_release(&key);
	tw_str_release(&classes);
	if (tw_is_summed(kind))
		tw_samples_add(samples, place, (enum tw_compared_kind)TW_SUMMED_TABLE,
			       tw_compared_tables[kind]->name, 0, TW_NO_CALLS);
	return true;
}

bool tw_samples_add_rank_timeline(struct tw_samples *samples, const struct tw_sample_place *place,
				  const struct trawl_table *table)
{
	size_t rank = trawl_table_find_column(table, "rank"), columns = trawl_table_columns(table),
	       row, column;
	struct tw_sample_place at = *place;

	if (rank == columns || !tw_table_has_column(table, TW_COL_TOTAL_TIME_MS))
		return false;
	for (row = 0; row < trawl_table_rows(table); row++) {
		int64_t number = tw_compared_ns(tw_table_number(table, row, rank), 1);

		for (column = 0; column < columns && number >= 0; column++) {
			const char *header = trawl_table_column(table, column)->header;
			size_t len = strlen(header);
			int64_t ns = tw_compared_ns(tw_table_number(table, row, column), NS_PER_MS);
			char name[64];

			if (len < 8 || len >= sizeof(name) ||
			    strcmp(header + len - 8, "_time ms") || ns < 0)
				continue;
			memcpy(name, header, len - 3);
			name[len - 3] = '\0';
			at.rank = number;
			tw_samples_add(samples, &at, TW_TIMELINE_PART, name, ns, TW_NO_CALLS);
		}
	}
	return true;
}

/* ---- order */

static int compare_configs(const void *a, const void *b)
{
	const struct tw_sample_config *x = a, *y = b;

	return TW_ORDER_BY(x, y, threads, channels);
}

static int compare_samples(const void *a, const void *b)
{
	const struct tw_sample *x = a, *y = b;

	return TW_ORDER_BY(x, y, kind, name, config, side) ?: TW_ORDER_BY(x, y, rank);
}

const struct tw_sample *tw_samples_find(const struct tw_samples *samples,
					const struct tw_sample *place)
{
	return samples->count ? bsearch(place, samples->items, samples->count,
					sizeof(*samples->items), compare_samples) :
				NULL;
}

/* One configuration on each side: they are what is compared. */
static void join_lone_configs(struct tw_samples *samples)
{
	struct tw_sample_config *c = samples->configs;
	size_t i;

	if (samples->config_count != 2 || (c[0].there[0] && c[0].there[1]) ||
	    (c[1].there[0] && c[1].there[1]) || c[0].there[0] == c[1].there[0])
		return;
	i = c[1].there[1];
	c[0].first_step[i] = c[1].first_step[i];
	c[0].last_step[i] = c[1].last_step[i];
	c[0].window_ns[i] = c[1].window_ns[i];
	c[0].waits[i] = c[1].waits[i];
	c[0].idle_causes[i] = c[1].idle_causes[i];
	c[0].findings[i] = c[1].findings[i];
	c[0].stragglers[i] = c[1].stragglers[i];
	c[0].because[i] = c[1].because[i];
	if (!c[0].there[0]) {
		const char *name = c[0].name;

		c[0].test_name = name;
		c[0].name = c[1].name;
		c[0].threads = c[1].threads;
		c[0].channels = c[1].channels;
	} else {
		c[0].test_name = c[1].name;
	}
	c[0].there[0] = c[0].there[1] = true;
	samples->config_count = 1;
	for (i = 0; i < samples->count; i++)
		samples->items[i].config = 0;
	for (i = 0; i < samples->damaged_count; i++)
		samples->damaged[i].config = 0;
}

/* Their numbers in order, for samples that have the old ones. */
static int sort_configs(struct tw_samples *samples)
{
	const struct trawl_allocator *a = samples->allocator;
	size_t count = samples->config_count, i, k;
	struct tw_sample_config *old = tw_alloc_array(a, count + 1, sizeof(*old));
	uint32_t *now = tw_alloc_array(a, count + 1, sizeof(*now));

	if (old && now) {
		if (count)
			memcpy(old, samples->configs, count * sizeof(*old));
		if (count)
			qsort(samples->configs, count, sizeof(*old), compare_configs);
		for (i = 0; i < count; i++)
			for (k = 0; k < count; k++)
				if (!compare_configs(&old[i], &samples->configs[k]))
					now[i] = (uint32_t)k;
		for (i = 0; i < samples->count; i++)
			samples->items[i].config = now[samples->items[i].config];
		for (i = 0; i < samples->damaged_count; i++)
			samples->damaged[i].config = now[samples->damaged[i].config];
	}
	k = old && now;
	tw_free(a, old, (count + 1) * sizeof(*old));
	tw_free(a, now, (count + 1) * sizeof(*now));
	return k ? 0 : TRAWL_ENOMEM;
}

static int64_t sum_of(int64_t a, int64_t b)
{
	return a + b > TW_LONGEST_COMPARED_NS ? TW_LONGEST_COMPARED_NS : a + b;
}

static void add_up(struct tw_samples *samples)
{
	struct tw_sample *items = samples->items;
	size_t n = 0, i;

	for (i = 0; i < samples->count; i++) {
		if (!n || compare_samples(&items[n - 1], &items[i])) {
			items[n++] = items[i];
			continue;
		}
		items[n - 1].ns = sum_of(items[n - 1].ns, items[i].ns);
		if (items[i].calls != TW_NO_CALLS)
			items[n - 1].calls = items[n - 1].calls == TW_NO_CALLS ?
						     items[i].calls :
						     sum_of(items[n - 1].calls, items[i].calls);
	}
	samples->count = n;
}

/* ---- damaged ranks */

static int compare_damage(const void *a, const void *b)
{
	const struct tw_sample_damage *x = a, *y = b;

	return TW_ORDER_BY(x, y, config, side, rank);
}

static struct tw_sample_damage *damage_of(const struct tw_samples *samples,
					  const struct tw_sample *s)
{
	const struct tw_sample_damage place = { s->config, s->side, s->rank, false };

	return samples->damaged_count ? bsearch(&place, samples->damaged, samples->damaged_count,
						sizeof(place), compare_damage) :
					NULL;
}

static void sort_damaged(struct tw_samples *samples)
{
	struct tw_sample_damage *d = samples->damaged;
	size_t n = 0, i;

	qsort(d, samples->damaged_count, sizeof(*d), compare_damage);
	for (i = 0; i < samples->damaged_count; i++)
		if (!n || compare_damage(&d[n - 1], &d[i]))
			d[n++] = d[i];
	samples->damaged_count = n;
}

/* Unless nothing would be left of the side: a part of the times is better than none. */
static int leave_out_damaged(struct tw_samples *samples)
{
	const struct trawl_allocator *a = samples->allocator;
	size_t room = samples->config_count * 2 + 1, n = 0, i;
	bool *whole;

	if (!samples->damaged_count)
		return 0;
	whole = tw_alloc_array(a, room, sizeof(*whole));
	if (!whole)
		return TRAWL_ENOMEM;
	sort_damaged(samples);
	for (i = 0; i < samples->count; i++) {
		const struct tw_sample *s = &samples->items[i];

		if (s->rank != TW_NO_RANK && !damage_of(samples, s))
			whole[s->config * 2 + s->side] = true;
	}
	for (i = 0; i < samples->damaged_count; i++) {
		struct tw_sample_damage *d = &samples->damaged[i];

		d->left_out = d->rank != TW_NO_RANK && whole[d->config * 2 + d->side];
	}
	for (i = 0; i < samples->count; i++) {
		const struct tw_sample_damage *d = damage_of(samples, &samples->items[i]);

		if (!d || !d->left_out)
			samples->items[n++] = samples->items[i];
	}
	samples->count = n;
	tw_free(a, whole, room * sizeof(*whole));
	return 0;
}

int tw_samples_finish(struct tw_samples *samples, struct trawl_error *err)
{
	join_lone_configs(samples);
	if (samples->failed || samples->texts.failed || sort_configs(samples) ||
	    leave_out_damaged(samples))
		return tw_no_memory(err);
	if (samples->count)
		qsort(samples->items, samples->count, sizeof(*samples->items), compare_samples);
	add_up(samples);
	return 0;
}
