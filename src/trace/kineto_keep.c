/*
 * From the fields of an event to a row of the columns: what its category means, which track it
 * is on, whether its times can be used.
 */
#include "trace/kineto.h"

#include "trace/reader.h"

#include <string.h>
#include <strings.h>

/* What MTIA does is of one category; non-kernels there are classified by name. */
#define MIXED_CATEGORY "mtia_ccp_events"

static const struct {
	const char *name;
	enum trawl_class class;
} mixed_names[] = {
	{ "dma_request", TRAWL_CLASS_MEMCPY },
	{ "event_wait", TRAWL_CLASS_OTHER },
	{ "event_record", TRAWL_CLASS_OTHER },
};

/* How the categories of the PyTorch profiler are spelled, now and in 2021, in lower case. */
static const struct {
	const char *name;
	enum trawl_class class;
} category_names[] = {
	{ "cpu_op", TRAWL_CLASS_CPU_OP },
	{ "operator", TRAWL_CLASS_CPU_OP },
	{ "kernel", TRAWL_CLASS_KERNEL },
	{ MIXED_CATEGORY, TRAWL_CLASS_KERNEL },
	{ "gpu_memcpy", TRAWL_CLASS_MEMCPY },
	{ "memcpy", TRAWL_CLASS_MEMCPY },
	{ "gpu_memset", TRAWL_CLASS_MEMSET },
	{ "memset", TRAWL_CLASS_MEMSET },
	{ "cuda_runtime", TRAWL_CLASS_RUNTIME },
	{ "hip_runtime", TRAWL_CLASS_RUNTIME },
	{ "xpu_runtime", TRAWL_CLASS_RUNTIME },
	{ "mtia_runtime", TRAWL_CLASS_RUNTIME },
	{ "musa_runtime", TRAWL_CLASS_RUNTIME },
	{ "hpu_op", TRAWL_CLASS_RUNTIME }, /* calls of the host, in spite of its name */
	{ "privateuse1_runtime", TRAWL_CLASS_RUNTIME },
	{ "runtime", TRAWL_CLASS_RUNTIME },
	{ "cuda_driver", TRAWL_CLASS_DRIVER },
	{ "hip_driver", TRAWL_CLASS_DRIVER },
	{ "xpu_driver", TRAWL_CLASS_DRIVER },
	{ "musa_driver", TRAWL_CLASS_DRIVER },
	{ "privateuse1_driver", TRAWL_CLASS_DRIVER },
	{ "driver", TRAWL_CLASS_DRIVER },
	{ "python_function", TRAWL_CLASS_PYTHON },
	{ "user_annotation", TRAWL_CLASS_ANNOTATION },
	{ "gpu_user_annotation", TRAWL_CLASS_GPU_ANNOTATION },
};

static enum trawl_class class_of(const char *name, size_t len)
{
	char lower[24];
	size_t i;

	if (len >= sizeof(lower))
		return TRAWL_CLASS_OTHER;
	for (i = 0; i < len; i++)
		lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	lower[len] = 0;
	for (i = 0; i < sizeof(category_names) / sizeof(category_names[0]); i++)
		if (!strcmp(lower, category_names[i].name))
			return category_names[i].class;
	return TRAWL_CLASS_OTHER;
}

__attribute__((cold)) void tw_kineto_find_category(struct tw_kineto *k,
						   struct tw_category_seen *seen)
{
	uint32_t id = k->fields.category;
	size_t len;
	const char *name = tw_pool_text(&k->trace->texts, id, &len);

	seen->name = id;
	seen->category = (uint16_t)tw_trace_category(k->trace, id, class_of(name, len));
	seen->mixed = !strcasecmp(name, MIXED_CATEGORY);
}

/* The class of an event of a mixed category, by its name. */
static enum trawl_class class_of_mixed(const struct tw_kineto *k)
{
	const char *name = tw_pool_text(&k->trace->texts, k->fields.name, NULL);
	size_t i;

	for (i = 0; i < sizeof(mixed_names) / sizeof(mixed_names[0]); i++)
		if (!strcmp(name, mixed_names[i].name))
			return mixed_names[i].class;
	return TRAWL_CLASS_KERNEL;
}

/* Stream numbers of 2021 are in the thread id as "stream 7". */
static tw_code stream_of_thread(struct tw_kineto *k, tw_code tid)
{
	static const char prefix[] = "stream ";
	const char *text;
	size_t len;

	if (tid == TW_CODE_NONE || !(tid & TW_CODE_TEXT))
		return tid;
	text = tw_pool_text(&k->trace->texts, tid & ~TW_CODE_TEXT, &len);
	if (len > sizeof(prefix) - 1 && !strncasecmp(text, prefix, sizeof(prefix) - 1))
		return tw_code_from_text(k->trace, text + sizeof(prefix) - 1,
					 len - (sizeof(prefix) - 1));
	return tid;
}

static uint32_t track_of(struct tw_kineto *k, enum trawl_class class)
{
	const struct tw_event_fields *f = &k->fields;
	struct tw_track track = { f->pid, f->tid, TW_CODE_NONE, TW_CODE_NONE };
	uint32_t slot;

	if (tw_class_is_gpu(class) || class == TRAWL_CLASS_GPU_ANNOTATION) {
		track.device = f->device != TW_CODE_NONE ? f->device : f->pid;
		track.stream = f->stream != TW_CODE_NONE ? f->stream : stream_of_thread(k, f->tid);
	}
	slot = (track.pid * 31 + track.tid * 7 + track.device * 3 + track.stream) % 64;
	if (memcmp(&k->tracks[slot].track, &track, sizeof(track)) ||
	    k->tracks[slot].index == UINT32_MAX) {
		k->tracks[slot].index = tw_trace_track(k->trace, &track);
		k->tracks[slot].track = track;
		if (k->tracks[slot].index == UINT32_MAX)
			k->out_of_memory = true;
	}
	return k->tracks[slot].index;
}

/* Whether a slice's times can be used; counts why not. */
static bool check_slice(struct tw_kineto *k, enum trawl_class class, const char *at)
{
	struct tw_event_fields *f = &k->fields;
	bool gpu = tw_class_is_gpu(class);
	enum tw_defect kind;

	if (f->start_ns == TRAWL_TIME_NONE)
		kind = gpu ? TW_DEFECT_gpu_no_start : TW_DEFECT_no_duration;
	else if (f->dur_ns == TRAWL_TIME_NONE)
		kind = gpu ? TW_DEFECT_gpu_no_duration : TW_DEFECT_no_duration;
	else if (f->start_ns > TW_LATEST_TIME_NS || f->start_ns < -TW_LATEST_TIME_NS ||
		 f->dur_ns > TW_LONGEST_DURATION_NS || f->dur_ns < -TW_LONGEST_DURATION_NS)
		kind = gpu ? TW_DEFECT_gpu_overflow : TW_DEFECT_overflow;
	else if (f->dur_ns < 0)
		kind = gpu ? TW_DEFECT_gpu_negative_duration : TW_DEFECT_negative_duration;
	else if (gpu && f->start_ns == 0 && f->dur_ns == 0)
		kind = TW_DEFECT_gpu_time_lost;
	else
		return true;
	if (f->dur_ns < 0 || kind == TW_DEFECT_gpu_overflow || kind == TW_DEFECT_overflow)
		f->dur_ns = TRAWL_TIME_NONE;
	if (class == TRAWL_CLASS_OTHER)
		return false;
	tw_kineto_flaw(k, kind, at);
	return false;
}

enum tw_attempt tw_kineto_keep_event(struct tw_kineto *k, const char *at)
{
	struct tw_events *events = &k->trace->events;
	struct tw_event_fields *f = &k->fields;
	enum trawl_class class;
	uint64_t i;
	unsigned n, category;

	tw_kineto_set_category(k);
	category = k->last_category.category;
	if (__builtin_expect(k->last_category.mixed, 0))
		category = tw_trace_category(k->trace, f->category, class_of_mixed(k));
	class = k->trace->categories[category].class;
	if (f->phase == 'X' && !check_slice(k, class, at))
		f->phase = 'x';
	if (f->phase == 'X' && !f->category)
		tw_kineto_flaw(k, TW_DEFECT_no_category, at);
	/* Not used, whatever the phase. */
	if (f->start_ns > TW_LATEST_TIME_NS || f->start_ns < -TW_LATEST_TIME_NS)
		f->start_ns = TRAWL_TIME_NONE;
	if (!f->phase)
		tw_kineto_flaw(k, TW_DEFECT_not_an_event, at);
	if (tw_events_grow(k->trace))
		k->out_of_memory = true;
	if (k->out_of_memory)
		return TW_EVENT_BAD;
	i = events->count++;
	events->start_ns[i] = f->start_ns;
	events->dur_ns[i] = f->dur_ns;
	events->name[i] = f->name;
	k->last_name = f->name;
	events->track[i] = track_of(k, class);
	events->correlation[i] =
		f->id != TW_CODE_NONE && f->correlation == TW_CODE_NONE ? f->id : f->correlation;
	events->external[i] = f->external;
	events->args[i] = f->args;
	events->category[i] = (uint16_t)category;
	events->phase[i] = f->phase;
	for (n = 0; n < k->flaw_kinds; n++)
		tw_quality_add(&k->trace->quality, k->flaws[n].kind, k->flaws[n].count,
			       k->flaws[n].offset, (int64_t)i);
	return TW_EVENT_READ;
}
