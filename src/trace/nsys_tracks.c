/*
 * Ids of processes, devices and streams, from the preliminary ones.  The number of a device counts
 * within a process: with CUDA_VISIBLE_DEVICES each may call its GPU 0.  What is the same GPU the
 * export has TARGET_INFO_CUDA_DEVICE (since 2025), or there is only one; otherwise
 * the device is named by its process too.  Numbers of streams may repeat in each context.
 */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "base/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PID(process) tw_nsys_pid(process)
#define HOST(process) ((process) >> 24)

struct mapping {
	int64_t pid, device, gpu;
};

struct gpu {
	int64_t id, bytes; /* bytes: of its memory, -1: unknown */
	uint32_t name;
};

/* A stream of the trace. */
struct place {
	int64_t process, device, stream, gpu; /* gpu: -1, not known */
	tw_code context, final_device;
	uint32_t track;
};

struct settling {
	struct tw_export_part *part;
	TW_LIST(struct mapping) mappings;
	TW_LIST(struct gpu) gpus;
	struct place *places;
	size_t count;
	bool several_hosts;
};

static int64_t number_of(const struct trawl_trace *trace, tw_code code)
{
	char buffer[24];
	size_t len;

	return code == TW_CODE_NONE ? 0 :
				      strtoll(tw_code_text(trace, code, buffer, &len), NULL, 10);
}

/* ---- GPUs of the export */

static int take_gpu(struct tw_export_part *part)
{
	struct settling *s = part->rows.context;
	struct gpu gpu = { .id = part->rows.values[0], .bytes = -1 };
	const char *name;
	size_t len;

	if (!tw_export_has(part, 0))
		return 0;
	if (tw_export_has(part, 1))
		gpu.bytes = part->rows.values[1];
	name = tw_scan_text(part->rows.scan, 2, &len);
	gpu.name = name ? tw_export_intern(part, name, len) : 0;
	return TW_LIST_ADD(&s->gpus, &gpu, part->rows.allocator) ? 0 : -1;
}

static int take_mapping(struct tw_export_part *part)
{
	struct settling *s = part->rows.context;
	const int64_t *v = part->rows.values;
	struct mapping mapping = { v[0], v[1], v[2] };

	return (part->rows.given & 7) != 7 ||
			       TW_LIST_ADD(&s->mappings, &mapping, part->rows.allocator) ?
		       0 :
		       -1;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, device);
}

static int read_gpus(struct settling *s)
{
	static const char *const gpu_columns[] = { "id", "totalMemory", "name" };
	static const char *const mapping_columns[] = { "pid", "cudaId", "gpuId" };

	s->part->rows.context = s;
	if (tw_export_each(s->part, "TARGET_INFO_GPU", gpu_columns, 3, 3, take_gpu) ||
	    tw_export_each(s->part, "TARGET_INFO_CUDA_DEVICE", mapping_columns, 3, 7, take_mapping))
		return -1;
	if (s->mappings.count)
		qsort(s->mappings.at, s->mappings.count, sizeof(*s->mappings.at), compare_mappings);
	return 0;
}

static int64_t gpu_of(const struct settling *s, int64_t process, int64_t device)
{
	struct mapping key = { .pid = PID(process), .device = device };
	const struct mapping *found = s->mappings.count ?
					      bsearch(&key, s->mappings.at, s->mappings.count,
						      sizeof(*s->mappings.at), compare_mappings) :
					      NULL;

	return found ? found->gpu : -1;
}

static int list_places(struct settling *s)
{
	const struct trawl_trace *trace = s->part->trace;
	uint32_t t;

	s->places =
		tw_alloc_array(s->part->rows.allocator, trace->track_count + 1, sizeof(*s->places));
	if (!s->places)
		return -1;
	for (t = 0; t < trace->track_count; t++) {
		const struct tw_track *track = &trace->tracks[t];
		struct place *place = &s->places[s->count];

		if (track->device == TW_CODE_NONE)
			continue;
		*place = (struct place){ .process = number_of(trace, track->pid),
					 .device = number_of(trace, track->device),
					 .stream = number_of(trace, track->stream),
					 .context = track->tid,
					 .final_device = track->device,
					 .track = t };
		place->gpu = gpu_of(s, place->process, place->device);
		s->several_hosts |= HOST(place->process) != HOST(s->places[0].process);
		s->count++;
	}
	return 0;
}

/* ---- devices */

static int compare_by_device(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, device, gpu, process);
}

static int compare_by_gpu(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, gpu, device);
}

/* Whether each device number is one GPU, and each GPU has one such number. */
static bool numbers_agree(struct settling *s)
{
	bool agree = true;
	size_t i;

	qsort(s->places, s->count, sizeof(*s->places), compare_by_gpu);
	for (i = 1; i < s->count; i++)
		agree &= s->places[i].gpu != s->places[i - 1].gpu ||
			 s->places[i].device == s->places[i - 1].device;
	qsort(s->places, s->count, sizeof(*s->places), compare_by_device);
	for (i = 1; i < s->count; i++)
		agree &= s->places[i].device != s->places[i - 1].device ||
			 s->places[i].gpu == s->places[i - 1].gpu;
	return agree;
}

static tw_code text_code(const struct settling *s, const char *text, int len)
{
	return tw_code_from_text(s->part->trace, text, (size_t)len);
}

/* "0 (pid 41213)", and with several hosts that too. */
static tw_code name_device(const struct settling *s, const struct place *place)
{
	char text[100], host[40] = "";

	if (s->several_hosts)
		snprintf(host, sizeof(host), ", host %lld", (long long)HOST(place->process));
	return text_code(s, text,
			 snprintf(text, sizeof(text), "%lld (pid %lld%s)", (long long)place->device,
				  (long long)PID(place->process), host));
}

/* Devices of one number that are not known to be the same. */
static void name_by_process(struct settling *s)
{
	size_t first = 0, end, i;

	for (; first < s->count; first = end) {
		const struct place *one = &s->places[first];
		bool several = false;

		for (end = first; end < s->count && s->places[end].device == one->device; end++)
			several |= s->places[end].process != one->process &&
				   (s->places[end].gpu < 0 || s->several_hosts ||
				    s->places[end].gpu != one->gpu);
		for (i = first; several && i < end; i++)
			s->places[i].final_device = name_device(s, &s->places[i]);
	}
}

static void settle_devices(struct settling *s)
{
	bool mapped = !s->several_hosts, agree = numbers_agree(s);
	size_t i;

	for (i = 0; i < s->count; i++)
		mapped &= s->places[i].gpu >= 0;
	if (mapped && !agree)
		for (i = 0; i < s->count; i++)
			s->places[i].final_device =
				tw_code_from_integer(s->part->trace, s->places[i].gpu);
	else if (!mapped && (s->gpus.count != 1 || s->several_hosts))
		name_by_process(s);
}

/* ---- streams */

static int compare_by_stream(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, final_device, stream, track);
}

/* "7 (context 2)", "7 (pid 41213)" */
static tw_code name_stream(const struct settling *s, const struct place *place, bool processes,
			   bool contexts)
{
	char buffer[24], text[160], context[80] = "", pid[40] = "";
	const char *p;
	size_t len;

	p = tw_code_text(s->part->trace, place->context, buffer, &len);
	if (contexts && strchr(p, '/'))
		snprintf(context, sizeof(context), "context %.*s, green context %s",
			 (int)(strchr(p, '/') - p), p, strchr(p, '/') + 1);
	else if (contexts)
		snprintf(context, sizeof(context), "context %s", p);
	if (processes)
		snprintf(pid, sizeof(pid), "pid %lld", (long long)PID(place->process));
	return text_code(s, text,
			 snprintf(text, sizeof(text), "%lld (%s%s%s)", (long long)place->stream,
				  pid, processes && contexts ? ", " : "", context));
}

static void settle_streams(struct settling *s)
{
	struct tw_track *tracks = s->part->trace->tracks;
	size_t first = 0, end, i;
	char text[200], buffer[24];

	qsort(s->places, s->count, sizeof(*s->places), compare_by_stream);
	for (; first < s->count; first = end) {
		const struct place *one = &s->places[first];
		bool processes = false, contexts = false;

		for (end = first; end < s->count && s->places[end].stream == one->stream &&
				  s->places[end].final_device == one->final_device;
		     end++) {
			processes |= s->places[end].process != one->process;
			contexts |= s->places[end].context != one->context;
		}
		/* In different processes the numbers of contexts say nothing, unless one has two. */
		contexts &= !processes || end - first > 2;
		for (i = first; i < end; i++) {
			struct tw_track *track = &tracks[s->places[i].track];
			size_t len;

			track->device = s->places[i].final_device;
			if (processes || contexts)
				track->stream = name_stream(s, &s->places[i], processes, contexts);
			track->tid = text_code(s, text,
					       snprintf(text, sizeof(text), "stream %s",
							tw_code_text(s->part->trace, track->stream,
								     buffer, &len)));
		}
	}
}

/* ---- processes */

struct process {
	int64_t number;
	uint32_t track;
};

/* By the number that is shown, so that two hosts' processes of one number are adjacent. */
static int compare_processes(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (PID(x->number) != PID(y->number))
		return PID(x->number) < PID(y->number) ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int settle_processes(struct settling *s)
{
	struct trawl_trace *trace = s->part->trace;
	size_t first = 0, end, i;
	struct process *list = tw_alloc_array(s->part->rows.allocator,
					      (size_t)trace->track_count + 1, sizeof(*list));
	char text[80];
	uint32_t t;

	if (!list)
		return -1;
	for (t = 0; t < trace->track_count; t++)
		list[t] = (struct process){ number_of(trace, trace->tracks[t].pid), t };
	qsort(list, trace->track_count, sizeof(*list), compare_processes);
	for (; first < trace->track_count; first = end) {
		bool several = false;

		for (end = first;
		     end < trace->track_count && PID(list[end].number) == PID(list[first].number);
		     end++)
			several |= list[end].number != list[first].number;
		for (i = first; i < end; i++)
			trace->tracks[list[i].track].pid =
				several ? text_code(s, text,
						    snprintf(text, sizeof(text), "%lld (host %lld)",
							     (long long)PID(list[i].number),
							     (long long)HOST(list[i].number))) :
					  (tw_code)PID(list[i].number);
	}
	return 0;
}

/* ---- the name of the GPU: of the first device that did something, else of the first one */

static void name_gpu(struct settling *s)
{
	struct trawl_trace *trace = s->part->trace;
	int64_t wanted = -1;
	size_t i;

	if (!s->gpus.count)
		return;
	/* They are in order of device here. */
	if (s->count)
		wanted = s->places[0].gpu >= 0 ? s->places[0].gpu : s->places[0].device;
	for (i = s->gpus.count; i && s->gpus.at[i - 1].id != wanted; i--)
		;
	i = i ? i - 1 : 0;
	trace->device_bytes = s->gpus.at[i].bytes;
	if (s->gpus.at[i].name)
		trace->device_name = tw_pool_text(&trace->texts, s->gpus.at[i].name, NULL);
}

int tw_export_settle_tracks(struct tw_export_part *part)
{
	struct settling s = { .part = part };

	if (read_gpus(&s) || list_places(&s))
		return -1;
	settle_devices(&s);
	name_gpu(&s);
	settle_streams(&s);
	return settle_processes(&s);
}
