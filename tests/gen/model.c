/* Compiles scripts, kernels and collectives into event templates. */
#include "model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* What a device can do: bytes and FLOPs in a nanosecond, bfloat16 in matrix units. */
static const struct {
	double bytes, flops;
} peaks[] = {
	[VENDOR_NVIDIA] = { 3350, 989000 }, /* H100 SXM, data sheet */
	[VENDOR_AMD] = { 5300, 708000 },    /* MI300X, of products as measured */
};

/* Of any kernel, and of kernels of which nothing is known. */
#define STARTUP_NS 1600
#define UNKNOWN_NS 12000

#define HEAD(ph_cat) "{\n\"ph\":\"X\",\"cat\":\"" ph_cat "\",\"name\":\""
#define ON_HOST "\",\"pid\":" T_PID ",\"tid\":" T_TID
#define ON_GPU "\",\"pid\":" T_DEV ",\"tid\":" T_STREAM
#define WHEN ",\n\"ts\":" T_TS ",\"dur\":" T_DUR ",\n\"args\":{\n"
#define END_ARGS "\n}\n}"
#define EXTERNAL "\"External id\":" T_EXT ","

static int add_tmpl(struct model *m, const char *canon)
{
	if (!(m->n_tm & (m->n_tm + 1)))
		m->tm = xrealloc(m->tm, 2 * m->n_tm + 2, sizeof(*m->tm));
	tmpl_compile(&m->tm[m->n_tm], canon, m->layout, m->event_depth);
	return (int)m->n_tm++;
}

static int name_id(const char ***names, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*names)[i], name))
			return (int)i;
	*names = xrealloc(*names, *n + 1, sizeof(**names));
	(*names)[*n] = name;
	return (int)(*n)++;
}

static const char *vendor_name(const struct model *m, const char *nvidia, const char *amd)
{
	return m->vendor == VENDOR_AMD ? amd : nvidia;
}

/* ---- kernels and runtime calls ------------------------------------------ */

/*
 * AMD's runtime copies with a kernel, which only its name tells from
 * computation; elsewhere such a kernel is like any other.
 */
static enum gpu_class class_of(const struct kern_def *d, const char *name)
{
	return !strcmp(name, "__amd_rocclr_copyBuffer") ? CLS_MEMCPY : (enum gpu_class)d->cls;
}

static const char *copy_kind(const struct kern_def *d)
{
	if (d->cat == CAT_MEMSET)
		return "Device";
	return strstr(d->nvidia, "HtoD") ? "HtoD" : strstr(d->nvidia, "DtoH") ? "DtoH" : "DtoD";
}

static void put_shape(struct sb *b, const struct kern_def *d, const char *gap)
{
	sb_putf(b, "\"grid\":[%d,%d,%d],%s\"block\":[%d,1,1]", d->grid[0], d->grid[1], d->grid[2],
		gap, d->block);
}

static void put_kernel_args(struct model *m, struct sb *b, const struct kern_def *d)
{
	double blocks = (double)d->grid[0] * d->grid[1] * d->grid[2] / 132;
	double warps = blocks * d->block / 32;

	if (m->vendor == VENDOR_AMD) {
		sb_put(b,
		       "\t\"device\":" T_DEV ",\"stream\":" T_STREAM ",\t\"correlation\":" T_CORR);
		sb_putf(b, ",\"kind\":\"%s\",",
			d->cat == CAT_KERNEL ? "Dispatch Kernel" : copy_kind(d));
	} else {
		if (d->cat == CAT_KERNEL)
			sb_put(b, "\t\"queued\":0,");
		sb_put(b, "\"device\":" T_DEV ",\"context\":1,\t\"stream\":" T_STREAM
			  ",\"correlation\":" T_CORR ",");
	}
	if (d->cat != CAT_KERNEL) {
		sb_putf(b, "\t\"bytes\":%lld,\"memory bandwidth (GB/s)\":" T_BW,
			(long long)d->bytes);
	} else if (m->vendor == VENDOR_AMD) {
		put_shape(b, d, "");
	} else {
		sb_putf(b, "\t\"registers per thread\":%d,\t\"shared memory\":%d,", d->regs,
			d->shmem);
		sb_putf(b, "\t\"blocks per SM\":%.6f,\t\"warps per SM\":%.6f,\t", blocks, warps);
		put_shape(b, d, "\t");
		sb_putf(b, ",\t\"est. achieved occupancy %%\":%d",
			warps >= 64 ? 100 : (int)(warps * 100 / 64));
	}
}

static int add_gpu_tmpl(struct model *m, const struct kern *k, bool linked, const char *extra)
{
	static const char *const heads[] = { HEAD("kernel"), HEAD("gpu_memcpy"),
					     HEAD("gpu_memset") };
	struct sb *b = &m->scratch;

	sb_reset(b);
	sb_put(b, heads[k->def->cat]);
	sb_put(b, k->name);
	sb_put(b, ON_GPU WHEN);
	if (linked)
		sb_put(b, EXTERNAL);
	put_kernel_args(m, b, k->def);
	sb_put(b, extra);
	sb_put(b, END_ARGS);
	return add_tmpl(m, b->s);
}

/* k is NULL for a call that launches nothing or a graph. */
static int add_call_tmpl(struct model *m, int api, const struct kern *k, bool in_op)
{
	const struct api_def *a = &api_defs[api];
	struct sb *b = &m->scratch;

	sb_reset(b);
	sb_put(b, a->nvidia_driver && m->vendor == VENDOR_NVIDIA ? HEAD("cuda_driver") :
								   HEAD("cuda_runtime"));
	sb_put(b, vendor_name(m, a->nvidia, a->amd));
	sb_put(b, ON_HOST WHEN);
	if (in_op)
		sb_put(b, EXTERNAL);
	if (m->vendor == VENDOR_NVIDIA) {
		sb_putf(b, "\t\"cbid\":%d,\"correlation\":" T_CORR, a->cbid);
	} else {
		sb_put(b, "\t");
		if (k && k->def->cat == CAT_KERNEL)
			sb_putf(b, "\"kernel\":\"%s\",", k->name);
		sb_putf(b, "\"cid\":%d,\"correlation\":" T_CORR, a->cid);
		if (k && k->def->cat == CAT_KERNEL) {
			sb_put(b, ",");
			put_shape(b, k->def, "");
			sb_putf(b, ",\"shared memory\":%d", k->def->shmem);
		} else if (k && k->def->cat == CAT_MEMCPY) {
			sb_putf(b,
				",\"src\":\"0x7f21c8a00200\",\"dst\":\"0x7f1f6e000000\","
				"\"bytes\":\"%lld\",\"kind\":\"%d\"",
				(long long)k->def->bytes,
				strstr(k->name, "HtoD") ? 1 :
				strstr(k->name, "DtoH") ? 2 :
							  3);
		}
	}
	sb_put(b, END_ARGS);
	return add_tmpl(m, b->s);
}

static void compile_kernels(struct model *m)
{
	m->kerns = xcalloc(n_kern_defs, sizeof(*m->kerns));
	for (size_t i = 0; i < n_kern_defs; i++) {
		struct kern *k = &m->kerns[i];

		k->def = &kern_defs[i];
		k->name = vendor_name(m, k->def->nvidia, k->def->amd);
		k->cls = class_of(k->def, k->name);
		k->mean_ns = k->def->mean_ns ? k->def->mean_ns : UNKNOWN_NS;
		k->name_id = name_id(&m->kern_names, &m->n_kern_names, k->name);
		k->tm_linked = add_gpu_tmpl(m, k, true, "");
		k->tm_bare = add_gpu_tmpl(m, k, false, "");
		k->tm_launch = add_call_tmpl(m, k->def->api, k, true);
		k->tm_launch_bare = add_call_tmpl(m, k->def->api, k, false);
	}
	for (int api = 0; api < N_APIS; api++) {
		const struct api_def *a = &api_defs[api];

		m->tm_call[api] = add_call_tmpl(m, api, NULL, true);
		m->tm_call_bare[api] = add_call_tmpl(m, api, NULL, false);
		m->api_name_id[api] =
			name_id(&m->op_names, &m->n_op_names, vendor_name(m, a->nvidia, a->amd));
	}
}

static int find_kern(const struct model *m, const char *key)
{
	for (size_t i = 0; i < n_kern_defs; i++)
		if (!strcmp(m->kerns[i].def->key, key))
			return (int)i;
	die(1, "no kernel '%s'", key);
}

/* ---- collectives -------------------------------------------------------- */

static void put_group(struct model *m, struct sb *b, const struct coll *c)
{
	const struct coll_def *d = c->def;

	sb_putf(b,
		"\"Collective name\":\"%s\",\"In msg nelems\":%lld,\"Out msg nelems\":%lld,"
		"\"Group size\":%d,\"dtype\":\"BFloat16\",\"In split size\":\"[]\","
		"\"Out split size\":\"[]\",\"Process Group Name\":\"%s\","
		"\"Process Group Description\":\"%s\",\"Process Group Ranks\":\"[",
		d->name, (long long)c->in_elems, (long long)c->out_elems, m->world, d->group,
		d->group_desc);
	for (int r = 0; r < m->world; r++)
		sb_putf(b, "%s%d", r ? ", " : "", r);
	sb_put(b, "]\",\"Seq\":" T_CSEQ);
}

static int add_gpu_annotation(struct model *m, const char *name)
{
	struct sb *b = &m->scratch;

	sb_reset(b);
	sb_putf(b, HEAD("gpu_user_annotation") "%s", name);
	sb_put(b, ON_GPU WHEN "\"External id\":" T_EXT END_ARGS);
	return add_tmpl(m, b->s);
}

static void compile_collectives(struct model *m)
{
	m->n_colls = n_coll_defs;
	m->colls = xcalloc(n_coll_defs, sizeof(*m->colls));
	for (size_t i = 0; i < n_coll_defs; i++) {
		struct coll *c = &m->colls[i];
		struct sb *b = &m->scratch_args;
		const char *in = coll_defs[i].in, *out = coll_defs[i].out;

		c->def = &coll_defs[i];
		c->kern = find_kern(m, c->def->kern);
		c->in_elems = dim_value(&m->dims, &in);
		c->out_elems = dim_value(&m->dims, &out);
		c->xfer_ns = 9000 + 2 * c->out_elems / c->def->bytes_per_ns;
		sb_reset(b);
		if (!c->def->bare) {
			sb_put(b, ",");
			put_group(m, b, c);
		}
		c->tm_kernel = add_gpu_tmpl(m, &m->kerns[c->kern], !c->def->bare, b->s);
		c->tm_gpu_annotation =
			c->def->annotation ? add_gpu_annotation(m, c->def->annotation) : -1;
	}
}

static int find_coll(const struct model *m, const char *key)
{
	for (size_t i = 0; i < m->n_colls; i++)
		if (!strcmp(m->colls[i].def->key, key))
			return (int)i;
	die(1, "no collective '%s'", key);
}

/* ---- lines of scripts ---------------------------------------------------- */

static int add_memory_tmpl(struct model *m, int64_t bytes)
{
	struct sb *b = &m->scratch;

	bytes = (bytes + 511) / 512 * 512;
	sb_reset(b);
	sb_put(b, "{\n\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\","
		  "\n\"pid\":" T_PID ",\"tid\":" T_TID ",\"ts\":" T_TS ",\n\"args\":{\n");
	sb_putf(b, "\"Total Reserved\":25769803776,\"Total Allocated\":%lld,\"Bytes\":%lld,",
		(long long)(9663676416 + bytes), (long long)bytes);
	sb_put(b, "\"Addr\":" T_ADDR ",\"Device Id\":" T_DEV
		  ",\"Device Type\":1,\"Ev Idx\":" T_EV END_ARGS);
	return add_tmpl(m, b->s);
}

static int64_t best_ns(const struct model *m, const struct op_info *info)
{
	double moving = (double)info->moved / peaks[m->vendor].bytes;
	double computing = (double)info->computed / peaks[m->vendor].flops;

	return (int64_t)(moving > computing ? moving : computing);
}

static int add_op_tmpl(struct model *m, const struct line *l, bool numbered, struct op_info *info)
{
	struct sb *b = &m->scratch;

	sb_reset(b);
	sb_putf(b, HEAD("cpu_op") "%s", l->name);
	sb_put(b, ON_HOST WHEN EXTERNAL "\v\"Record function id\":0");
	if (numbered)
		sb_put(b, ",\"Sequence number\":" T_SEQ ",\"Fwd thread id\":" T_NUM);
	if (l->flags & F_COMM) {
		const struct coll *coll = &m->colls[find_coll(m, l->in)];
		char dims[40] = "1*b[", *end = put_i64(dims + 4, coll->in_elems);

		memcpy(end, "] -", 4);
		sb_put(b, ",");
		ops_put_inputs(b, &m->dims, l->name, dims);
		sb_put(b, ",\"Rank\":0,\"Global rank start\":0,\"Global rank stride\":1,");
		put_group(m, b, coll);
	} else if (l->in && *l->in) {
		sb_put(b, ",");
		*info = ops_put_inputs(b, &m->dims, l->name, l->in);
	}
	sb_put(b, ",\"Ev Idx\":" T_EV END_ARGS);
	return add_tmpl(m, b->s);
}

static void compile_op(struct model *m, struct cline *c)
{
	const struct line *l = c->src;
	struct op_info info = { 0 };

	c->tm = add_op_tmpl(m, l, l->flags & (F_SEQ | F_BWD), &info);
	if (l->flags & F_SEQ && m->checkpoint == CHECKPOINT_REENTRANT)
		c->tm_bare = add_op_tmpl(m, l, false, &info);
	c->flops = info.flops;
	c->best_ns = best_ns(m, &info);
	c->index = name_id(&m->op_names, &m->n_op_names, l->name);
	if (m->kind == KIND_INFER && !strcmp(l->name, "aten::empty"))
		c->tm_aux = add_memory_tmpl(m, info.bytes);
}

static int add_py_tmpl(struct model *m, const char *name, bool module)
{
	struct sb *b = &m->scratch;

	sb_reset(b);
	sb_putf(b, HEAD("python_function") "%s", name);
	sb_put(b, ON_HOST WHEN "\"Python parent id\":" T_PYPAR ",\"Python id\":" T_PYID);
	if (module)
		sb_put(b, ",\"Python module id\":" T_NUM);
	sb_put(b, ",\"Ev Idx\":" T_EV END_ARGS);
	return add_tmpl(m, b->s);
}

static void compile_annotation(struct model *m, struct cline *c)
{
	const struct line *l = c->src;
	struct sb *b = &m->scratch;
	const char *name = l->name;

	if (l->flags & F_COMM)
		name = m->colls[find_coll(m, l->in)].def->annotation;
	sb_reset(b);
	sb_putf(b, HEAD("user_annotation") "%s", name);
	sb_put(b, ON_HOST WHEN EXTERNAL "\v\"Record function id\":0,\"Ev Idx\":" T_EV END_ARGS);
	c->tm = add_tmpl(m, b->s);
	c->tm_aux = l->flags & F_COMM ? -1 : add_gpu_annotation(m, name);
}

static void compile_line(struct model *m, struct script *s, struct cline *c)
{
	const struct line *l = c->src;

	c->tm = c->tm_aux = -1;
	switch (l->kind) {
	case L_OP:
		compile_op(m, c);
		break;
	case L_ANN:
		compile_annotation(m, c);
		break;
	case L_PY:
		c->tm = add_py_tmpl(m, l->name, l->flags & F_MODULE);
		break;
	case L_KERN:
	case L_GKERN:
		c->index = find_kern(m, l->name);
		break;
	case L_CALL:
		c->index = l->off;
		break;
	case L_COLL:
		if (m->capture) {
			c->index = m->colls[find_coll(m, l->name)].kern;
			c->mean_ns = m->kerns[c->index].mean_ns;
			break;
		}
		if (s->coll >= 0)
			die(1, "two collectives in one script");
		c->index = s->coll = find_coll(m, l->name);
		break;
	default:
		break;
	}
}

/* The op around line k; NULL for none. */
static struct cline *op_around(const struct script *s, size_t k)
{
	int depth = s->src[k].depth;

	while (k--) {
		if (s->src[k].depth >= depth)
			continue;
		if (s->src[k].kind == L_OP)
			return &s->lines[k];
		depth = s->src[k].depth;
	}
	return NULL;
}

/* The kernels of an op share its work, and each attains its part of the device's peak. */
static void set_lengths(struct model *m, struct script *s)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->src[k].kind == L_KERN && op_around(s, k))
			op_around(s, k)->n_kernels += m->kerns[s->lines[k].index].def->pct > 0;
	for (size_t k = 0; k < s->n; k++) {
		struct cline *c = &s->lines[k];
		struct kern *kern;

		if (s->src[k].kind != L_KERN && s->src[k].kind != L_GKERN)
			continue;
		kern = &m->kerns[c->index];
		c->mean_ns = kern->def->mean_ns;
		if (kern->def->pct) {
			const struct cline *op = op_around(s, k);

			c->mean_ns =
				STARTUP_NS + op->best_ns * 100 / (kern->def->pct * op->n_kernels);
		}
		if (c->mean_ns > kern->mean_ns)
			kern->mean_ns = c->mean_ns;
	}
}

static size_t find_script(struct model *m, const struct line *lines, size_t n)
{
	for (size_t i = 0; i < m->n_scripts; i++)
		if (m->scripts[i].src == lines)
			return i;
	m->scripts = xrealloc(m->scripts, m->n_scripts + 1, sizeof(*m->scripts));
	m->scripts[m->n_scripts] = (struct script){ .src = lines, .n = n, .coll = -1 };
	return m->n_scripts++;
}

void model_add(struct model *m, const struct line *lines, size_t n, int thread, int layer,
	       int flags)
{
	m->plan = xrealloc(m->plan, m->n_plan + 1, sizeof(*m->plan));
	m->plan[m->n_plan++] = (struct segment){
		.script = find_script(m, lines, n),
		.thread = thread,
		.layer = layer,
		.flags = flags,
		.first = m->first_rank,
		.last = m->last_rank,
	};
}

static void compile_scripts(struct model *m)
{
	for (size_t i = 0; i < m->n_scripts; i++) {
		struct script *s = &m->scripts[i];

		s->lines = xcalloc(s->n, sizeof(*s->lines));
		for (size_t k = 0; k < s->n; k++) {
			s->lines[k].src = &s->src[k];
			compile_line(m, s, &s->lines[k]);
		}
		set_lengths(m, s);
	}
}

/* ---- flows and python frames --------------------------------------------- */

#define FLOW(ph, id, where, cat, end)                                               \
	"{\n\"ph\":\"" ph "\",\"id\":" id where ",\"ts\":" T_TS ",\n\"cat\":\"" cat \
	"\",\"name\":\"" cat "\"" end "\n}"
#define HOST_FLOW ",\"pid\":" T_PID ",\"tid\":" T_TID
#define GPU_FLOW ",\"pid\":" T_DEV ",\"tid\":" T_STREAM
#define BIND ",\"bp\":\"e\""

static void compile_common(struct model *m)
{
	int *t = m->common;

	t[TM_AC2G_S] = add_tmpl(m, FLOW("s", T_CORR, HOST_FLOW, "ac2g", ""));
	t[TM_AC2G_F] = add_tmpl(m, FLOW("f", T_CORR, GPU_FLOW, "ac2g", BIND));
	t[TM_AC2G_F_HOST] = add_tmpl(m, FLOW("f", T_CORR, HOST_FLOW, "ac2g", BIND));
	t[TM_FWDBWD_S] = add_tmpl(m, FLOW("s", T_FLOW, HOST_FLOW, "fwdbwd", ""));
	t[TM_FWDBWD_F] = add_tmpl(m, FLOW("f", T_FLOW, HOST_FLOW, "fwdbwd", BIND));
	t[TM_PY_WRAPPED] =
		add_py_tmpl(m, "torch/nn/modules/module.py(1751): _wrapped_call_impl", false);
	t[TM_PY_CALL_IMPL] = add_py_tmpl(m, "torch/nn/modules/module.py(1762): _call_impl", false);
	t[TM_PY_FORWARD] = add_py_tmpl(m, FORWARD_FRAME, false);
}

static void find_leftovers(struct model *m)
{
	static const char *const keys[] = { "add", "ln", "gelu", "gemm_proj", "d2d", "memset" };

	_Static_assert(ARRAY_LEN(keys) == ARRAY_LEN(m->leftovers), "one key each");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		m->leftovers[i] = find_kern(m, keys[i]);
}

void model_init(struct model *m)
{
	static void (*const plans[])(struct model * m) = { plan_train, plan_infer, plan_decode,
							   plan_compile };
	static const int nvidia_streams[N_STREAMS] = { 7, 20, 24, 28 };
	static const int amd_streams[N_STREAMS] = { 0, 4, 2, 3 };

	m->event_depth = m->layout == LAYOUT_NATIVE ? 1 : 2;
	m->sep = m->layout == LAYOUT_NATIVE ? ",\n  " :
		 m->layout == LAYOUT_INDENT ? ",\n    " :
					      ",";
	m->sep_first = m->layout == LAYOUT_COMPACT ? "" : m->sep + 1;
	m->device_name = vendor_name(m, "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X");
	memcpy(m->stream_no, m->vendor == VENDOR_AMD ? amd_streams : nvidia_streams,
	       sizeof(m->stream_no));
	m->dims.v['W' - 'A'] = m->world;
	m->last_rank = INT_MAX;
	(m->capture ? plan_capture : plans[m->kind])(m);
	compile_kernels(m);
	find_leftovers(m);
	compile_collectives(m);
	compile_common(m);
	compile_scripts(m);
}

void model_free(struct model *m)
{
	for (size_t i = 0; i < m->n_tm; i++)
		tmpl_free(&m->tm[i]);
	for (size_t i = 0; i < m->n_scripts; i++)
		free(m->scripts[i].lines);
	free(m->tm);
	free(m->kerns);
	free(m->colls);
	free(m->kern_names);
	free(m->op_names);
	free(m->scripts);
	free(m->plan);
	sb_free(&m->scratch);
	sb_free(&m->scratch_args);
}
