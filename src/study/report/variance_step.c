/* One step of variance from file to file: what it reads, of which traces, and where it writes. */
#include "base/alloc.h"
#include "os/file.h"
#include "render/render.h"
#include "study/report/results.h"

#include <string.h>
#include <unistd.h>

static const char *const stages[TW_VARIANCE_STEPS] = { "variance", "timestamps", "overlap" };

/* The file of a step in a sweep, or in another directory of results. */
static void step_path(const struct trawl_sweep_results *r, const struct trawl_sweep *sweep,
		      enum trawl_variance_step step, struct tw_str *path)
{
	struct tw_str name;

	tw_str_init(&name, trawl_allocator_default());
	tw_variance_step_name(r->options.top_k, step, &name);
	tw_str_clear(path);
	tw_sweep_analysis_path(sweep, name.failed ? "" : name.ptr, path);
	path->failed |= name.failed;
	tw_str_release(&name);
}

/* The file of the step before: where results go, else in the sweep. */
static int find_input(const struct trawl_sweep_results *r, enum trawl_variance_step step,
		      struct tw_str *path, struct trawl_error *err)
{
	struct trawl_sweep inside = *r->sweep;

	inside.output = inside.directory;
	step_path(r, r->sweep, step - 1, path);
	if (!path->failed && access(path->ptr, F_OK))
		step_path(r, &inside, step - 1, path);
	if (path->failed)
		return tw_no_memory(err);
	if (!access(path->ptr, F_OK))
		return 0;
	step_path(r, r->sweep, step - 1, path);
	return trawl_error_set(err, TRAWL_ENODATA,
			       "%s is missing: run 'trawl sweep %s', or give --input-csv",
			       path->failed ? "" : path->ptr, stages[step - 1]);
}

/*
 * Beside the input when that was given and no other directory is, else where results go; named
 * after the input.
 */
static void find_output(const struct trawl_sweep_results *r, enum trawl_variance_step step,
			const char *input, bool given, struct tw_str *path)
{
	const char *name = input ? tw_file_name(input) : "";
	const char *from = input ? tw_variance_step_suffixes[step - 1] : "";
	size_t len = strlen(name), from_len = strlen(from);
	struct tw_str own;

	if (!input) {
		step_path(r, r->sweep, step, path);
		return;
	}
	if (len > 4 && !strcmp(name + len - 4, ".csv"))
		len -= 4;
	if (len > from_len && !strncmp(name + len - from_len, from, from_len))
		len -= from_len;
	tw_str_init(&own, trawl_allocator_default());
	tw_str_addf(&own, "%.*s%s.csv", (int)len, name, tw_variance_step_suffixes[step]);
	if (given && !r->options.output)
		tw_str_addf(path, "%.*s%s", (int)(name - input), input, own.failed ? "" : own.ptr);
	else
		tw_sweep_analysis_path(r->sweep, own.failed ? "" : own.ptr, path);
	path->failed |= own.failed;
	tw_str_release(&own);
}

/* What the step needs of the traces that it needs. */
static int read_traces(struct trawl_sweep_results *r, enum trawl_variance_step step,
		       struct trawl_error *err)
{
	struct tw_variance_steps *steps = &r->steps;
	bool *wanted;
	int status = step == TRAWL_STEP_VARIANCE ?
			     tw_variance_ranks_without_report(steps, &wanted, err) :
			     tw_variance_ranks_of_rows(steps, steps->input, &wanted, err);

	if (!status)
		status = tw_sweep_of_ranks(r->sweep, wanted, &steps->arena, &r->part, err);
	/* Collectives are of every rank that is read; the last step needs no more. */
	if (!status)
		status = tw_results_read(r, step == TRAWL_STEP_OVERLAP ? 0 : TRAWL_SWEEP_VARIANCE,
					 err);
	steps->points = r->points;
	steps->point_count = r->point_count;
	return status;
}

static int make_step(struct trawl_sweep_results *r, enum trawl_variance_step step,
		     struct trawl_error *err)
{
	struct tw_variance_steps *steps = &r->steps;
	int status = tw_variance_step(steps, step, steps->input, err);

	tw_results_tell(r, &steps->notes, false);
	r->incomplete |= steps->incomplete;
	if (status)
		return status;
	if (step == TRAWL_STEP_VARIANCE && !trawl_table_rows(steps->tables[step]))
		return trawl_error_set(err, TRAWL_ENODATA,
				       "%s: no report or trace with rows of sheet GEMM",
				       r->sweep->directory);
	r->step = steps->tables[step];
	return 0;
}

static int run_step(struct trawl_sweep_results *r, enum trawl_variance_step step, const char *input,
		    const char *output, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const bool given = input;
	struct tw_str found;
	int status = 0;

	tw_variance_steps_init(&r->steps, r->sweep, NULL, 0);
	r->has_steps = true;
	r->steps.top_k = r->options.top_k;
	r->steps.tolerance = r->options.tolerance;
	tw_str_init(&found, a);
	if (step == TRAWL_STEP_VARIANCE)
		input = NULL;
	else if (!given)
		status = find_input(r, step, &found, err);
	if (step != TRAWL_STEP_VARIANCE && !status) {
		input = given ? input : found.ptr;
		status = tw_variance_steps_read(&r->steps, input, &r->options.filter, err);
	}
	if (!status)
		status = read_traces(r, step, err);
	if (!status)
		status = make_step(r, step, err);
	if (!status && output)
		tw_str_add_cstr(&r->path, output);
	else if (!status)
		find_output(r, step, input, given, &r->path);
	if (!status && r->path.failed)
		status = tw_no_memory(err);
	if (!status)
		status = tw_write_csv_exact(r->step, r->path.ptr, a, err);
	if (!status)
		status = tw_results_add(r, tw_variance_table(r->step, a), err);
	tw_results_count(r, TRAWL_SWEEP_VARIANCE, !status);
	tw_str_release(&found);
	return status;
}

int trawl_sweep_variance(struct trawl_sweep_results **out, const struct trawl_sweep *sweep,
			 enum trawl_variance_step step, const char *input, const char *output,
			 struct trawl_error *err)
{
	struct trawl_error own;
	struct trawl_sweep_results *r;

	err = err ? err : &own;
	r = tw_results_new(sweep, NULL, err);
	*out = NULL;
	return r ? tw_results_give(r, run_step(r, step, input, output, err), out) : TRAWL_ENOMEM;
}
