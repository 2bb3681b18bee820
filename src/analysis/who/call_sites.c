/* GPU time by the function of the program that launched it: the innermost frame that is its own. */
#include "analysis/sums.h"
#include "analysis/who/pass_columns.h"

#include "base/alloc.h"

enum { SITE, GPU, OF_GPU, PASSES, EVENTS = PASSES + TW_PASS_COUNT, OPERATORS };

static const struct trawl_column columns[] = {
	[SITE] = TW_TEXT(TW_COL_CALL_SITE, 60, "file, line and function of the program",
			 .over_ranks = TRAWL_KEY),
	[GPU] = TW_MS(TW_COL_GPU_TIME_MS, 14,
		      "sum of GPU events launched from there; all rows add up to all GPU time",
		      .over_ranks = TRAWL_TIME, .values = ">=0"),
	[OF_GPU] = TW_OF_GPU_TIME_COLUMN,
	TW_PASS_COLUMN_LIST(PASSES),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "kernels, copies and memsets",
			      .over_ranks = TRAWL_COUNT, .values = "!>=0"),
	[OPERATORS] = TW_TEXT("operators", 60,
			      "operators, or calls, that launched most of it, at most 8"),
};

#define MOST_OPERATORS 8
#define UNLINKED UINT32_MAX

struct site {
	struct tw_sum sum;
	tw_wide ns[TW_PASS_COUNT];
};

struct pair {
	uint32_t site, op; /* groups of sites; text ids */
};

struct work {
	struct tw_sums sites;
	struct tw_groups ops; /* struct pair -> tw_wide */
	struct tw_members of_site;
};

static int add_event(struct work *w, uint64_t g)
{
	const struct tw_derived *d = w->sites.in->derived;
	const struct tw_attribution *a = tw_attribution_of_gpu(w->sites.in->who, g);
	int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];
	uint32_t key = a ? a->site : UNLINKED;
	struct site *site = tw_sums_add(&w->sites, &key, ns, d->gpu.event[g]);
	struct pair pair;
	tw_wide *sum;

	if (!site)
		return TRAWL_ENOMEM;
	if (!a)
		return 0;
	site->ns[a->pass] += ns;
	pair = (struct pair){ tw_groups_number(&w->sites.groups, site), tw_launching_name(d, g) };
	sum = tw_groups_at(&w->ops, &pair);
	if (!sum)
		return TRAWL_ENOMEM;
	*sum += ns;
	return 0;
}

static int group_operators(struct work *w, const struct trawl_allocator *a)
{
	uint32_t *of = tw_alloc_array(a, (size_t)w->ops.count + 1, sizeof(*of)), i;

	for (i = 0; of && i < w->ops.count; i++)
		of[i] = ((const struct pair *)tw_groups_key(&w->ops, i))->site;
	return of && !tw_members_build(&w->of_site, of, w->ops.count, w->sites.groups.count, a) ?
		       0 :
		       TRAWL_ENOMEM;
}

/* The largest of a site's operators: few are looked for, so no sort. */
static void set_operators(const struct work *w, struct trawl_table *table, size_t row,
			  uint32_t site)
{
	const uint32_t *list = w->of_site.list + w->of_site.first[site];
	size_t count = w->of_site.first[site + 1] - w->of_site.first[site], i, n, kept = 0;
	const struct tw_pool *texts = &w->sites.in->trace->texts;
	uint32_t most[MOST_OPERATORS + 1];
	struct tw_str out;

	for (i = 0; i < count; i++) {
		const tw_wide *ns = tw_groups_value(&w->ops, list[i]);

		for (n = kept; n && *(const tw_wide *)tw_groups_value(&w->ops, most[n - 1]) < *ns;
		     n--)
			most[n] = most[n - 1];
		most[n] = list[i];
		kept += kept < MOST_OPERATORS;
	}
	tw_str_init(&out, w->sites.in->allocator);
	for (n = 0; n < kept; n++) {
		const struct pair *pair = tw_groups_key(&w->ops, most[n]);
		size_t len;
		const char *name = tw_pool_text(texts, pair->op, &len);

		tw_str_add_cstr(&out, n ? "; " : "");
		tw_str_add(&out, name, len);
	}
	if (count > kept)
		tw_str_addf(&out, "; %zu more", count - kept);
	tw_table_set_text(table, row, OPERATORS, out.ptr, out.len);
	tw_str_release(&out);
}

static void set_site(const struct tw_sums *sums, struct trawl_table *table, size_t row,
		     const void *of_key, const void *value)
{
	const struct work *w = sums->context;
	const struct site *site = value;
	uint32_t key = *(const uint32_t *)of_key;

	if (key && key != UNLINKED)
		tw_set_name(table, row, SITE, sums->in->trace, key);
	else
		tw_table_set_str(table, row, SITE, key ? TW_LABEL_UNLINKED : TW_LABEL_NONE);
	tw_set_sum(table, row, GPU, site->sum.ns);
	tw_set_percent(table, row, OF_GPU, (double)site->sum.ns, (double)sums->total_ns);
	tw_table_set_integer(table, row, EVENTS, site->sum.count);
	if (key == UNLINKED)
		return;
	tw_set_passes(table, row, PASSES, site->ns);
	set_operators(w, table, row, tw_groups_number(&sums->groups, value));
}

/* What has no site comes last. */
static void order_site(const struct tw_sums *sums, const void *of_key, struct tw_order *order)
{
	uint32_t key = *(const uint32_t *)of_key;

	(void)sums;
	if (!key || key == UNLINKED)
		order->value = key ? -2 : -1;
}

static int run_call_sites(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct work w = { .of_site.count = 0 };
	uint64_t g;

	if (!in->who->sites)
		return 0;
	tw_sums_init(&w.sites, in, sizeof(uint32_t), sizeof(struct site));
	w.sites.context = &w;
	tw_groups_init_values(&w.ops, sizeof(struct pair), sizeof(tw_wide), in->allocator);
	for (g = 0; g < in->derived->gpu.count; g++)
		if (add_event(&w, g))
			return TRAWL_ENOMEM;
	return group_operators(&w, in->allocator) ?
		       TRAWL_ENOMEM :
		       tw_sums_add_rows(&w.sites, table, set_site, order_site);
}

const struct tw_analysis tw_analysis_call_sites = {
	TW_TABLE("call_sites", "GPU time by the function of the program that launched it", columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_WHO,
	.run = run_call_sites,
};
