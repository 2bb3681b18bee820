#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define N_DEVICES 8 /* GPUs of a host */

static void put_event(struct trace *t, const struct model *m, const struct tmpl *tm)
{
	const char *sep = t->n_events++ ? m->sep : m->sep_first;

	out_put(&t->out, sep);
	tmpl_emit(&t->out, tm, t->v);
}

static void put_canon(struct trace *t, const struct model *m, const char *canon)
{
	struct tmpl tm;

	tmpl_compile(&tm, canon, m->layout, m->event_depth);
	put_event(t, m, &tm);
	tmpl_free(&tm);
}

/* ---- records --------------------------------------------------------------- */

static void put_host(struct trace *t, const struct model *m, const struct rec *rec)
{
	int64_t *v = t->v;

	v[S_TID] = t->pid + (rec->where == TH_BWD ? 97 : 0);
	v[S_SEQ] = v[S_PYPAR] = v[S_ADDR] = v[S_CSEQ] = rec->aux;
	v[S_PYID] = rec->id;
	v[S_EV] = t->next_ev;
	v[S_FLOW] = rec->flow;
	put_event(t, m, &m->tm[rec->tm]);
	if (rec->group != G_CALL)
		t->next_ev++;
	if (rec->group == G_CALL)
		put_event(t, m,
			  &m->tm[m->common[rec->flags & R_LAUNCH ? TM_AC2G_S : TM_AC2G_F_HOST]]);
	else if (rec->flags & R_FWD)
		put_event(t, m, &m->tm[m->common[TM_FWDBWD_S]]);
	else if (rec->flags & R_BWD)
		put_event(t, m, &m->tm[m->common[TM_FWDBWD_F]]);
}

static void put_gpu(struct trace *t, const struct model *m, const struct rec *rec)
{
	int64_t *v = t->v;

	v[S_STREAM] = m->stream_no[rec->where];
	v[S_CSEQ] = rec->aux;
	if (rec->kern >= 0 && m->kerns[rec->kern].def->bytes)
		v[S_BW] = m->kerns[rec->kern].def->bytes * 1000000000 / (rec->dur ? rec->dur : 1);
	put_event(t, m, &m->tm[rec->tm]);
	if (rec->group == G_GPU)
		put_event(t, m, &m->tm[m->common[TM_AC2G_F]]);
}

void trace_records(struct trace *t, const struct model *m, const struct recs *r, unsigned int mask)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct rec *rec = &r->v[i];

		if (!(mask >> rec->group & 1))
			continue;
		t->v[S_TS] = rec->ts + t->ts_offset;
		t->v[S_DUR] = rec->dur;
		t->v[S_EXT] = rec->id;
		t->v[S_CORR] = rec->corr;
		t->v[S_NUM] = rec->num;
		if (rec->group == G_GPU || rec->group == G_GPU_ANN)
			put_gpu(t, m, rec);
		else
			put_host(t, m, rec);
	}
}

/* ---- head and tail ----------------------------------------------------------- */

static void put_text(struct trace *t, const struct model *m, const char *canon, int depth)
{
	struct tmpl tm;

	tmpl_compile(&tm, canon, m->layout, depth);
	tmpl_emit(&t->out, &tm, t->v);
	tmpl_free(&tm);
}

static void put_devices(struct sb *b, const struct model *m)
{
	sb_put(b, "\n\"deviceProperties\":[");
	for (int i = 0; i < N_DEVICES; i++) {
		sb_putf(b, "%s\n{\n\"id\":%d,\"name\":\"%s\",", i ? "," : "", i, m->device_name);
		if (m->vendor == VENDOR_AMD)
			sb_put(b, "\"totalGlobalMem\":206141652992,\n\"computeMajor\":9,"
				  "\"computeMinor\":4,\n\"maxThreadsPerBlock\":1024,"
				  "\"maxThreadsPerMultiprocessor\":2048,\n\"regsPerBlock\":65536,"
				  "\"warpSize\":64,\n\"sharedMemPerBlock\":65536,\"numSms\":304,"
				  "\"maxSharedMemoryPerMultiProcessor\":65536\n}");
		else
			sb_put(b, "\"totalGlobalMem\":85028896768,\n\"computeMajor\":9,"
				  "\"computeMinor\":0,\n\"maxThreadsPerBlock\":1024,"
				  "\"maxThreadsPerMultiprocessor\":2048,\n\"regsPerBlock\":65536,"
				  "\"warpSize\":32,\n\"sharedMemPerBlock\":49152,\"numSms\":132,"
				  "\"regsPerMultiprocessor\":65536,"
				  "\"sharedMemPerBlockOptin\":232448,"
				  "\"sharedMemPerMultiprocessor\":233472\n}");
	}
	sb_put(b, "\n],");
}

static void put_distributed(struct sb *b, const struct model *m, int rank)
{
	bool tp = m->kind == KIND_INFER || m->kind == KIND_DECODE;

	sb_putf(b,
		"\n\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d,"
		"\"pg_count\":%d,\"pg_config\":[",
		rank, m->world, tp ? 2 : 1);
	for (int g = 0; g <= tp; g++) {
		sb_putf(b,
			"%s{\"pg_name\":\"%d\",\"pg_desc\":\"%s\",\"backend_config\":\"cuda:nccl\","
			"\"pg_size\":%d,\"ranks\":[",
			g ? "," : "", g, g ? "tensor_parallel" : "default_pg", m->world);
		for (int r = 0; r < m->world; r++)
			sb_putf(b, "%s%d", r ? "," : "", r);
		sb_put(b, "]}");
	}
	sb_put(b, "],\"nccl_version\":\"2.26.2\"},");
}

void trace_begin(struct trace *t, const struct model *m, const char *path, size_t out_cap)
{
	struct sb b = { 0 };

	out_open(&t->out, path, out_cap);
	t->v[S_PID] = t->pid;
	t->v[S_DEV] = t->device;
	sb_put(&b, "{\n\"schemaVersion\":1,");
	put_devices(&b, m);
	if (m->vendor == VENDOR_AMD)
		sb_put(&b, "\n\"roctracer_version\":4.1,\n\"hip_runtime_version\":60443483,"
			   "\n\"hip_driver_version\":60443483,");
	else
		sb_put(&b, "\n\"cupti_version\":26,\n\"cuda_runtime_version\":12080,"
			   "\n\"cuda_driver_version\":12080,");
	if (t->distributed)
		put_distributed(&b, m, t->rank);
	sb_put(&b, "\n\"record_shapes\":1,");
	if (m->stacks)
		sb_put(&b, "\n\"with_stack\":1,");
	sb_putf(&b, "\n\"trace_id\":\"%016llXA19F4C0E5D8B7263\",", (unsigned long long)t->trace_id);
	sb_put(&b, "\n\"traceEvents\":[");
	if (m->layout == LAYOUT_NATIVE)
		out_put(&t->out, "\n");
	put_text(t, m, b.s, 0);
	sb_free(&b);
}

#define META(name) "{\n\"name\":\"" name "\",\"ph\":\"M\",\"ts\":" T_TS ","

static void put_process(struct trace *t, const struct model *m, int pid, const char *label,
			long long sort_index)
{
	struct sb b = { 0 };

	sb_putf(&b, META("process_name") "\"pid\":%d,\"tid\":0,", pid);
	sb_put(&b, "\n\"args\":{\n\"name\":\"python3\"\n}\n}");
	put_canon(t, m, b.s);
	sb_reset(&b);
	sb_putf(&b, META("process_labels") "\"pid\":%d,\"tid\":0,", pid);
	sb_putf(&b, "\n\"args\":{\n\"labels\":\"%s\"\n}\n}", label);
	put_canon(t, m, b.s);
	sb_reset(&b);
	sb_putf(&b, META("process_sort_index") "\"pid\":%d,\"tid\":0,", pid);
	sb_putf(&b, "\n\"args\":{\n\"sort_index\":%lld\n}\n}", sort_index);
	put_canon(t, m, b.s);
	sb_free(&b);
}

static void put_thread(struct trace *t, const struct model *m, int pid, int tid, const char *name)
{
	struct sb b = { 0 };

	sb_putf(&b, META("thread_name") "\"pid\":%d,\"tid\":%d,", pid, tid);
	sb_putf(&b, "\n\"args\":{\n\"name\":\"%s\"\n}\n}", name);
	put_canon(t, m, b.s);
	sb_reset(&b);
	sb_putf(&b, META("thread_sort_index") "\"pid\":%d,\"tid\":%d,", pid, tid);
	sb_putf(&b, "\n\"args\":{\n\"sort_index\":%d\n}\n}", tid);
	put_canon(t, m, b.s);
	sb_free(&b);
}

static void put_names(struct trace *t, const struct model *m)
{
	char name[64] = "GPU 0";

	put_process(t, m, t->pid, "CPU", t->pid);
	for (int i = 0; i < N_DEVICES; i++) {
		name[4] = (char)('0' + i);
		put_process(t, m, i, name, (m->vendor == VENDOR_AMD ? 5000000 : 16777216) + i);
	}
	for (int i = 0; i < N_STREAMS; i++) {
		char *end = put_i64(stpcpy(name, "stream "), m->stream_no[i]);

		memcpy(end, " ", 2);
		put_thread(t, m, t->device, m->stream_no[i], name);
	}
	*stpcpy(put_i64(stpcpy(name, "thread "), t->pid), " (python3)") = '\0';
	put_thread(t, m, t->pid, t->pid, name);
	if (m->kind == KIND_TRAIN || m->kind == KIND_COMPILE) {
		*stpcpy(put_i64(stpcpy(name, "thread "), t->pid + 97), " (pt_autograd_0)") = '\0';
		put_thread(t, m, t->pid, t->pid + 97, name);
	}
}

/* The two python frames that stand around all steps. */
static void put_outer_frames(struct trace *t, const struct model *m)
{
	static const char *const names[] = { "main.py(212): <module>", OUTER_FRAME };

	for (int i = 0; i < 2; i++) {
		struct sb b = { 0 };

		t->v[S_TID] = t->pid;
		t->v[S_TS] = t->begin + t->ts_offset + 1000 * (i + 1);
		t->v[S_DUR] = t->end - t->begin - 2000 * (i + 1);
		t->v[S_PYID] = i + 1;
		t->v[S_PYPAR] = i;
		t->v[S_EV] = t->next_ev++;
		sb_putf(&b, "{\n\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"%s\",",
			names[i]);
		sb_put(&b, "\"pid\":" T_PID ",\"tid\":" T_TID ",\n\"ts\":" T_TS ",\"dur\":" T_DUR
			   ",\n\"args\":{\n\"Python parent id\":" T_PYPAR ",\"Python id\":" T_PYID
			   ",\"Ev Idx\":" T_EV "\n}\n}");
		put_canon(t, m, b.s);
		sb_free(&b);
	}
}

void trace_end(struct trace *t, const struct model *m)
{
	struct sb b = { 0 };

	if (m->stacks)
		put_outer_frames(t, m);
	t->v[S_TS] = t->begin + t->ts_offset;
	t->v[S_DUR] = t->end - t->begin;
	put_names(t, m);
	if (m->vendor == VENDOR_NVIDIA)
		put_canon(
			t, m,
			"{\n\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"Activity Buffer Request\","
			"\"pid\":-1,\"tid\":0,\n\"ts\":" T_TS ",\"dur\":1847.125,"
			"\n\"args\":{\n\n}\n}");
	put_canon(t, m,
		  "{\n\"ph\":\"X\",\"cat\":\"Trace\",\"ts\":" T_TS ",\"dur\":" T_DUR
		  ",\n\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\","
		  "\n\"name\":\"PyTorch Profiler (0)\",\n\"args\":{\n\"Op count\":0\n}\n}");
	put_canon(t, m,
		  META("process_sort_index") "\n\"pid\":\"Spans\",\"tid\":0,"
					     "\n\"args\":{\n\"sort_index\":536870912\n}\n}");
	put_canon(t, m,
		  "{\n\"name\":\"Iteration Start: PyTorch Profiler\",\"ph\":\"i\",\"s\":\"g\","
		  "\n\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":" T_TS "\n}");
	t->v[S_TS] = t->end + t->ts_offset + 2317451;
	put_canon(t, m,
		  "{\n\"name\":\"Record Window End\",\"ph\":\"i\",\"s\":\"g\",\n\"pid\":\"\","
		  "\"tid\":\"\",\"ts\":" T_TS "\n}");

	sb_putf(&b, "\n],\n\"traceName\":\"./trace/rank%d.json\",\n\"displayTimeUnit\":\"ms\"",
		t->rank);
	if (!m->epoch)
		sb_putf(&b, ",\n\"baseTimeNanoseconds\":%lld", (long long)BASE_TIME_NS);
	sb_put(&b, "\n}");
	put_text(t, m, b.s, 2);
	out_put(&t->out, "\n");
	sb_free(&b);
	out_close(&t->out);
}
