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
	t->op_passes = xcalloc(m->n_op_names, sizeof(*t->op_passes));
}

void truth_free(struct truth *t)
{
	free(t->kerns);
	free(t->ops);
	free(t->iv);
	free(t->launchers);
	free(t->steps);
	free(t->modules);
	free(t->sites);
	free(t->op_passes);
	free(t->nodes);
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

static void node_add(struct truth *t, const struct model *m, const struct rec *rec)
{
	struct node_facts fact = { .kern = m->kerns[rec->kern].name_id,
				   .op = rec->captured_op,
				   .path = rec->captured.path,
				   .site = rec->captured.site };
	size_t i = 0;

	t->graph_events++;
	t->graph_sum += rec->dur;
	while (i < t->n_nodes && (t->nodes[i].kern != fact.kern || t->nodes[i].op != fact.op ||
				  t->nodes[i].path != fact.path || t->nodes[i].site != fact.site))
		i++;
	if (i == t->n_nodes) {
		t->nodes = xrealloc(t->nodes, ++t->n_nodes, sizeof(*t->nodes));
		t->nodes[i] = fact;
	}
	t->nodes[i].n++;
	t->nodes[i].sum += rec->dur;
}

static void who_add(struct truth *t, const struct model *m, const struct recs *r,
		    const struct rec *rec)
{
	const struct kern *k = &m->kerns[rec->kern];
	struct module_facts *module = &t->modules[rec->at.path];

	module->events++;
	module->self[rec->at.pass] += rec->dur;
	module->comm += k->cls == CLS_COMM ? rec->dur : 0;
	t->sites[rec->at.site].ns[rec->at.pass] += rec->dur;
	t->op_passes[launcher_name(m, &r->v[rec->launcher])].ns[rec->at.pass] += rec->dur;
	if (rec->captured.site)
		node_add(t, m, rec);
}

static void frame_add(struct truth *t, const struct rec *rec)
{
	struct module_facts *f = &t->modules[rec->at.path];

	f->calls++;
	f->recomputed += rec->at.pass == PASS_RECOMPUTE;
	f->host += rec->dur;
}

/* Room for what the step added. */
static void who_grow(struct truth *t, const struct who *who)
{
	size_t paths = (size_t)who->n_paths + 1, sites = (size_t)who->n_sites + 1;

	if (t->modules_cap < paths) {
		t->modules = xrealloc(t->modules, paths, sizeof(*t->modules));
		memset(t->modules + t->modules_cap, 0,
		       (paths - t->modules_cap) * sizeof(*t->modules));
		t->modules_cap = paths;
	}
	if (t->sites_cap < sites) {
		t->sites = xrealloc(t->sites, sites, sizeof(*t->sites));
		memset(t->sites + t->sites_cap, 0, (sites - t->sites_cap) * sizeof(*t->sites));
		t->sites_cap = sites;
	}
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
		t->unlinked_sum += rec->dur;
		return;
	}
	t->n_linked++;
	who_add(t, m, r, rec);
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

	who_grow(t, &r->who);
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
		t->graph_launches += rec->group == G_CALL && rec->tm == m->tm_call_bare[API_GRAPH];
		if (rec->flags & R_MODULE)
			frame_add(t, rec);
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

/* ---- whose work it was ------------------------------------------------------------ */

static void put_path(struct sb *b, const struct who *who, int path)
{
	if (!path) {
		sb_put(b, "(none)");
		return;
	}
	if (who->paths[path - 1].parent) {
		put_path(b, who, who->paths[path - 1].parent);
		sb_put(b, " > ");
	}
	sb_put(b, who->paths[path - 1].name);
}

static const char *site_of(const struct who *who, int site)
{
	return site ? who->sites[site - 1] : "(none)";
}

static void put_passes(struct sb *b, const int64_t ns[N_PASSES])
{
	sb_putf(b,
		"\"forward_ns\": %" PRId64 ", \"backward_ns\": %" PRId64
		", \"recompute_ns\": %" PRId64,
		ns[PASS_FORWARD], ns[PASS_BACKWARD], ns[PASS_RECOMPUTE]);
}

static int64_t sum_of(const int64_t ns[N_PASSES])
{
	return ns[PASS_FORWARD] + ns[PASS_BACKWARD] + ns[PASS_RECOMPUTE];
}

/* Modules that were called, and what no module did; with what is below, which has later numbers. */
static void put_modules(struct sb *b, const struct truth *t, const struct who *who)
{
	struct module_facts *total = xcalloc(t->modules_cap, sizeof(*total));
	const char *sep = "\n";

	memcpy(total, t->modules, t->modules_cap * sizeof(*total));
	for (size_t i = t->modules_cap; i-- > 1;) {
		struct module_facts *up = &total[who->paths[i - 1].parent];

		if (up == total)
			continue;
		up->events += total[i].events;
		up->comm += total[i].comm;
		for (int p = 0; p < N_PASSES; p++)
			up->self[p] += total[i].self[p];
	}
	sb_put(b, "  \"modules\": [");
	for (size_t i = 0; i < t->modules_cap; i++) {
		const struct module_facts *f = &t->modules[i], *sum = i ? &total[i] : f;

		if (!f->calls && !f->events)
			continue;
		sb_putf(b, "%s    {\"module\": \"", sep);
		put_path(b, who, (int)i);
		sb_putf(b,
			"\", \"calls\": %" PRId64 ", \"recomputed\": %" PRId64
			", \"host_ns\": %" PRId64 ",\n      \"self_events\": %" PRId64
			", \"events\": %" PRId64 ", \"self_ns\": %" PRId64 ", \"ns\": %" PRId64
			", \"comm_ns\": %" PRId64 ",\n      ",
			f->calls, f->recomputed, f->host, f->events, sum->events, sum_of(f->self),
			sum_of(sum->self), sum->comm);
		put_passes(b, sum->self);
		sb_put(b, "}");
		sep = ",\n";
	}
	sb_put(b, "\n  ],\n");
	free(total);
}

static void put_call_sites(struct sb *b, const struct truth *t, const struct who *who)
{
	const char *sep = "\n";

	sb_put(b, "  \"call_sites\": [");
	for (size_t i = 0; i < t->sites_cap; i++) {
		if (!sum_of(t->sites[i].ns))
			continue;
		sb_putf(b, "%s    {\"call_site\": \"%s\", ", sep, site_of(who, (int)i));
		put_passes(b, t->sites[i].ns);
		sb_put(b, "}");
		sep = ",\n";
	}
	sb_put(b, "\n  ],\n");
}

/* Operators that ran again. */
static void put_recompute(struct sb *b, const struct truth *t, const struct model *m)
{
	const char *sep = "\n";

	sb_put(b, "  \"recompute\": [");
	for (size_t i = 0; i < m->n_op_names; i++) {
		if (!t->op_passes[i].ns[PASS_RECOMPUTE])
			continue;
		sb_putf(b, "%s    {\"operator\": \"%s\", ", sep, m->op_names[i]);
		put_passes(b, t->op_passes[i].ns);
		sb_put(b, "}");
		sep = ",\n";
	}
	sb_put(b, "\n  ],\n");
}

static void put_graphs(struct sb *b, const struct truth *t, const struct model *m,
		       const struct who *who)
{
	sb_putf(b,
		"  \"graphs\": {\"launches\": %" PRId64 ", \"n\": %" PRId64 ", \"sum_ns\": %" PRId64
		", \"nodes\": [",
		t->graph_launches, t->graph_events, t->graph_sum);
	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct node_facts *f = &t->nodes[i];

		sb_putf(b, "%s    {\"kernel\": \"%s\",\n     \"operator\": \"%s\", \"module\": \"",
			i ? ",\n" : "\n", m->kern_names[f->kern], m->op_names[f->op]);
		put_path(b, who, f->path);
		sb_putf(b,
			"\", \"call_site\": \"%s\", \"n\": %" PRId64 ", \"sum_ns\": %" PRId64 "}",
			site_of(who, f->site), f->n, f->sum);
	}
	sb_put(b, "\n  ]},\n");
}

void truth_write(const struct truth *t, const struct model *m, const struct who *who,
		 const struct truth_file *f, const char *path)
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
	sb_putf(&b, "  \"unlinked_sum_ns\": %" PRId64 ",\n", t->unlinked_sum);
	if (m->stacks) {
		put_modules(&b, t, who);
		put_call_sites(&b, t, who);
		put_recompute(&b, t, m);
	}
	if (t->graph_launches)
		put_graphs(&b, t, m, who);
	put_streams(&b, t, m, f->device);
	sb_put(&b, "}\n");
	out_open(&o, path, (size_t)1 << 20);
	out_put(&o, b.s);
	out_close(&o);
	sb_free(&b);
}
