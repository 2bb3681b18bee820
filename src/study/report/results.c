#include "study/report/results.h"

#include "base/alloc.h"
#include "data/limits.h"

#include <assert.h>
#include <string.h>

void trawl_sweep_options_init(struct trawl_sweep_options *options)
{
	*options = (struct trawl_sweep_options){
		.top_k = TW_VARIANCE_TOP_K,
		.tolerance = TW_LIMIT_SWEEP_TOLERANCE,
	};
}

/* ---- the sweep */

int trawl_sweep_find(struct trawl_sweep **out, const char *directory,
		     const struct trawl_sweep_options *given, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep = tw_alloc_array(a, 1, sizeof(*sweep));
	int status;
	size_t i;

	*out = NULL;
	if (!sweep)
		return tw_no_memory(err);
	trawl_sweep_options_init(&options);
	if (given)
		options = *given;
	status = tw_sweep_find(sweep, directory, options.output, &options.filter, a, err);
	sweep->options = options;
	if (status) {
		trawl_sweep_free(sweep);
		return status;
	}
	for (i = 0; i < sweep->note_count && options.note && !options.quiet; i++)
		options.note(options.note_context, sweep->notes[i]);
	*out = sweep;
	return 0;
}

void trawl_sweep_free(struct trawl_sweep *sweep)
{
	if (!sweep)
		return;
	tw_sweep_release(sweep);
	tw_free(trawl_allocator_default(), sweep, sizeof(*sweep));
}

size_t trawl_sweep_configurations(const struct trawl_sweep *sweep)
{
	return sweep->count;
}

struct trawl_configuration trawl_sweep_configuration(const struct trawl_sweep *sweep, size_t index)
{
	const struct tw_sweep_point *p = &sweep->points[index];
	struct trawl_configuration c = { p->threads,   p->channels, p->name,
					 p->directory, p->ended,    .ranks = p->rank_count };
	size_t i;

	for (i = 0; i < p->rank_count; i++) {
		c.traces += p->ranks[i].trace != NULL;
		c.reports += p->ranks[i].report != NULL;
	}
	return c;
}

bool trawl_sweep_is_whole(const struct trawl_sweep *sweep)
{
	return !sweep->incomplete;
}

const char *trawl_sweep_output(const struct trawl_sweep *sweep)
{
	return sweep->output;
}

/* ---- results of any kind */

struct trawl_sweep_results *tw_results_new(const struct trawl_sweep *sweep,
					   const struct trawl_sweep_options *options,
					   struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_sweep_results *r = tw_alloc_array(a, 1, sizeof(*r));

	if (!r) {
		tw_no_memory(err);
		return NULL;
	}
	if (options)
		r->options = *options;
	else if (sweep)
		r->options = sweep->options;
	else
		trawl_sweep_options_init(&r->options);
	r->sweep = sweep;
	r->incomplete = sweep && sweep->incomplete;
	tw_str_init(&r->answer, a);
	tw_str_init(&r->text, a);
	tw_str_init(&r->path, a);
	return r;
}

int tw_results_give(struct trawl_sweep_results *r, int status, struct trawl_sweep_results **out)
{
	*out = status ? NULL : r;
	if (status)
		trawl_sweep_results_free(r);
	return status;
}

static void drop_tables(struct trawl_sweep_results *r)
{
	while (r->table_count)
		trawl_table_free(r->tables[--r->table_count]);
}

void trawl_sweep_results_free(struct trawl_sweep_results *r)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t i;

	if (!r)
		return;
	drop_tables(r);
	if (r->has_aggregate)
		tw_aggregate_release(&r->aggregate);
	/* Where some ranks were read, the steps have their configurations. */
	for (i = 0; i < r->point_count; i++)
		tw_point_analysis_release(&r->points[i]);
	if (r->has_steps)
		tw_variance_steps_release(&r->steps);
	tw_free(a, r->points, r->point_count * sizeof(*r->points));
	tw_free(a, r->list, r->point_count * sizeof(*r->list));
	tw_str_release(&r->answer);
	tw_str_release(&r->text);
	tw_str_release(&r->path);
	tw_free(a, r, sizeof(*r));
}

void tw_results_tell(const struct trawl_sweep_results *r, struct tw_str *notes, bool always)
{
	const struct trawl_sweep_options *o = &r->options;

	tw_str_tell(notes, always || !o->quiet ? o->note : NULL, o->note_context);
	tw_str_clear(notes);
}

static size_t place_of(enum trawl_sweep_outputs output)
{
	size_t i = 0;

	while (i + 1 < TW_RESULTS_OUTPUTS && 1U << i < (unsigned)output)
		i++;
	return i;
}

void tw_results_count(struct trawl_sweep_results *r, enum trawl_sweep_outputs output, size_t files)
{
	r->files[place_of(output)] += files;
}

int tw_results_add(struct trawl_sweep_results *r, struct trawl_table *table,
		   struct trawl_error *err)
{
	if (!table)
		return tw_no_memory(err);
	assert(r->table_count < TW_RESULTS_MOST_TABLES);
	r->tables[r->table_count++] = table;
	return 0;
}

int tw_results_read(struct trawl_sweep_results *r, unsigned outputs, struct trawl_error *err)
{
	const struct trawl_sweep_options *o = &r->options;
	int status = 0;
	size_t i;

	r->reading = (struct tw_sweep_reading){
		.threads = o->threads,
		.max_memory = o->max_memory,
		.block_size = o->block_size,
		.align = o->align,
		.ranks_chosen = r->part.points != r->sweep->points || o->filter.rank_count,
		.progress = o->progress,
		.progress_context = o->progress_context,
	};
	r->points = tw_alloc_array(trawl_allocator_default(), r->part.count, sizeof(*r->points));
	if (!r->points)
		return r->part.count ? tw_no_memory(err) : 0;
	r->point_count = r->part.count;
	tw_sweep_analyse(&r->part, &r->reading, outputs, r->points);
	for (i = 0; i < r->point_count; i++) {
		struct tw_point_analysis *p = &r->points[i];

		tw_results_tell(r, &p->notes, false);
		r->incomplete |= p->incomplete;
		if (p->status && !status)
			status = trawl_error_set_at(err, p->failure.status, p->failure.offset, "%s",
						    p->failure.message);
	}
	if (!status && o->strict)
		status = tw_sweep_check_strict(r->points, r->point_count, err);
	return status;
}

/* ---- asking */

bool trawl_sweep_results_is_whole(const struct trawl_sweep_results *r)
{
	return !r->incomplete;
}

size_t trawl_sweep_results_tables(const struct trawl_sweep_results *r)
{
	return r->table_count;
}

const struct trawl_table *trawl_sweep_results_table(const struct trawl_sweep_results *r,
						    size_t index)
{
	return r->tables[index];
}

const struct trawl_table *trawl_sweep_results_find(const struct trawl_sweep_results *r,
						   const char *name)
{
	size_t i;

	for (i = 0; i < r->table_count; i++)
		if (!strcmp(trawl_table_name(r->tables[i]), name))
			return r->tables[i];
	return NULL;
}

size_t trawl_sweep_results_lines(const struct trawl_sweep_results *r)
{
	size_t at, n = 0;

	for (at = 0; at < r->answer.len; at += strlen(r->answer.ptr + at) + 1)
		n++;
	return n;
}

const char *trawl_sweep_results_line(const struct trawl_sweep_results *r, size_t index)
{
	const char *line = r->answer.ptr;

	while (index--)
		line += strlen(line) + 1;
	return line;
}

const char *trawl_sweep_results_text(struct trawl_sweep_results *r, unsigned width)
{
	tw_str_clear(&r->text);
	if (r->step) {
		tw_variance_digest(r->step, width, &r->text);
	} else if (r->has_aggregate) {
		tw_timelines_digest(r->aggregate.timelines, width, &r->text);
		if (r->text.len && r->aggregate.collectives)
			tw_str_add_char(&r->text, '\n');
		tw_comms_digest(r->aggregate.comms, width, &r->text);
	}
	if (r->text.failed)
		return NULL;
	return r->text.len ? r->text.ptr : "";
}

size_t trawl_sweep_results_files(const struct trawl_sweep_results *r,
				 enum trawl_sweep_outputs output)
{
	return r->files[place_of(output)];
}

const char *trawl_sweep_results_path(const struct trawl_sweep_results *r)
{
	return r->path.len ? r->path.ptr : "";
}
