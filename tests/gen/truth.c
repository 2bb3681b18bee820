#include "truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

static void timeline_init(struct timeline *tl)
{
	*tl = (struct timeline){ .first = INT64_MAX, .last = INT64_MIN };
	for (int i = 0; i < N_UNIONS; i++)
		tl->u[i].end = INT64_MIN;
}

void truth_init(struct truth *t, const struct model *m)
{
	memset(t, 0, sizeof(*t));
	timeline_init(&t->all);
	timeline_init(&t->linked);
	t->unlinked.end = INT64_MIN;
	t->last_start = INT64_MIN;
	for (int i = 0; i < N_STREAMS; i++)
		t->streams[i].busy.end = INT64_MIN;
	t->kerns = xcalloc(m->n_kern_names, sizeof(*t->kerns));
	t->ops = xcalloc(m->n_op_names, sizeof(*t->ops));
}

void truth_free(struct truth *t)
{
	free(t->kerns);
	free(t->ops);
	free(t->iv);
	free(t->launchers);
	free(t->steps);
}

/* The next interval of a union; they come in order of start. Returns what it adds. */
static int64_t cover_add(struct cover *c, const struct interval *iv)
{
	int64_t from = iv->start > c->end ? iv->start : c->end;
	int64_t added = iv->end > from ? iv->end - from : 0;

	c->len += added;
	if (iv->end > c->end)
		c->end = iv->end;
	return added;
}

static void timeline_add(struct timeline *tl, enum gpu_class cls, const struct interval *iv)
{
	if (iv->start < tl->first)
		tl->first = iv->start;
	if (iv->end > tl->last)
		tl->last = iv->end;
	cover_add(&tl->u[U_ALL], iv);
	if (cls == CLS_MEMCPY)
		cover_add(&tl->u[U_MEMCPY], iv);
	else
		cover_add(&tl->u[U_COMPUTE_COMM], iv);
	if (cls == CLS_COMPUTE)
		cover_add(&tl->u[U_COMPUTE], iv);
	if (cls == CLS_COMM)
		cover_add(&tl->u[U_COMM], iv);
}

static void kernel_add(struct truth *t, const struct kern *k, int64_t dur)
{
	struct kern_facts *f = &t->kerns[k->name_id];

	t->n_kernels++;
	if (!f->count || dur < f->min)
		f->min = dur;
	if (dur > f->max)
		f->max = dur;
	f->count++;
	f->sum += dur;
}

/* The launcher's name: an op has a line, a call outside of ops is a graph launch. */
static int launcher_name(const struct model *m, const struct rec *launcher)
{
	return launcher->line ? launcher->line->index : m->api_name_id[API_GRAPH];
}

static void launcher_add(struct truth *t, const struct model *m, const struct recs *r,
			 const struct interval *iv)
{
	uint32_t at = r->v[iv->rec].launcher;
	struct op_facts *op = &t->ops[launcher_name(m, &r->v[at])];

	if (t->launchers[at].end == INT64_MIN)
		op->count++;
	op->direct += cover_add(&t->launchers[at], iv);
}

static void gpu_add(struct truth *t, const struct model *m, const struct recs *r,
		    const struct interval *iv)
{
	const struct rec *rec = &r->v[iv->rec];
	const struct kern *k = &m->kerns[rec->kern];
	struct stream_facts *st = &t->streams[rec->where];

	if (iv->start < t->last_start)
		die(1, "steps overlap on the GPU, the facts would be wrong");
	t->last_start = iv->start;
	t->n_gpu++;
	st->n++;
	cover_add(&st->busy, iv);
	timeline_add(&t->all, k->cls, iv);
	if (k->def->cat == CAT_KERNEL)
		kernel_add(t, k, rec->dur);
	if (rec->flags & R_UNLINKED) {
		t->n_unlinked++;
		cover_add(&t->unlinked, iv);
		return;
	}
	t->n_linked++;
	timeline_add(&t->linked, k->cls, iv);
	timeline_add(&t->steps[t->n_steps].tl, k->cls, iv);
	t->steps[t->n_steps].n++;
	t->steps[t->n_steps].sum += rec->dur;
	if (k->cls != CLS_COMM)
		launcher_add(t, m, r, iv);
}

static int by_start(const void *pa, const void *pb)
{
	const struct interval *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->rec < b->rec ? -1 : a->rec > b->rec;
}

void truth_step(struct truth *t, const struct model *m, const struct recs *r)
{
	size_t n = 0;

	if (t->iv_cap < r->n)
		t->iv = xrealloc(t->iv, t->iv_cap = r->cap, sizeof(*t->iv));
	if (t->launchers_cap < r->n)
		t->launchers =
			xrealloc(t->launchers, t->launchers_cap = r->cap, sizeof(*t->launchers));
	for (size_t i = 0; i < r->n; i++) {
		const struct rec *rec = &r->v[i];

		t->launchers[i] = (struct cover){ .end = INT64_MIN };
		t->n_no_kernel += !!(rec->flags & R_NO_KERNEL);
		t->fwd_bwd_pairs += !!(rec->flags & R_PAIR);
		if (rec->line)
			t->flops += rec->line->flops;
		if (rec->group == G_GPU)
			t->iv[n++] = (struct interval){ rec->ts, rec->ts + rec->dur, (uint32_t)i };
	}
	if (t->steps_cap <= (size_t)t->n_steps)
		t->steps =
			xrealloc(t->steps, t->steps_cap = 2 * t->steps_cap + 16, sizeof(*t->steps));
	t->steps[t->n_steps] = (struct step_facts){ 0 };
	timeline_init(&t->steps[t->n_steps].tl);
	qsort(t->iv, n, sizeof(*t->iv), by_start);
	for (size_t i = 0; i < n; i++)
		gpu_add(t, m, r, &t->iv[i]);
	t->n_steps++;
}

/* ---- writing ----------------------------------------------------------------- */

static void put_timeline(struct sb *b, const struct timeline *tl, const char *indent)
{
	int64_t span = tl->last > tl->first ? tl->last - tl->first : 0;
	const struct cover *u = tl->u;
	const struct {
		const char *key;
		int64_t v;
	} rows[] = {
		{ "span_ns", span },
		{ "busy_ns", u[U_ALL].len },
		{ "idle_ns", span - u[U_ALL].len },
		{ "compute_ns", u[U_COMPUTE].len },
		{ "exposed_comm_ns", u[U_COMPUTE_COMM].len - u[U_COMPUTE].len },
		{ "exposed_memcpy_ns", u[U_ALL].len - u[U_COMPUTE_COMM].len },
		{ "total_comm_ns", u[U_COMM].len },
		{ "total_memcpy_ns", u[U_MEMCPY].len },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		sb_putf(b, "%s%s\"%s\": %" PRId64, i ? ",\n" : "", indent, rows[i].key, rows[i].v);
}

/* What each step launched; what an inference step says of its requests, by kind. */
static void put_steps(struct sb *b, const struct truth *t, const struct model *m,
		      int64_t first_step)
{
	static const char *const served[] = {
		[KIND_DECODE] = ", \"phase\": \"decode\", \"family\": \"sglang\", "
				"\"prefill_requests\": 0, \"decode_requests\": 32, \"tokens\": 32",
		[KIND_COMPILE] = NULL,
	};

	sb_put(b, "  \"steps\": [");
	for (int64_t i = 0; i < t->n_steps; i++) {
		sb_putf(b,
			"%s    {\"step\": %" PRId64 ", \"n\": %" PRId64 ", \"sum_ns\": %" PRId64
			"%s,\n",
			i ? ",\n" : "\n", first_step + i, t->steps[i].n, t->steps[i].sum,
			served[m->kind] ? served[m->kind] : "");
		put_timeline(b, &t->steps[i].tl, "      ");
		sb_put(b, "}");
	}
	sb_put(b, "\n  ],\n");
}

static void put_kernels(struct sb *b, const struct truth *t, const struct model *m)
{
	const char *sep = "\n";

	sb_put(b, "  \"kernels\": [");
	for (size_t i = 0; i < m->n_kern_names; i++) {
		const struct kern_facts *f = &t->kerns[i];

		if (!f->count)
			continue;
		sb_putf(b,
			"%s    {\"name\": \"%s\", \"count\": %" PRId64 ", \"sum_ns\": %" PRId64
			", \"min_ns\": %" PRId64 ", \"max_ns\": %" PRId64 "}",
			sep, m->kern_names[i], f->count, f->sum, f->min, f->max);
		sep = ",\n";
	}
	sb_put(b, "\n  ],\n");
}

static void put_ops(struct sb *b, const struct truth *t, const struct model *m)
{
	const char *sep = "\n";

	sb_put(b, "  \"ops\": [");
	for (size_t i = 0; i < m->n_op_names; i++) {
		const struct op_facts *f = &t->ops[i];

		if (!f->count)
			continue;
		sb_putf(b,
			"%s    {\"name\": \"%s\", \"count\": %" PRId64 ", \"direct_ns\": %" PRId64
			"}",
			sep, m->op_names[i], f->count, f->direct);
		sep = ",\n";
	}
	sb_put(b, "\n  ],\n");
}

static void put_streams(struct sb *b, const struct truth *t, const struct model *m, int device)
{
	const char *sep = "\n";

	sb_put(b, "  \"streams\": [");
	for (int i = 0; i < N_STREAMS; i++) {
		const struct stream_facts *f = &t->streams[i];

		if (!f->n)
			continue;
		sb_putf(b,
			"%s    {\"device\": %d, \"stream\": %d, \"n\": %" PRId64
			", \"busy_ns\": %" PRId64 "}",
			sep, device, m->stream_no[i], f->n, f->busy.len);
		sep = ",\n";
	}
	sb_put(b, "\n  ]\n");
}

void truth_write(const struct truth *t, const struct model *m, const struct truth_file *f,
		 const char *path)
{
	static const char *const kinds[] = { "train", "infer", "decode", "compile" };
	struct sb b = { 0 };
	struct out o;

	sb_putf(&b, "{\n  \"schema\": \"tracegen-truth-1\",\n  \"kind\": \"%s\",\n",
		kinds[m->kind]);
	sb_putf(&b, "  \"vendor\": \"%s\",\n", m->vendor == VENDOR_AMD ? "amd" : "nvidia");
	sb_putf(&b, "  \"device_name\": \"%s\",\n  \"seed\": %" PRIu64 ",\n", m->device_name,
		f->seed);
	sb_putf(&b, "  \"rank\": %d,\n  \"world_size\": %d,\n", f->rank, m->world);
	sb_putf(&b, "  \"clock_offset_ns\": %" PRId64 ",\n", f->clock_offset_ns);
	sb_putf(&b, "  \"n_steps\": %" PRId64 ",\n  \"first_step\": %" PRId64 ",\n", t->n_steps,
		f->first_step);
	sb_putf(&b, "  \"n_events\": %" PRId64 ",\n  \"n_gpu_events\": %" PRId64 ",\n", f->n_events,
		t->n_gpu);
	sb_putf(&b, "  \"n_kernels\": %" PRId64 ",\n", t->n_kernels);
	put_timeline(&b, &t->all, "  ");
	sb_putf(&b, ",\n  \"n_links\": %" PRId64 ",\n  \"n_unlinked\": %" PRId64 ",\n", t->n_linked,
		t->n_unlinked);
	sb_putf(&b, "  \"unlinked_ns\": %" PRId64 ",\n", t->unlinked.len);
	sb_putf(&b, "  \"n_launches_without_kernel\": %" PRId64 ",\n", t->n_no_kernel);
	sb_putf(&b, "  \"flops\": %" PRId64 ",\n  \"fwd_bwd_pairs\": %" PRId64 ",\n", t->flops,
		t->fwd_bwd_pairs);
	sb_put(&b, "  \"linked_only\": {\n");
	put_timeline(&b, &t->linked, "    ");
	sb_put(&b, "\n  },\n");
	put_steps(&b, t, m, f->first_step);
	put_kernels(&b, t, m);
	put_ops(&b, t, m);
	put_streams(&b, t, m, f->device);
	sb_put(&b, "}\n");
	out_open(&o, path, (size_t)1 << 20);
	out_put(&o, b.s);
	out_close(&o);
	sb_free(&b);
}
