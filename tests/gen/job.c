#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim.h"
#include "trace.h"
#include "truth.h"

#define FIRST_STEP 12
#define WAIT_FRAC 3 /* other ranks that are not simulated come up to xfer / 3 late */

/* Not a round number, so that sums of times do not happen to be right. */
#define START_NS INT64_C(3712845219417683)

struct coll_facts {
	int64_t n, wait_ns, n_last;
};

struct rank {
	struct sim sim, saved;
	struct recs recs;
	struct trace trace;
	struct truth truth;
	struct coll_facts coll;
	char *path, *truth_path;
	int64_t skew_ns;
	double slow;
};

struct job {
	const struct model *m;
	const struct job_options *opt;
	struct rank *ranks;
	struct rng rng, saved_rng; /* of what the ranks have in common */
};

/* Reached by the ranks from first to last; ends at the same moment on each. */
static void settle_collective(struct job *j, const struct coll *c, int first, int last, bool count)
{
	int64_t latest = INT64_MIN, end;

	for (int i = first; i <= last; i++) {
		int64_t start = sim_coll_start(&j->ranks[i].sim, &j->ranks[i].recs);

		if (start > latest)
			latest = start;
	}
	for (int i = first; count && i <= last; i++) {
		struct coll_facts *f = &j->ranks[i].coll;
		int64_t start = sim_coll_start(&j->ranks[i].sim, &j->ranks[i].recs);

		f->n++;
		f->wait_ns += latest - start;
		f->n_last += start == latest;
	}
	end = latest + rng_jitter(&j->rng, c->xfer_ns);
	if (j->opt->ranks < j->m->world)
		end += rng_range(&j->rng, 0, c->xfer_ns / WAIT_FRAC);
	for (int i = first; i <= last; i++)
		sim_coll_end(&j->ranks[i].sim, &j->ranks[i].recs, c, end);
}

/* One step of every rank into their records. */
static void simulate_step(struct job *j, bool count)
{
	const struct model *m = j->m;

	for (int i = 0; i < j->opt->ranks; i++)
		sim_step_begin(&j->ranks[i].sim, m, &j->ranks[i].recs);
	for (size_t k = 0; k < m->n_plan; k++) {
		const struct segment *seg = &m->plan[k];
		int coll = m->scripts[seg->script].coll;
		int first = seg->first,
		    last = seg->last < j->opt->ranks ? seg->last : j->opt->ranks - 1;

		for (int i = first; i <= last; i++)
			sim_segment(&j->ranks[i].sim, m, &j->ranks[i].recs, seg);
		if (seg->flags & SEG_ANSWERS)
			first--;
		if (coll >= 0 && !(seg->flags & SEG_WAITS))
			settle_collective(j, &m->colls[coll], first, last, count);
	}
	for (int i = 0; i < j->opt->ranks; i++)
		sim_step_end(&j->ranks[i].sim);
}

/* The host runs ahead: the GPU is that much behind. */
static void delay_gpu(struct recs *r, int64_t ns)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].group == G_GPU || r->v[i].group == G_GPU_ANN)
			r->v[i].ts += ns;
}

static void run_pass(struct job *j, int64_t steps, unsigned int mask)
{
	bool facts = mask & 1u << G_GPU;

	for (int i = 0; i < j->opt->ranks; i++)
		j->ranks[i].sim = j->ranks[i].saved;
	j->rng = j->saved_rng;
	for (int64_t s = 0; s < steps; s++) {
		simulate_step(j, facts);
		for (int i = 0; i < j->opt->ranks; i++) {
			struct rank *r = &j->ranks[i];

			delay_gpu(&r->recs, 1000 * j->opt->run_ahead_us);
			trace_records(&r->trace, j->m, &r->recs, mask);
			if (facts && j->opt->truth)
				truth_step(&r->truth, j->m, &r->recs);
		}
	}
}

/* CUPTI's buffers mix kernels and their launches, AMD's tracer lists calls first. */
static void run_stretch(struct job *j, int64_t steps)
{
	for (int i = 0; i < j->opt->ranks; i++)
		j->ranks[i].saved = j->ranks[i].sim;
	j->saved_rng = j->rng;
	run_pass(j, steps, 1u << G_BWD);
	run_pass(j, steps, 1u << G_MAIN);
	if (j->m->kind == KIND_INFER)
		run_pass(j, steps, 1u << G_MEMORY);
	if (j->m->stacks)
		run_pass(j, steps, 1u << G_PYTHON);
	if (j->m->vendor == VENDOR_AMD) {
		run_pass(j, steps, 1u << G_CALL);
		run_pass(j, steps, 1u << G_GPU);
	} else {
		run_pass(j, steps, 1u << G_CALL | 1u << G_GPU);
	}
	run_pass(j, steps, 1u << G_GPU_ANN);
}

/* ---- size ------------------------------------------------------------------- */

/* Bytes of a step of the first rank, from writing one to nowhere. */
static int64_t step_bytes(struct job *j)
{
	unsigned int mask = (1u << N_GROUPS) - 1;
	struct trace t = { .pid = j->ranks[0].trace.pid, .ts_offset = j->ranks[0].trace.ts_offset };
	struct rng rng = j->rng;
	int64_t before;

	if (!j->m->stacks)
		mask &= ~(1u << G_PYTHON);
	trace_begin(&t, j->m, NULL, TRACE_OUT_CAP);
	before = (int64_t)out_bytes(&t.out);
	for (int i = 0; i < j->opt->ranks; i++)
		j->ranks[i].saved = j->ranks[i].sim;
	simulate_step(j, false);
	trace_records(&t, j->m, &j->ranks[0].recs, mask);
	before = (int64_t)out_bytes(&t.out) - before;
	out_close(&t.out);
	for (int i = 0; i < j->opt->ranks; i++)
		j->ranks[i].sim = j->ranks[i].saved;
	j->rng = rng;
	return before;
}

static bool all_large(const struct job *j)
{
	for (int i = 0; i < j->opt->ranks; i++)
		if ((int64_t)out_bytes(&j->ranks[i].trace.out) < j->opt->size)
			return false;
	return true;
}

static void run_to_size(struct job *j)
{
	int64_t bytes = step_bytes(j);
	int64_t head = (int64_t)out_bytes(&j->ranks[0].trace.out);
	int64_t steps = (j->opt->size - head) / bytes;

	run_stretch(j, steps > 1 ? steps : 1);
	while (!all_large(j))
		run_stretch(j, 1);
}

/* ---- ranks -------------------------------------------------------------------- */

static char *rank_path(const char *dir, int rank, const char *suffix)
{
	struct sb b = { 0 };

	sb_putf(&b, "%s/rank%d%s", dir, rank, suffix);
	return b.s;
}

static char *copy_path(const char *path)
{
	struct sb b = { 0 };

	sb_put(&b, path);
	return b.s;
}

static void make_dir(const char *path)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return;
	if (errno != EEXIST)
		die(1, "cannot create directory '%s': %s", path, strerror(errno));
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		die(1, "cannot create directory '%s': there is a file of that name", path);
}

static void init_rank(struct job *j, int i)
{
	const struct job_options *opt = j->opt;
	struct rank *r = &j->ranks[i];
	struct rng ids = { opt->seed + 0x51ed270b * (uint64_t)(i + 1) };
	bool many = opt->ranks > 1;

	sim_init(&r->sim, &r->recs.who, opt->seed, i, START_NS, FIRST_STEP);
	if (opt->equal_ids)
		r->sim.corr = 4000;
	r->slow = 1;
	for (int k = 0; k < opt->n_stragglers; k++)
		if (opt->stragglers[k].rank == i)
			r->slow = opt->stragglers[k].factor;
	r->sim.slow_ppm = (int)(r->slow * 1000000 + 0.5);
	if (opt->clock_skew_us)
		r->skew_ns =
			rng_range(&j->rng, -1000 * opt->clock_skew_us, 1000 * opt->clock_skew_us);
	r->trace.rank = i;
	r->trace.pid = 2417 + 131 * i;
	r->trace.device = i % 8;
	r->trace.distributed = j->m->world > 1;
	r->trace.begin = START_NS;
	r->trace.trace_id = rng_next(&ids);
	r->trace.ts_offset = r->skew_ns + (j->m->epoch ? BASE_TIME_NS : 0);
	truth_init(&r->truth, j->m);
	r->path = many ? rank_path(opt->out, i, opt->suffix) : copy_path(opt->out);
	if (opt->truth)
		r->truth_path = many ? rank_path(opt->truth, i, ".json") : copy_path(opt->truth);
}

static void write_truth(struct job *j, struct rank *r)
{
	struct truth_file f = {
		.n_events = r->trace.n_events,
		.first_step = FIRST_STEP,
		.clock_offset_ns = r->skew_ns,
		.seed = j->opt->seed,
		.rank = r->trace.rank,
		.device = r->trace.device,
	};

	truth_write(&r->truth, j->m, &r->recs.who, &f, r->truth_path);
}

static void write_job_truth(struct job *j)
{
	struct sb b = { 0 }, path = { 0 };
	const char *sep = "";
	struct out o;

	sb_putf(&b, "{\n  \"schema\": \"tracegen-job-1\",\n  \"ranks\": %d,\n  \"seed\": %" PRIu64,
		j->opt->ranks, j->opt->seed);
	sb_put(&b, ",\n  \"stragglers\": [");
	for (int i = 0; i < j->opt->n_stragglers; i++)
		sb_putf(&b, "%s{\"rank\": %d, \"factor\": %.6g}", i ? ", " : "",
			j->opt->stragglers[i].rank, j->opt->stragglers[i].factor);
	sb_put(&b, "],\n  \"clock_offsets_ns\": [");
	for (int i = 0; i < j->opt->ranks; i++)
		sb_putf(&b, "%s%" PRId64, i ? ", " : "", j->ranks[i].skew_ns);
	sb_put(&b, "],\n  \"collectives\": [");
	for (int i = 0; i < j->opt->ranks; i++) {
		const struct coll_facts *f = &j->ranks[i].coll;

		sb_putf(&b,
			"%s\n    {\"rank\": %d, \"n\": %" PRId64 ", \"wait_ns\": %" PRId64
			", \"n_last\": %" PRId64 "}",
			sep, i, f->n, f->wait_ns, f->n_last);
		sep = ",";
	}
	sb_put(&b, "\n  ]\n}\n");
	sb_putf(&path, "%s/job.json", j->opt->truth);
	out_open(&o, path.s, (size_t)1 << 20);
	out_put(&o, b.s);
	out_close(&o);
	sb_free(&b);
	sb_free(&path);
}

static void free_ranks(struct job *j)
{
	for (int i = 0; i < j->opt->ranks; i++) {
		struct rank *r = &j->ranks[i];

		free(r->recs.v);
		who_free(&r->recs.who);
		free(r->path);
		free(r->truth_path);
		truth_free(&r->truth);
	}
	free(j->ranks);
}

void job_run(const struct model *m, const struct job_options *opt)
{
	struct job j = { .m = m, .opt = opt, .rng.state = opt->seed ^ 0x6a09e667f3bcc908u };
	/* The largest event must fit; many files share less. */
	size_t cap = opt->ranks > 16 ? TRACE_OUT_CAP / 4 : TRACE_OUT_CAP;

	j.ranks = xcalloc((size_t)opt->ranks, sizeof(*j.ranks));
	if (opt->ranks > 1) {
		make_dir(opt->out);
		if (opt->truth)
			make_dir(opt->truth);
	}
	for (int i = 0; i < opt->ranks; i++) {
		init_rank(&j, i);
		trace_begin(&j.ranks[i].trace, m, j.ranks[i].path, cap);
	}
	if (opt->size)
		run_to_size(&j);
	else
		run_stretch(&j, opt->steps);
	for (int i = 0; i < opt->ranks; i++) {
		struct rank *r = &j.ranks[i];

		r->trace.end = r->sim.th[TH_MAIN].now + 48211;
		trace_end(&r->trace, m);
		if (opt->truth)
			write_truth(&j, r);
	}
	if (opt->truth && opt->ranks > 1)
		write_job_truth(&j);
	free_ranks(&j);
}
