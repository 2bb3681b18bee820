/*
 * trawl sweep variance, timestamps, overlap: the operations of each report whose calls differ most in
 * time, when the shortest and the longest of these calls ran, and what communicated meanwhile.
 */
#include "cli/sweep/sweep.h"

#include "data/limits.h"
#include "os/file.h"
#include "study/variance/steps.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct variance_command {
	struct cli_sweep s;
	enum tw_variance_step step;
	unsigned top_k;
	double tolerance;
	const char *input, *output; /* NULL: not given */
};

static const char *const stages[] = { "variance", "timestamps", "overlap" };

/* ---- input and output */

static char *step_name(const struct variance_command *c, enum tw_variance_step step)
{
	struct tw_str name;
	char *kept;

	tw_str_init(&name, trawl_allocator_default());
	tw_variance_step_name(c->top_k, step, &name);
	kept = cli_text("%s", name.failed ? "" : name.ptr);
	tw_str_release(&name);
	return kept;
}

/* The file of the step before: where results go, else in the sweep; NULL: told that it is not there. */
static const char *find_input(const struct variance_command *c)
{
	struct tw_sweep inside = c->s.sweep;
	const char *name = step_name(c, c->step - 1), *first, *path;

	if (c->input)
		return c->input;
	inside.output = inside.directory;
	first = path = cli_sweep_path(&c->s.sweep, name);
	if (access(path, F_OK))
		path = cli_sweep_path(&inside, name);
	if (!access(path, F_OK))
		return path;
	cli_message("%s is missing: run 'trawl sweep %s', or give --input-csv", first,
		    stages[c->step - 1]);
	return NULL;
}

/*
 * --output-csv, else beside the input when that was given and -o was not, else where results go;
 * named after the input.
 */
static const char *find_output(const struct variance_command *c, const char *input)
{
	const char *name = input ? tw_file_name(input) : "";
	const char *from = input ? tw_variance_step_suffixes[c->step - 1] : "";
	size_t len = strlen(name), from_len = strlen(from);

	if (c->output)
		return c->output;
	if (!input)
		return cli_sweep_path(&c->s.sweep, step_name(c, c->step));
	if (len > 4 && !strcmp(name + len - 4, ".csv"))
		len -= 4;
	if (len > from_len && !strncmp(name + len - from_len, from, from_len))
		len -= from_len;
	name = cli_text("%.*s%s.csv", (int)len, name, tw_variance_step_suffixes[c->step]);
	if (c->input && !c->s.common.output)
		return cli_text("%.*s%s", (int)(tw_file_name(input) - input), input, name);
	return cli_sweep_path(&c->s.sweep, name);
}

static int print_step(const struct trawl_table *step, enum tw_format format)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_str out;

	if (format != TW_FORMAT_TABLE)
		return cli_print_table(tw_variance_table(step, a), format, "sweep_variance");
	tw_str_init(&out, a);
	tw_variance_digest(step, cli_width(), &out);
	return cli_print_str(&out);
}

static int write_and_print(const struct variance_command *c, const struct trawl_table *step,
			   const char *path)
{
	size_t rows = trawl_table_rows(step);
	struct trawl_error err;
	int status;

	if (tw_write_csv_exact(step, path, trawl_allocator_default(), &err))
		return cli_fail(&err);
	status = print_step(step, c->s.common.format);
	if (status == CLI_DONE && !c->s.common.quiet)
		cli_message("%zu row%s written to %s", rows, rows == 1 ? "" : "s", path);
	return status;
}

/* ---- the step */

/* What it needs of the traces that it needs. */
static int read_traces(const struct variance_command *c, struct tw_variance_steps *steps,
		       struct tw_sweep *part, struct tw_point_analysis **points)
{
	struct trawl_error err;
	bool *wanted;
	int status = c->step == TW_STEP_VARIANCE ?
			     tw_variance_ranks_without_report(steps, &wanted, &err) :
			     tw_variance_ranks_of_rows(steps, steps->input, &wanted, &err);

	if (!status)
		status = tw_sweep_of_ranks(&c->s.sweep, wanted, &steps->arena, part, &err);
	if (status)
		return cli_fail(&err);
	*points = cli_alloc(part->count, sizeof(**points));
	steps->points = *points;
	steps->point_count = part->count;
	if (!part->count)
		return CLI_DONE;
	/* Collectives are of every rank that is read; the last step needs no more. */
	return cli_sweep_analyse(&c->s, part, true,
				 c->step == TW_STEP_OVERLAP ? 0 : TW_POINT_INSTANCES, *points);
}

static int make_step(const struct variance_command *c, struct tw_variance_steps *steps,
		     const char *input)
{
	struct trawl_error err;
	int status = tw_variance_step(steps, c->step, steps->input, &err);

	cli_tell_notes(&steps->notes, c->s.common.quiet);
	if (status)
		return cli_fail(&err);
	if (c->step == TW_STEP_VARIANCE && !trawl_table_rows(steps->tables[c->step])) {
		cli_message("%s: no report or trace with rows of sheet GEMM", c->s.sweep.directory);
		return CLI_FAILED;
	}
	status = write_and_print(c, steps->tables[c->step], find_output(c, input));
	return status == CLI_DONE && (steps->incomplete || c->s.sweep.incomplete) ? CLI_INCOMPLETE :
										    status;
}

static int read_and_make(const struct variance_command *c, struct tw_variance_steps *steps)
{
	struct tw_point_analysis *points = NULL;
	struct tw_sweep part = { .count = 0 };
	const char *input = NULL;
	struct trawl_error err;
	int status;

	if (c->step != TW_STEP_VARIANCE) {
		input = find_input(c);
		if (!input)
			return CLI_FAILED;
		if (tw_variance_steps_read(steps, input, &c->s.filter, &err))
			return cli_fail(&err);
	}
	status = read_traces(c, steps, &part, &points);
	steps->incomplete = status == CLI_INCOMPLETE;
	if (status == CLI_DONE || status == CLI_INCOMPLETE)
		status = make_step(c, steps, input);
	if (points)
		cli_sweep_release_points(points, part.count);
	return status;
}

/* ---- the commands */

/* A fraction up to 1. */
static int read_fraction(const struct cli_option *option, const char *text, void *value,
			 struct trawl_error *err)
{
	char *end;
	double fraction = strtod(text, &end);

	if (!*text || *end || !(fraction >= 0 && fraction <= 1))
		return cli_bad_value(err, option, text, "not a fraction such as 0.01");
	*(double *)value = fraction;
	return 0;
}

static const struct cli_kind fraction_kind = { .read = read_fraction };

#define AT(member) offsetof(struct variance_command, member)

static const struct cli_option first_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(top_k),
	  "top operators of each report (default 5); also in the file name" },
	{ 0 },
};

static const struct cli_option following_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(top_k), "N of the input file top<N>_... (default 5)" },
	{ "input-csv", 0, &cli_string, "FILE", AT(input),
	  "input file (default: output of the previous stage)" },
	{ 0 },
};

static const struct cli_option output_options[] = {
	{ "output-csv", 0, &cli_string, "FILE", AT(output),
	  "output file (default: in tracelens_analysis, or next to --input-csv)" },
	{ 0 },
};

static const struct cli_option tolerance_options[] = {
	{ "tolerance", 0, &fraction_kind, "FRACTION", AT(tolerance),
	  "max relative difference for within_tol (default " TW_LIMIT_TEXT(
		  TW_LIMIT_SWEEP_TOLERANCE) ")" },
	{ 0 },
};

static const struct cli_options variance_options[] = {
	{ .list = first_options },
	{ .list = output_options },
	CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),
	{ 0 },
};

static const struct cli_options timestamps_options[] = {
	{ .list = following_options }, { .list = output_options },
	{ .list = tolerance_options }, CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),      { 0 },
};

static const struct cli_options overlap_options[] = {
	{ .list = following_options },
	{ .list = output_options },
	CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),
	{ 0 },
};

static int run_step(const struct cli_command *command, int argc, char **argv)
{
	struct variance_command c = { .top_k = TW_VARIANCE_TOP_K,
				      .tolerance = TW_LIMIT_SWEEP_TOLERANCE };
	struct tw_variance_steps steps;
	int status = cli_sweep_begin(&c.s, command, &c, argc, argv);

	if (status >= 0)
		return status;
	while (strcmp(command->name + strlen("sweep "), stages[c.step]))
		c.step++;
	tw_variance_steps_init(&steps, &c.s.sweep, NULL, 0);
	steps.top_k = c.top_k;
	steps.tolerance = c.tolerance;
	status = read_and_make(&c, &steps);
	tw_variance_steps_release(&steps);
	tw_sweep_release(&c.s.sweep);
	return status;
}

const struct cli_command cli_sweep_variance = {
	"sweep variance",
	"DIR",
	"operators with the largest variance of call times",
	"Of the sheet GEMM of each report in tracelens_analysis, or of the trace where there is\n"
	"none, the rows with the largest max - min call time. Writes\n"
	"top5_gemm_kernels_time_variance.csv into tracelens_analysis, and prints a digest.\n\n"
	"  trawl sweep variance experiments/sweep_20251124_222204 --top-k 5\n",
	variance_options,
	run_step,
};

const struct cli_command cli_sweep_timestamps = {
	"sweep timestamps",
	"DIR",
	"timestamps of the shortest and the longest of those calls",
	"Finds both calls in the traces, by the operator, not by the kernel name.\n"
	"Writes top5_gemm_kernels_time_variance_with_timestamps.csv; match_status is the\n"
	"quality of the match with the times of the report.\n\n"
	"  trawl sweep timestamps experiments/sweep_20251124_222204\n",
	timestamps_options,
	run_step,
};

const struct cli_command cli_sweep_overlap = {
	"sweep overlap",
	"DIR",
	"collectives that overlap the longest of those calls",
	"Collectives of the same rank, from its trace, else from the collective report. Writes\n"
	"top5_gemm_kernels_time_variance_with_collective_overlap.csv.\n\n"
	"  trawl sweep overlap experiments/sweep_20251124_222204\n",
	overlap_options,
	run_step,
};
