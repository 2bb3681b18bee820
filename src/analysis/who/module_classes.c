/*
 * Modules of one class at one place of the model: layers of a stack do the same work, so one that takes longer than
 * the others stands out.  The class of a path is that of each of its modules.
 */
#include "analysis/who/module_classes.h"

#include "analysis/who/pass_columns.h"

#include "analysis/order.h"
#include "base/alloc.h"
#include "base/median.h"
#include "data/limits.h"

enum { CLASS, INSTANCES, CALLS, SELF, TOTAL, OF_GPU, MIN, MEDIAN, MAX, FARTHEST, ITS_TIME };

static const struct trawl_column columns[] = {
	[CLASS] = TW_TEXT(TW_COL_MODULE_CLASS, 60,
			  "module path without the number of each module: NAME for NAME_0, NAME_1",
			  .over_ranks = TRAWL_KEY),
	[INSTANCES] = TW_INTEGER("instances", 10, "paths of the class", .over_ranks = TRAWL_SAME,
				 .values = ">0"),
	[CALLS] = TW_INTEGER("calls", 10, "calls of them", .over_ranks = TRAWL_COUNT,
			     .values = ">=0"),
	[SELF] = TW_MS(
		TW_COL_SELF_GPU_TIME_MS, 14,
		"sum of GPU events launched in them and in no module below; all rows add up to "
		"all GPU time",
		.over_ranks = TRAWL_TOTAL, .values = "!>=0"),
	[TOTAL] = TW_MS(TW_COL_GPU_TIME_MS, 14, "the same with all modules below them",
			.over_ranks = TRAWL_TIME, .values = "!>=0"),
	[OF_GPU] = TW_OF_GPU_TIME_COLUMN,
	[MIN] = TW_MS("min (ms)", 14, "GPU time of the instance with the least",
		      .over_ranks = TRAWL_MIN, .values = ">=0"),
	[MEDIAN] = TW_MS("median (ms)", 14, "lower median of the instances", .values = ">=0"),
	[MAX] = TW_MS("max (ms)", 14, "GPU time of the instance with the most",
		      .over_ranks = TRAWL_MAX, .values = ">=0"),
	[FARTHEST] = TW_TEXT("farthest instance", 60,
			     "of more than two instances the one farthest from the median"),
	[ITS_TIME] = TW_MS("its GPU time (ms)", 14, "GPU time of that instance", .values = ">=0"),
};

struct work {
	const struct tw_attributions *who;
	const struct trawl_allocator *a;
	struct tw_pool names;	  /* of classes */
	struct tw_groups classes; /* (class around, name) -> struct sums */
	uint32_t *of_module, *shown;
	struct tw_members members; /* modules that are shown, by class */
	int64_t *times;
	struct tw_str text;
};

struct sums {
	int64_t calls;
	tw_wide self, total;
};

/* The class of a parent is known before. */
int tw_module_classes_find(uint32_t *of_module, const struct tw_attributions *who,
			   struct tw_groups *classes, struct tw_pool *names)
{
	const uint32_t none[2] = { 0, 0 };
	uint32_t i;

	of_module[0] = tw_groups_add(classes, none);
	for (i = 1; i < who->module_count; i++) {
		uint32_t key[2] = { of_module[who->module[i].parent], 0 };
		size_t len;
		const char *name = tw_module_name(who, i, &len);

		key[1] = tw_pool_intern(names, name, tw_module_class_len(name, len));
		of_module[i] = tw_groups_add(classes, key);
		if (classes->failed || names->failed)
			return -1;
	}
	return 0;
}

static int add_classes(struct work *w)
{
	uint32_t i;

	if (tw_module_classes_find(w->of_module, w->who, &w->classes, &w->names))
		return -1;
	for (i = 1; i < w->who->module_count; i++) {
		const struct tw_module *module = &w->who->module[i];
		struct sums *sums = tw_groups_value(&w->classes, w->of_module[i]);

		sums->calls += module->calls;
		sums->self += tw_module_ns(&module->self);
		sums->total += tw_module_ns(&module->total);
	}
	for (i = 0; i < w->who->module_count; i++)
		w->shown[i] = i && tw_module_is_shown(&w->who->module[i]) ? w->of_module[i] :
									    TW_NO_GROUP;
	return tw_members_build(&w->members, w->shown, w->who->module_count, w->classes.count,
				w->a);
}

static int64_t time_of(const struct work *w, uint32_t module)
{
	tw_wide ns = tw_module_ns(&w->who->module[module].total);

	return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

/* The instance farthest from the median, the first of several. */
static void set_farthest(struct work *w, struct trawl_table *table, size_t row,
			 const uint32_t *instances, size_t count, struct tw_middle middle)
{
	uint32_t farthest = 0;
	int64_t most = -1;
	size_t i;

	for (i = 0; i < count; i++) {
		int64_t distance = 2 * time_of(w, instances[i]) - middle.lower - middle.upper;

		distance = distance < 0 ? -distance : distance;
		if (distance > most) {
			most = distance;
			farthest = instances[i];
		}
	}
	tw_str_clear(&w->text);
	tw_module_path(w->who, farthest, &w->text);
	tw_table_set_text(table, row, FARTHEST, w->text.ptr, w->text.len);
	tw_table_set_integer(table, row, ITS_TIME, time_of(w, farthest));
}

static void set_instances(struct work *w, struct trawl_table *table, size_t row, uint32_t class)
{
	const uint32_t *instances = w->members.list + w->members.first[class];
	size_t count = w->members.first[class + 1] - w->members.first[class], i;
	int64_t min = INT64_MAX, max = 0;
	struct tw_middle middle;

	for (i = 0; i < count; i++) {
		int64_t ns = time_of(w, instances[i]);

		w->times[i] = ns;
		min = ns < min ? ns : min;
		max = ns > max ? ns : max;
	}
	middle = tw_middle_of(w->times, count);
	tw_table_set_integer(table, row, INSTANCES, (int64_t)count);
	tw_table_set_integer(table, row, MIN, min);
	tw_table_set_integer(table, row, MEDIAN, middle.lower);
	tw_table_set_integer(table, row, MAX, max);
	if (count > 2)
		set_farthest(w, table, row, instances, count, middle);
}

static void set_sums(const struct work *w, struct trawl_table *table, size_t row, tw_wide self,
		     tw_wide total)
{
	tw_set_sum(table, row, SELF, self);
	tw_set_sum(table, row, TOTAL, total);
	tw_set_percent(table, row, OF_GPU, (double)total, (double)w->who->gpu_ns);
}

static void add_class_name(const struct work *w, uint32_t class, struct tw_str *out)
{
	uint32_t around[TW_LIMIT_MODULE_DEPTH + 1];
	unsigned count = 0;

	for (; class; class = ((const uint32_t *)tw_groups_key(&w->classes, class))[0])
		around[count++] = class;
	while (count-- > 0) {
		const uint32_t *key = tw_groups_key(&w->classes, around[count]);
		size_t len;
		const char *name = tw_pool_text(&w->names, key[1], &len);

		tw_str_add(out, name, len);
		if (count)
			tw_str_add_cstr(out, TW_MODULE_SEPARATOR);
	}
}

static struct tw_order describe(void *context, uint32_t class)
{
	const struct work *w = context;
	const struct sums *sums = tw_groups_value(&w->classes, class);

	return (struct tw_order){ .value = class ? sums->total : -1, .tie = class };
}

static int add_row(void *context, struct trawl_table *table, uint32_t class)
{
	struct work *w = context;
	const struct sums *sums = tw_groups_value(&w->classes, class);
	const struct tw_module *outside = &w->who->module[0];
	size_t row;

	if (class ? w->members.first[class] == w->members.first[class + 1] : !outside->self.events)
		return 0;
	row = tw_table_add_row(table);
	if (!class) {
		tw_table_set_str(table, row, CLASS, TW_LABEL_NONE);
		set_sums(w, table, row, tw_module_ns(&outside->self), tw_module_ns(&outside->self));
		return 0;
	}
	tw_str_clear(&w->text);
	add_class_name(w, class, &w->text);
	tw_table_set_text(table, row, CLASS, w->text.ptr, w->text.len);
	tw_table_set_integer(table, row, CALLS, sums->calls);
	set_sums(w, table, row, sums->self, sums->total);
	set_instances(w, table, row, class);
	return 0;
}

static int make_rows(struct work *w, struct trawl_table *table)
{
	const struct tw_order_rows order = { w, describe, add_row, NULL };
	size_t n = (size_t)w->who->module_count + 1, row;

	w->of_module = tw_alloc_array(w->a, n, sizeof(*w->of_module));
	w->shown = tw_alloc_array(w->a, n, sizeof(*w->shown));
	w->times = tw_alloc_array(w->a, n, sizeof(*w->times));
	if (!w->of_module || !w->shown || !w->times || add_classes(w) ||
	    tw_add_in_order(table, w->classes.count, &order, w->a))
		return TRAWL_ENOMEM;
	if (w->who->unlinked.events) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, CLASS, TW_LABEL_UNLINKED);
		set_sums(w, table, row, tw_module_ns(&w->who->unlinked),
			 tw_module_ns(&w->who->unlinked));
	}
	return w->text.failed ? TRAWL_ENOMEM : 0;
}

static int run_module_classes(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct work w = { .who = in->who, .a = in->allocator };
	int status;

	if (!in->who->modules)
		return 0;
	tw_str_init(&w.text, in->allocator);
	tw_groups_init_values(&w.classes, 2 * sizeof(uint32_t), sizeof(struct sums), in->allocator);
	status = tw_pool_init(&w.names, in->allocator) ? TRAWL_ENOMEM : make_rows(&w, table);
	tw_pool_release(&w.names);
	return status;
}

const struct tw_analysis tw_analysis_module_classes = {
	TW_TABLE("module_classes", "GPU time by class of module: the layers of a stack together",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_WHO,
	.run = run_module_classes,
};
