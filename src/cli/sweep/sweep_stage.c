/* What the stages variance, timestamps and overlap share: their options, files and reading. */
#include "cli/sweep/sweep_steps.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "os/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options */

void cli_sweep_step_options(struct cli_sweep_step_options *o, enum cli_sweep_step_kind kind,
			    struct cli_option options[5])
{
	const struct cli_option table[] = {
		{ "top-k", 0, CLI_POSITIVE, "N", &o->top_k,
		  kind == CLI_STEP_VARIANCE ?
			  "operations of each report (default 5); also in the file's name" :
			  "which file top<N>_... is read (default 5)" },
		{ "input-csv", 0, CLI_TEXT, "FILE", &o->input,
		  "what is read (default: the file of the stage before)" },
		{ "output-csv", 0, CLI_TEXT, "FILE", &o->output,
		  "what is written (default: in tracelens_analysis, or beside --input-csv)" },
		{ "tolerance", 0, CLI_TEXT, "FRACTION", &o->tolerance,
		  "off by so much of the expected time is within_tol "
		  "(default " TW_LIMIT_TEXT(TW_LIMIT_SWEEP_TOLERANCE) ")" },
	};
	const bool has[] = { true, kind != CLI_STEP_VARIANCE, true, kind == CLI_STEP_TIMESTAMPS };
	size_t i, n = 0;

	o->top_k = CLI_SWEEP_TOP_K;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (has[i])
			options[n++] = table[i];
	options[n] = (struct cli_option){ NULL, 0, CLI_FLAG, NULL, NULL, NULL };
}

/* ---- input */

/* Whether a row is of the configurations and ranks asked for. */
static bool is_wanted(const struct tw_sweep_filter *f, const struct tw_csv *csv, size_t row)
{
	int64_t threads, channels, rank;

	return !tw_variance_point(csv, row, &threads, &channels, &rank) ||
	       (tw_sweep_is_wanted(f->threads, f->thread_count, threads) &&
		tw_sweep_is_wanted(f->channels, f->channel_count, channels) &&
		tw_sweep_is_wanted(f->ranks, f->rank_count, rank));
}

static int choose_rows(struct cli_sweep_steps *steps, const struct tw_csv *all, struct tw_csv *in)
{
	size_t row;

	*in = *all;
	in->cells = tw_arena_alloc(&steps->arena,
				   ((all->rows + 1) * all->columns + 1) * sizeof(*in->cells));
	if (!in->cells)
		return cli_no_memory();
	if (all->columns)
		memcpy(in->cells, all->cells, all->columns * sizeof(*in->cells));
	in->rows = 0;
	for (row = 0; row < all->rows; row++)
		if (is_wanted(&steps->s->filter, all, row))
			memcpy(in->cells + ++in->rows * in->columns,
			       all->cells + (row + 1) * all->columns,
			       all->columns * sizeof(*in->cells));
	return CLI_DONE;
}

/* The file of the step before: where results go, else in the sweep. */
static int find_input(const struct cli_sweep_steps *steps, const struct cli_sweep_following *stage,
		      struct tw_str *path)
{
	struct tw_sweep inside = steps->s->sweep;
	struct tw_str name, first;
	int status = CLI_DONE;

	tw_str_init(&name, path->allocator);
	tw_str_init(&first, path->allocator);
	cli_sweep_step_name(steps->top_k, stage->from, &name);
	inside.output = inside.directory;
	if (!name.failed) {
		tw_sweep_analysis_path(&steps->s->sweep, name.ptr, &first);
		tw_sweep_analysis_path(&steps->s->sweep, name.ptr, path);
	}
	if (!path->failed && !first.failed && !name.failed && access(path->ptr, F_OK))
		tw_sweep_analysis_path(&inside, name.ptr, path);
	if (name.failed || first.failed || path->failed) {
		status = cli_no_memory();
	} else if (access(path->ptr, F_OK)) {
		cli_message("%s is not there: 'trawl sweep %s' makes it, or give --input-csv",
			    first.ptr, stage->before);
		status = CLI_FAILED;
	}
	tw_str_release(&first);
	tw_str_release(&name);
	return status;
}

static int read_input(struct cli_sweep_steps *steps, const char *path, struct tw_csv *in)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_csv *sheet = NULL;
	struct trawl_error err;
	struct tw_book *book;
	int status;

	if (tw_book_open(&book, path, a, &err))
		return cli_fail(&err);
	if (!tw_book_sheets(book)) {
		cli_message("%s: nothing in it", path);
		status = CLI_FAILED;
	} else {
		status = tw_book_sheet(book, tw_book_sheet_name(book, 0), &sheet, &err) ?
				 cli_fail(&err) :
				 CLI_DONE;
	}
	if (status != CLI_DONE) {
		tw_book_free(book);
		return status;
	}
	status = cli_sweep_keep_book(steps, book);
	return status == CLI_DONE ? choose_rows(steps, sheet, in) : status;
}

/* A fraction from 0 on. */
static int read_tolerance(struct cli_sweep_steps *steps, const char *text)
{
	const char *end;
	char *stop;

	if (!text)
		return CLI_DONE;
	steps->tolerance = strtod(text, &stop);
	end = stop;
	if (*text && !*end && steps->tolerance >= 0 && steps->tolerance <= 1)
		return CLI_DONE;
	return cli_usage_error(steps->s->command,
			       "--tolerance: '%.60s' is no fraction such as 0.01", text);
}

static int find_and_read(struct cli_sweep_steps *steps, const struct cli_sweep_following *stage,
			 const struct cli_sweep_step_options *o, struct tw_str *path,
			 struct tw_csv *in)
{
	int status = read_tolerance(steps, o->tolerance);

	steps->top_k = o->top_k;
	if (status != CLI_DONE)
		return status;
	if (o->input)
		tw_str_add_cstr(path, o->input);
	else
		status = find_input(steps, stage, path);
	if (status == CLI_DONE && path->failed)
		status = cli_no_memory();
	return status == CLI_DONE ? read_input(steps, path->ptr, in) : status;
}

/* ---- output */

/*
 * --output-csv, else beside the input when that was given and -o was not, else where results go;
 * named after the input.
 */
static void find_output(const struct cli_sweep_steps *steps,
			const struct cli_sweep_following *stage,
			const struct cli_sweep_step_options *o, const char *input,
			struct tw_str *path)
{
	const char *name = tw_file_name(input);
	size_t len = strlen(name), from_len = strlen(stage->from);
	struct tw_str file;

	if (o->output) {
		tw_str_add_cstr(path, o->output);
		return;
	}
	if (len > 4 && !strcmp(name + len - 4, ".csv"))
		len -= 4;
	if (len > from_len && !strncmp(name + len - from_len, stage->from, from_len))
		len -= from_len;
	tw_str_init(&file, path->allocator);
	tw_str_add(&file, name, len);
	tw_str_addf(&file, "%s.csv", stage->to);
	if (file.failed) {
		path->failed = true;
	} else if (o->input && !steps->s->common.output) {
		tw_str_add(path, input, (size_t)(name - input));
		tw_str_add_cstr(path, file.ptr);
	} else {
		tw_sweep_analysis_path(&steps->s->sweep, file.ptr, path);
	}
	tw_str_release(&file);
}

static int print(const struct cli_sweep_steps *steps, const struct tw_csv *csv)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	enum tw_format format = steps->s->common.format;
	struct tw_str out;

	if (format != TW_FORMAT_TABLE)
		return cli_print_table(tw_variance_table(csv, a), format, "sweep_variance");
	tw_str_init(&out, a);
	tw_variance_digest(csv, cli_width(), &out);
	return cli_print_str(&out);
}

int cli_sweep_step_finish(struct cli_sweep_steps *steps, const struct tw_csv *csv, const char *path)
{
	struct trawl_error err;
	int status;

	if (tw_write_csv_text(csv, path, trawl_allocator_default(), &err))
		return cli_fail(&err);
	status = print(steps, csv);
	if (status != CLI_DONE)
		return status;
	if (!steps->s->common.quiet)
		cli_message("%zu row%s written to %s", csv->rows, csv->rows == 1 ? "" : "s", path);
	return steps->incomplete || steps->s->sweep.incomplete ? CLI_INCOMPLETE : CLI_DONE;
}

/* ---- reading the traces of some ranks */

static int choose_ranks(struct cli_sweep_part *part, const struct tw_sweep *all, const bool *wanted)
{
	struct tw_sweep *sweep = &part->s.sweep;
	size_t i, k;

	sweep->count = 0;
	sweep->points = tw_arena_alloc(&part->arena, (all->count + 1) * sizeof(*sweep->points));
	if (!sweep->points)
		return cli_no_memory();
	for (i = 0; i < all->count; i++) {
		const struct tw_sweep_point *point = &all->points[i];
		struct tw_sweep_point *to = &sweep->points[sweep->count];

		*to = *point;
		to->rank_count = 0;
		to->ranks =
			tw_arena_alloc(&part->arena, (point->rank_count + 1) * sizeof(*to->ranks));
		if (!to->ranks)
			return cli_no_memory();
		for (k = 0; k < point->rank_count; k++)
			if (wanted[k] && point->ranks[k].trace)
				to->ranks[to->rank_count++] = point->ranks[k];
		wanted += point->rank_count;
		sweep->count += to->rank_count > 0;
	}
	return CLI_DONE;
}

int cli_sweep_part_make(struct cli_sweep_part *part, const struct cli_sweep *s, const bool *wanted,
			unsigned makes)
{
	int status;

	*part = (struct cli_sweep_part){ .s = *s };
	tw_arena_init(&part->arena, trawl_allocator_default());
	/* The other ranks of a job are not missed. */
	if (!part->s.filter.rank_count)
		part->s.filter.rank_count = 1;
	part->s.sweep.incomplete = false;
	status = choose_ranks(part, &s->sweep, wanted);
	if (status != CLI_DONE || !part->s.sweep.count)
		return status;
	part->made =
		tw_alloc_array(trawl_allocator_default(), part->s.sweep.count, sizeof(*part->made));
	return part->made ? cli_sweep_make_all(&part->s, makes, part->made) : cli_no_memory();
}

void cli_sweep_part_release(struct cli_sweep_part *part)
{
	size_t i;

	for (i = 0; part->made && i < part->s.sweep.count; i++)
		cli_sweep_made_release(&part->made[i]);
	tw_free(trawl_allocator_default(), part->made, part->s.sweep.count * sizeof(*part->made));
	tw_arena_release(&part->arena);
}

/* ---- a stage behind the first */

/* Ranks that rows are of. */
static bool *choose(const struct tw_sweep *sweep, const struct tw_csv *in)
{
	bool *wanted = tw_alloc_array(trawl_allocator_default(), cli_sweep_ranks(sweep) + 1,
				      sizeof(*wanted));
	size_t row;

	for (row = 0; wanted && row < in->rows; row++) {
		int64_t threads, channels, rank;
		size_t place = SIZE_MAX;

		if (tw_variance_point(in, row, &threads, &channels, &rank))
			place = cli_sweep_rank_place(sweep, threads, channels, rank);
		if (place != SIZE_MAX)
			wanted[place] = true;
	}
	return wanted;
}

static int finish(struct cli_sweep_steps *steps, const struct cli_sweep_following *stage,
		  const struct cli_sweep_step_options *o, const char *input)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	find_output(steps, stage, o, input, &path);
	if (path.failed)
		status = cli_no_memory();
	else
		status = cli_sweep_step_finish(steps,
					       stage->kind == CLI_STEP_OVERLAP ? &steps->overlap :
										 &steps->timestamps,
					       path.ptr);
	tw_str_release(&path);
	return status;
}

static int follow(struct cli_sweep_steps *steps, const struct cli_sweep_following *stage,
		  const struct cli_sweep_step_options *o, const struct tw_csv *in,
		  const char *input)
{
	size_t bytes = cli_sweep_ranks(&steps->s->sweep) + 1;
	bool *wanted = choose(&steps->s->sweep, in);
	struct cli_sweep_part part;
	int status;

	if (!wanted)
		return cli_no_memory();
	status = cli_sweep_part_make(&part, steps->s, wanted, stage->makes);
	if (status == CLI_DONE || status == CLI_INCOMPLETE) {
		steps->incomplete |= status == CLI_INCOMPLETE;
		steps->made = part.made;
		steps->made_count = part.made ? part.s.sweep.count : 0;
		status = stage->step(steps, in);
		if (status == CLI_DONE)
			status = finish(steps, stage, o, input);
	}
	cli_sweep_part_release(&part);
	tw_free(trawl_allocator_default(), wanted, bytes);
	return status;
}

int cli_sweep_follow(const struct cli_sweep_following *stage, const struct cli_command *command,
		     int argc, char **argv)
{
	struct cli_sweep s = { .command = command };
	struct cli_sweep_step_options o = { 0 };
	struct cli_option own[5], steps_own[5], common[8];
	const struct cli_option *const tables[] = { steps_own, own, common };
	struct cli_sweep_steps steps;
	struct tw_str input;
	struct tw_csv in;
	int status;

	cli_sweep_step_options(&o, stage->kind, steps_own);
	cli_sweep_options(&s, own, common);
	status = cli_sweep_begin(&s, tables, 3, argc, argv);
	if (status >= 0)
		return status;
	cli_sweep_steps_init(&steps, &s, NULL, 0);
	tw_str_init(&input, trawl_allocator_default());
	status = find_and_read(&steps, stage, &o, &input, &in);
	if (status == CLI_DONE)
		status = follow(&steps, stage, &o, &in, input.ptr);
	tw_str_release(&input);
	cli_sweep_steps_release(&steps);
	tw_sweep_release(&s.sweep);
	return status;
}
