#include "analysis/who/grouping.h"

#include "analysis/who/op_stacks.h"
#include "analysis/who/sweep.h"

#include "base/alloc.h"

#include <string.h>

static uint32_t module_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->path;
}

static void add_module(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	tw_module_path(in->who, group, out);
}

static uint32_t site_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->site;
}

static void add_text(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	size_t len;
	const char *text = tw_pool_text(&in->trace->texts, group, &len);

	tw_str_add(out, text, len);
}

static uint32_t pass_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->pass;
}

static void add_pass(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	(void)in;
	tw_str_add_cstr(out, tw_pass_names[group]);
}

static bool has_frames(const struct tw_analysis_input *in)
{
	return tw_has_frames(in->trace) || in->trace->captures.modules.count;
}

/* By name: processes have steps of the same name. */
static uint32_t step_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	uint32_t span = in->when->step[gpu];

	return span == TW_NONE ? TW_GROUP_OUTSIDE :
				 in->trace->events.name[in->when->steps.items[span].event];
}

static bool has_steps(const struct tw_analysis_input *in)
{
	return in->when->steps.count;
}

/* 0 is left to operators without GPU events. */
static uint32_t phase_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	enum tw_phase phase = tw_when_phase(in->when, gpu);

	return phase == TW_PHASES ? TW_GROUP_OUTSIDE : (uint32_t)phase + 1;
}

static void add_phase(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	(void)in;
	if (group)
		tw_str_add_cstr(out, tw_phase_names[group - 1]);
}

static bool has_phases(const struct tw_analysis_input *in)
{
	return in->when->served.count;
}

static uint32_t stream_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return in->derived->gpu.queue[gpu];
}

/* Tracks of the host are queues without a device. */
static bool has_several_devices(const struct tw_gpu *gpu)
{
	tw_code first = TW_CODE_NONE;
	uint32_t q;

	for (q = 0; q < gpu->queue_count; q++) {
		tw_code device = gpu->queues[q].device;

		if (first != TW_CODE_NONE && device != TW_CODE_NONE && device != first)
			return true;
		first = first == TW_CODE_NONE ? device : first;
	}
	return false;
}

/* With its device where there are several. */
static void add_stream(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	const struct tw_queue *queue = &gpu->queues[group];
	char buffer[24];
	size_t len;
	const char *text;

	if (has_several_devices(gpu)) {
		text = tw_code_text(in->trace, queue->device, buffer, &len);
		tw_str_add(out, text, len);
		tw_str_add_char(out, ':');
	}
	text = tw_code_text(in->trace, queue->stream, buffer, &len);
	tw_str_add(out, text, len);
}

#define FRAMES_NEEDED "Python functions (with_stack=True) or, in exports, NVTX ranges"

static const struct tw_grouping groupings[] = {
	{ "module",
	  TW_TEXT(TW_COL_MODULE, 60, "module path of the launch", .over_ranks = TRAWL_KEY),
	  TW_LABEL_UNLINKED, true, has_frames, FRAMES_NEEDED, module_of, add_module },
	{ "site", TW_TEXT(TW_COL_CALL_SITE, 60, "call site of the launch", .over_ranks = TRAWL_KEY),
	  TW_LABEL_UNLINKED, true, has_frames, FRAMES_NEEDED, site_of, add_text },
	{ "pass", TW_TEXT("pass", 12, "forward, backward or recompute", .over_ranks = TRAWL_KEY),
	  TW_LABEL_UNLINKED, true, NULL, NULL, pass_of, add_pass },
	{ "step", TW_TEXT("step", 24, "profiler step of the launch", .over_ranks = TRAWL_KEY),
	  TW_LABEL_NO_LAUNCH, false, has_steps, "profiler steps (ProfilerStep#N)", step_of,
	  add_text },
	{ "phase",
	  TW_TEXT("phase", 12, "phase of the inference step of the launch",
		  .over_ranks = TRAWL_KEY),
	  TW_LABEL_NO_LAUNCH, false, has_phases,
	  "annotations of an inference server (prefill, decode)", phase_of, add_phase },
	{ "stream",
	  TW_TEXT("stream", 12, "stream; of several devices DEVICE:STREAM",
		  .over_ranks = TRAWL_KEY),
	  NULL, false, NULL, NULL, stream_of, add_stream },
};

const struct tw_grouping *tw_grouping_named(const char *name, struct tw_str *names)
{
	size_t i;

	for (i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		if (!strcmp(groupings[i].name, name))
			return &groupings[i];
		if (names)
			tw_str_addf(names, "%s%s", i ? ", " : "", groupings[i].name);
	}
	return NULL;
}

int tw_grouping_check(const struct tw_analysis_input *in, struct trawl_error *err)
{
	const struct tw_grouping *g = in->grouping;

	if (!g || !g->is_recorded || g->is_recorded(in))
		return 0;
	return trawl_error_set(err, TRAWL_EUSAGE, "grouping by %s needs %s: none are recorded",
			       g->name, g->needs);
}

uint32_t tw_group_of_gpu(const struct tw_analysis_input *in, uint64_t gpu)
{
	if (!in->grouping)
		return 0;
	return in->grouping->unlinked && in->derived->gpu.launch[gpu] == TW_NONE ?
		       TW_GROUP_UNLINKED :
		       in->grouping->of_gpu(in, gpu);
}

struct trawl_table *tw_grouped_table(const struct tw_analysis_input *in,
				     const struct tw_table_spec *spec,
				     const struct trawl_column *columns, size_t count)
{
	size_t size = (count + TW_STACK_COLUMNS + 1) * sizeof(*columns), n = count;
	struct trawl_column *more = tw_alloc(in->allocator, size);
	struct trawl_table *table;

	if (!more)
		return NULL;
	memcpy(more, columns, count * sizeof(*columns));
	if (in->stacks) {
		memcpy(more + n, tw_stack_columns, sizeof(tw_stack_columns));
		n += TW_STACK_COLUMNS;
	}
	if (in->grouping)
		more[n++] = in->grouping->column;
	table = tw_table_new_columns(spec, more, n, in->tables);
	tw_free(in->allocator, more, size);
	return table;
}

void tw_set_group(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		  uint32_t group)
{
	struct tw_str name;
	size_t column;

	if (!in->grouping)
		return;
	column = trawl_table_columns(table) - 1;
	if (group >= TW_GROUP_OUTSIDE) {
		tw_table_set_str(table, row, column,
				 group == TW_GROUP_OUTSIDE ? TW_LABEL_LAUNCHED_OUTSIDE :
				 in->grouping->unlinked	   ?:
							     TW_LABEL_NONE);
		return;
	}
	tw_str_init(&name, in->allocator);
	in->grouping->add_name(in, group, &name);
	if (name.len)
		tw_table_set_text(table, row, column, name.ptr, name.len);
	else
		tw_table_set_str(table, row, column, TW_LABEL_NONE);
	tw_str_release(&name);
}
