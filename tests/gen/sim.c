#include "sim.h"

#include <assert.h>
#include <string.h>

/* Chances in 1 of so many launches. */
#define LOST_LAUNCH_ONE_IN 700 /* the kernel is there, its launch is not */
#define LOST_KERNEL_ONE_IN 500
/* And once for sure in each trace. */
#define LOST_LAUNCH_AT 12
#define LOST_KERNEL_AT 5

#define N_LEFTOVERS 24

static struct rec *add_rec(struct recs *r, enum group group, int tm, int where, int64_t ts)
{
	struct rec *rec;

	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 4096;
		r->v = xrealloc(r->v, r->cap, sizeof(*r->v));
	}
	rec = &r->v[r->n++];
	*rec = (struct rec){ .ts = ts,
			     .tm = tm,
			     .group = group,
			     .where = (uint8_t)where,
			     .launcher = NO_REC,
			     .captured_op = -1,
			     .kern = -1 };
	return rec;
}

static struct open_entry *top(struct thread_state *th)
{
	return th->n ? &th->open[th->n - 1] : NULL;
}

static struct open_entry *push(struct thread_state *th, const struct recs *r, const struct cline *c)
{
	const struct open_entry *outer = top(th);
	struct open_entry *e;

	assert(th->n < (int)ARRAY_LEN(th->open));
	e = &th->open[th->n];
	*e = (struct open_entry){ .rec = (uint32_t)r->n - 1,
				  .kind = c->src->kind,
				  .depth = (int16_t)(th->base + c->src->depth),
				  .base = (int16_t)th->base,
				  .gpu_first = INT64_MAX,
				  .py_id = outer ? outer->py_id : 2,
				  .tm_gpu = -1,
				  .at = outer ? outer->at : th->at,
				  .captured_op = -1 };
	if (outer) {
		e->captured = outer->captured;
		e->captured_op = outer->captured_op;
	}
	th->n++;
	if (c->src->flags & F_HOLD) {
		e->hold = true;
		th->base = e->depth + 1;
	}
	return e;
}

static void close_annotation(struct recs *r, const struct open_entry *e)
{
	const struct rec *host = &r->v[e->rec];
	int64_t id = host->id, num = host->num;
	struct rec *g;

	if (e->tm_gpu < 0 || e->gpu_first == INT64_MAX)
		return;
	g = add_rec(r, G_GPU_ANN, e->tm_gpu, ST_MAIN, e->gpu_first);
	g->dur = e->gpu_last - e->gpu_first;
	g->id = id;
	g->num = num;
}

static void close_top(struct sim *s, struct thread_state *th, struct recs *r)
{
	struct open_entry *e = top(th);

	if (e->ghost) {
		if (e->hold)
			th->base = e->base;
		th->n--;
		return;
	}
	if (e->kind == L_GRAPH)
		th->now += 2000 + 90 * s->graph_kernels;
	/* The frames of a module call end one by one, the innermost first. */
	for (int i = e->extra; i >= 0; i--) {
		struct rec *rec = &r->v[e->rec + (uint32_t)i];

		th->now += rng_range(&s->rng, 120, 640);
		rec->dur = th->now - rec->ts;
	}
	if (e->kind == L_ANN)
		close_annotation(r, e);
	if (e->hold)
		th->base = e->base;
	th->n--;
}

static void close_to(struct sim *s, struct thread_state *th, struct recs *r, int depth)
{
	while (th->n && !top(th)->hold && top(th)->depth >= depth)
		close_top(s, th, r);
}

/* ---- GPU side -------------------------------------------------------------- */

static const struct place *place_of(const struct thread_state *th)
{
	return th->n ? &th->open[th->n - 1].at : &th->at;
}

/* The innermost open op, NO_REC if there is none. */
static uint32_t open_op(const struct thread_state *th)
{
	for (int i = th->n - 1; i >= 0; i--)
		if (th->open[i].kind == L_OP && !th->open[i].ghost)
			return th->open[i].rec;
	return NO_REC;
}

static void touch_annotations(struct thread_state *th, int stream, int64_t start, int64_t end)
{
	if (stream != ST_MAIN)
		return;
	for (int i = 0; i < th->n; i++) {
		struct open_entry *e = &th->open[i];

		if (e->ghost || e->tm_gpu < 0)
			continue;
		if (start < e->gpu_first)
			e->gpu_first = start;
		if (end > e->gpu_last)
			e->gpu_last = end;
	}
}

/*
 * Puts a GPU event on its stream, not before 'earliest'. Events that queue
 * follow each other closely, at times without any gap.
 */
static struct rec *add_gpu(struct sim *s, const struct model *m, struct recs *r, int kern,
			   int64_t mean_ns, bool linked, int64_t earliest)
{
	const struct kern *k = &m->kerns[kern];
	int stream = k->def->stream;
	int64_t gap = rng_range(&s->rng, -200, 1700), start = s->stream_free[stream];
	struct rec *g;

	start += gap < 0 ? 0 : gap;
	if (start < earliest)
		start = earliest;
	g = add_rec(r, G_GPU, linked ? k->tm_linked : k->tm_bare, stream, start);
	g->kern = (int16_t)kern;
	g->dur = rng_jitter(&s->rng, mean_ns);
	if (k->cls == CLS_COMPUTE)
		g->dur = g->dur * s->slow_ppm / 1000000;
	s->stream_free[stream] = start + g->dur;
	return g;
}

static void add_leftovers(struct sim *s, const struct model *m, struct recs *r)
{
	int64_t at = s->th[TH_MAIN].now + 1500;

	for (int i = 0; i < N_LEFTOVERS; i++) {
		int kern = m->leftovers[rng_range(&s->rng, 0, ARRAY_LEN(m->leftovers) - 1)];
		struct rec *g = add_gpu(s, m, r, kern, m->kerns[kern].mean_ns, false, at);

		g->corr = ++s->corr;
		g->flags = R_UNLINKED;
	}
	/* Their launches, and whatever else was called then, were not recorded. */
	s->corr += 100;
	s->leftovers = false;
}

/* ---- lines ----------------------------------------------------------------- */

static enum group group_of(int thread)
{
	return thread == TH_BWD ? G_BWD : G_MAIN;
}

static void set_sequence(struct sim *s, struct rec *rec, int thread, int flags)
{
	struct thread_state *th = &s->th[thread];

	if (s->flags & SEG_NO_GRAD)
		return;
	if (flags & F_SEQ)
		rec->aux = th->seq;
	if (flags & F_GRAD && s->flags & SEG_AGAIN) {
		th->seq++;
	} else if (flags & F_GRAD) {
		assert(s->n_nodes < (int)ARRAY_LEN(s->nodes));
		rec->flow = ++s->flow;
		rec->flags |= R_FWD;
		s->nodes[s->n_nodes++] = (struct node){ .seq = th->seq++,
							.flow = rec->flow,
							.thread = thread + 1,
							.at = *place_of(th) };
	}
	if (flags & F_BWD) {
		if (!(flags & F_NODE)) {
			assert(s->n_nodes);
			s->node = s->nodes[--s->n_nodes];
			rec->flags |= s->node.thread != thread + 1 ? R_PAIR : 0;
		} else {
			rec->flow = s->node.flow;
			rec->flags |= R_BWD;
		}
		rec->aux = s->node.seq;
		rec->num = s->node.thread;
	}
}

/* Work of the backward pass is its forward op's; where there is none, that of what is around it. */
static void set_pass(const struct sim *s, struct open_entry *e, int flags)
{
	if (flags & F_BWD)
		e->at = s->node.at;
	if (flags & (F_BWD | F_UNDO))
		e->at.pass = PASS_BACKWARD;
	if (flags & F_AGAIN)
		e->at.pass = PASS_RECOMPUTE;
}

static void run_op(struct sim *s, struct recs *r, int thread, const struct cline *c)
{
	struct thread_state *th = &s->th[thread];
	bool bare = s->flags & SEG_NO_GRAD && c->src->flags & F_SEQ;
	struct rec *rec;

	th->now += rng_range(&s->rng, 250, 1300);
	rec = add_rec(r, group_of(thread), bare ? c->tm_bare : c->tm, thread, th->now);
	rec->id = ++s->ext;
	rec->line = c;
	set_sequence(s, rec, thread, c->src->flags);
	if (c->src->flags & F_COMM)
		rec->aux = s->coll_seq;
	set_pass(s, push(th, r, c), c->src->flags);
	if (c->tm_aux >= 0) {
		struct rec *mem = add_rec(r, G_MEMORY, c->tm_aux, thread, th->now + 90);

		s->address += 512 * rng_range(&s->rng, 1, 40960);
		mem->aux = 0x7f0000000000 + s->address % 0x1000000000;
	}
}

static void run_annotation(struct sim *s, struct recs *r, int thread, const struct cline *c)
{
	struct thread_state *th = &s->th[thread];
	struct rec *rec;

	th->now += rng_range(&s->rng, 200, 900);
	rec = add_rec(r, group_of(thread), c->tm, thread, th->now);
	rec->id = ++s->ext;
	rec->num = s->step;
	if (c->src->flags & F_COMM)
		s->pending_ann = rec->id;
	push(th, r, c)->tm_gpu = c->tm_aux;
}

/* A call of a module, or another frame. */
static void set_frame(struct place *at, struct who *who, const struct line *l, int layer)
{
	if (l->flags & F_AGAIN)
		at->pass = PASS_RECOMPUTE;
	if (l->flags & F_PROGRAM)
		at->site = who_site(who, l->name);
	if (l->flags & F_MODULE) {
		at->path = who_path(who, at->path, l->name, layer * l->mul + l->off);
		at->site = who_site(who, FORWARD_FRAME);
	}
}

/*
 * A call of an nn.Module is four frames, the other python lines one. The clock
 * runs the same with and without --stacks, only the records are left out.
 */
static void run_python(struct sim *s, const struct model *m, struct recs *r, int thread, int layer,
		       const struct cline *c)
{
	static const int frames[] = { -1, TM_PY_WRAPPED, TM_PY_CALL_IMPL, TM_PY_FORWARD };
	struct thread_state *th = &s->th[thread];
	int n = c->src->flags & F_MODULE ? (int)ARRAY_LEN(frames) : 1;
	int64_t parent = th->n ? top(th)->py_id : 2;
	struct open_entry *e;

	for (int i = 0; i < n; i++) {
		struct rec *rec;
		int tm = i ? m->common[frames[i]] : c->tm;

		th->now += rng_range(&s->rng, 200, 1100);
		rec = add_rec(r, G_PYTHON, tm, thread, th->now);
		rec->aux = parent;
		rec->id = parent = ++s->py_id;
		rec->num = layer * c->src->mul + c->src->off;
	}
	e = push(th, r, c);
	e->rec -= (uint32_t)n - 1;
	e->extra = n - 1;
	e->py_id = parent;
	set_frame(&e->at, &r->who, c->src, layer);
	r->v[e->rec].at = e->at;
	if (n > 1)
		r->v[e->rec].flags = R_MODULE;
}

/* Of a graph only its launch is recorded: what stands around its kernels where they are captured. */
static void run_ghost(struct thread_state *th, struct recs *r, int layer, const struct cline *c)
{
	struct open_entry *e = push(th, r, c);

	e->ghost = true;
	if (c->src->kind == L_OP)
		e->captured_op = (int16_t)c->index;
	else
		set_frame(&e->captured, &r->who, c->src, layer);
}

static struct rec *add_call(struct sim *s, struct recs *r, int thread, int tm, int64_t dur)
{
	struct thread_state *th = &s->th[thread];
	uint32_t op = open_op(th);
	struct rec *rec;

	th->now += rng_range(&s->rng, 150, 700);
	rec = add_rec(r, G_CALL, tm, thread, th->now);
	rec->id = op == NO_REC ? 0 : r->v[op].id;
	rec->corr = ++s->corr;
	rec->dur = dur;
	th->now += dur;
	return rec;
}

static void run_call(struct sim *s, const struct model *m, struct recs *r, int thread, int api)
{
	struct thread_state *th = &s->th[thread];
	int64_t dur = rng_jitter(&s->rng, api_defs[api].dur_ns), until = 0;
	bool in_op = open_op(th) != NO_REC;

	if (api == API_BEGIN_CAPTURE || api == API_END_CAPTURE)
		s->capturing = api == API_BEGIN_CAPTURE;
	if (api == API_STREAM_SYNC)
		until = s->stream_free[ST_MAIN];
	for (int i = 0; api == API_DEVICE_SYNC && i < N_STREAMS; i++)
		if (s->stream_free[i] > until)
			until = s->stream_free[i];
	if (until > th->now)
		dur += until - th->now;
	add_call(s, r, thread, in_op ? m->tm_call[api] : m->tm_call_bare[api], dur);
}

/* The GPU event stands before its launch, as the profiler's buffers have them. */
static void run_kernel(struct sim *s, const struct model *m, struct recs *r, int thread,
		       const struct cline *c)
{
	const struct kern *k = &m->kerns[c->index];
	struct thread_state *th = &s->th[thread];
	uint32_t op = open_op(th);
	int64_t dur = rng_jitter(&s->rng, api_defs[k->def->api].dur_ns);
	int64_t latency = rng_range(&s->rng, 2200, 8800);
	bool no_launch = rng_range(&s->rng, 1, LOST_LAUNCH_ONE_IN) == 1;
	bool no_kernel = rng_range(&s->rng, 1, LOST_KERNEL_ONE_IN) == 1;
	uint32_t gpu = NO_REC;

	s->launches++;
	no_launch = (no_launch || s->launches == LOST_LAUNCH_AT) && !m->capture;
	no_kernel = (no_kernel || s->launches == LOST_KERNEL_AT) && !no_launch && !m->capture;
	if (!no_kernel) {
		struct rec *g = add_gpu(s, m, r, c->index, c->mean_ns, op != NO_REC && !no_launch,
					th->now + 700 + latency);

		gpu = (uint32_t)r->n - 1;
		g->id = op == NO_REC ? 0 : r->v[op].id;
		g->corr = s->corr + 1;
		g->at = *place_of(th);
		touch_annotations(th, g->where, g->ts, g->ts + g->dur);
		if (no_launch) {
			g->flags = R_UNLINKED;
			s->corr++;
			th->now += dur;
			return;
		}
	}
	add_call(s, r, thread, op == NO_REC ? k->tm_launch_bare : k->tm_launch, dur)->flags =
		R_LAUNCH | (no_kernel ? R_NO_KERNEL : 0);
	if (gpu != NO_REC)
		r->v[gpu].launcher = op == NO_REC ? (uint32_t)r->n - 1 : op;
}

/* A kernel of a graph, in the run that captures it: eagerly at first. */
static void run_captured(struct sim *s, const struct model *m, struct recs *r, int thread,
			 const struct cline *c)
{
	const struct kern *k = &m->kerns[c->index];
	int tm = open_op(&s->th[thread]) == NO_REC ? k->tm_launch_bare : k->tm_launch;

	if (s->capturing)
		add_call(s, r, thread, tm, rng_jitter(&s->rng, api_defs[k->def->api].dur_ns));
	else
		run_kernel(s, m, r, thread, c);
}

static void run_graph(struct sim *s, const struct model *m, struct recs *r, int thread,
		      const struct cline *c)
{
	struct thread_state *th = &s->th[thread];

	add_call(s, r, thread, m->tm_call_bare[API_GRAPH],
		 rng_jitter(&s->rng, api_defs[API_GRAPH].dur_ns))
		->flags = R_LAUNCH;
	s->graph_ready = th->now + rng_range(&s->rng, 3000, 9000);
	s->graph_kernels = 0;
	s->graph_at = *place_of(th);
	push(th, r, c)->captured = (struct place){ .site = who_site(&r->who, CAPTURE_FRAME) };
}

static uint32_t open_graph(const struct thread_state *th)
{
	for (int i = th->n - 1; i >= 0; i--)
		if (th->open[i].kind == L_GRAPH)
			return th->open[i].rec;
	return NO_REC;
}

static void set_graph(struct sim *s, const struct thread_state *th, const struct recs *r,
		      struct rec *g, uint32_t graph)
{
	g->corr = r->v[graph].corr;
	g->launcher = graph;
	g->at = s->graph_at;
	g->captured = th->open[th->n - 1].captured;
	g->captured_op = th->open[th->n - 1].captured_op;
	s->graph_kernels++;
}

static void run_graph_kernel(struct sim *s, const struct model *m, struct recs *r, int thread,
			     const struct cline *c)
{
	struct thread_state *th = &s->th[thread];
	uint32_t graph = open_graph(th);
	struct rec *g = add_gpu(s, m, r, c->index, c->mean_ns, false, s->graph_ready);

	assert(graph != NO_REC);
	set_graph(s, th, r, g, graph);
	touch_annotations(th, g->where, g->ts, g->ts + g->dur);
}

/* The kernel starts when the stream, the launch and the gradients are ready. */
static void run_collective(struct sim *s, const struct model *m, struct recs *r, int thread,
			   const struct cline *c)
{
	const struct coll *coll = &m->colls[c->index];
	const struct kern *k = &m->kerns[coll->kern];
	struct thread_state *th = &s->th[thread];
	uint32_t graph = open_graph(th), op = open_op(th);
	int64_t earliest = s->stream_free[ST_MAIN], launch = th->now + 4000;
	struct rec *g;

	if (graph != NO_REC)
		launch = s->graph_ready;
	if (launch > earliest)
		earliest = launch;
	g = add_gpu(s, m, r, coll->kern, 0, true, earliest);
	g->tm = coll->tm_kernel;
	g->aux = s->coll_seq++;
	s->pending = (uint32_t)r->n - 1;
	if (graph != NO_REC) {
		set_graph(s, th, r, g, graph);
		return;
	}
	g->at = *place_of(th);
	g->id = r->v[op].id;
	g->corr = s->corr + 1;
	g->launcher = op;
	add_call(s, r, thread, k->tm_launch, rng_jitter(&s->rng, api_defs[k->def->api].dur_ns))
		->flags = R_LAUNCH;
}

static void run_close(struct sim *s, struct thread_state *th, struct recs *r)
{
	close_to(s, th, r, th->base);
	assert(th->n && top(th)->hold);
	close_top(s, th, r);
}

static void run_line(struct sim *s, const struct model *m, struct recs *r,
		     const struct segment *seg, const struct cline *c)
{
	const struct line *l = c->src;
	struct thread_state *th = &s->th[seg->thread];

	if (l->kind != L_WAIT && l->kind != L_IDLE && l->kind != L_CLOSE)
		close_to(s, th, r, th->base + l->depth);
	if ((l->kind == L_OP || l->kind == L_PY) && open_graph(th) != NO_REC) {
		run_ghost(th, r, seg->layer, c);
		return;
	}
	switch (l->kind) {
	case L_OP:
		run_op(s, r, seg->thread, c);
		break;
	case L_KERN:
		run_kernel(s, m, r, seg->thread, c);
		break;
	case L_CALL:
		run_call(s, m, r, seg->thread, c->index);
		break;
	case L_PY:
		run_python(s, m, r, seg->thread, seg->layer, c);
		break;
	case L_ANN:
		run_annotation(s, r, seg->thread, c);
		break;
	case L_GRAPH:
		run_graph(s, m, r, seg->thread, c);
		break;
	case L_GKERN:
		if (m->capture)
			run_captured(s, m, r, seg->thread, c);
		else
			run_graph_kernel(s, m, r, seg->thread, c);
		break;
	case L_COLL:
		if (m->capture)
			run_captured(s, m, r, seg->thread, c);
		else
			run_collective(s, m, r, seg->thread, c);
		break;
	case L_WAIT:
		if (s->stream_free[l->off] > s->stream_free[l->mul])
			s->stream_free[l->mul] = s->stream_free[l->off];
		break;
	case L_IDLE:
		th->now += rng_jitter(&s->rng, 1000 * (int64_t)l->off);
		break;
	case L_CLOSE:
		run_close(s, th, r);
		break;
	}
}

void sim_segment(struct sim *s, const struct model *m, struct recs *r, const struct segment *seg)
{
	const struct script *script = &m->scripts[seg->script];
	struct thread_state *th = &s->th[seg->thread];

	if (seg->flags & SEG_ENTER_BWD)
		th->now = s->th[TH_MAIN].now + rng_range(&s->rng, 9000, 21000);
	if (seg->flags & SEG_LEAVE_BWD)
		th->now = s->th[TH_BWD].now + rng_range(&s->rng, 6000, 15000);
	s->pending = NO_REC;
	s->flags = seg->flags;
	if (seg->flags & SEG_CHECKPOINT)
		s->around = *place_of(th);
	if (seg->flags & SEG_AGAIN)
		top(th)->at.path = s->around.path;
	for (size_t i = 0; i < script->n; i++)
		run_line(s, m, r, seg, &script->lines[i]);
	close_to(s, th, r, th->base);
}

/* ---- steps ----------------------------------------------------------------- */

void sim_init(struct sim *s, struct who *who, uint64_t seed, int rank, int64_t start_ns,
	      int64_t first_step)
{
	memset(s, 0, sizeof(*s));
	s->rng.state = seed * 0x9e3779b97f4a7c15u + (uint64_t)rank * 0xd1342543de82ef95u;
	s->th[TH_MAIN].now = start_ns + rng_range(&s->rng, 100000, 130000);
	s->ext = 2048;
	s->corr = rng_range(&s->rng, 4000, 60000);
	s->py_id = 2; /* the frames around all steps are 1 and 2 */
	s->th[TH_MAIN].seq = rng_range(&s->rng, 0, 2000);
	s->th[TH_MAIN].at.site = who_site(who, OUTER_FRAME);
	s->step = first_step;
	s->slow_ppm = 1000000;
	s->leftovers = true;
}

void sim_step_begin(struct sim *s, const struct model *m, struct recs *r)
{
	r->n = 0;
	if (s->leftovers && !m->capture)
		add_leftovers(s, m, r);
}

void sim_step_end(struct sim *s)
{
	assert(!s->th[TH_MAIN].n && !s->th[TH_BWD].n && !s->n_nodes);
	s->step++;
}

int64_t sim_coll_start(const struct sim *s, const struct recs *r)
{
	assert(s->pending != NO_REC);
	return r->v[s->pending].ts;
}

void sim_coll_end(struct sim *s, struct recs *r, const struct coll *c, int64_t end_ns)
{
	struct rec *g = &r->v[s->pending];
	int stream = g->where;

	g->dur = end_ns - g->ts;
	s->stream_free[stream] = end_ns;
	if (c->def->main_waits && s->stream_free[ST_MAIN] < end_ns)
		s->stream_free[ST_MAIN] = end_ns;
	if (c->tm_gpu_annotation >= 0) {
		int64_t ts = g->ts, dur = g->dur;
		struct rec *ann = add_rec(r, G_GPU_ANN, c->tm_gpu_annotation, stream, ts);

		ann->dur = dur;
		ann->id = s->pending_ann;
	}
}
