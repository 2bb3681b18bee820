/* Rows of GPU work and of CUDA calls. */
#include "trace/nsys.h"

#include "base/list.h"
#include "data/tables.h"

#include <stdio.h>

#define COUNT(columns) TW_COUNT_UP_TO(TW_SCAN_COLUMNS, columns)
/* All of a table's columns are numbers. */
#define ALL_OF(columns) TW_BITS_BEFORE(COUNT(columns))

static tw_code correlation_of(struct tw_export_part *part, unsigned column)
{
	int64_t id = part->rows.values[column];

	return tw_export_has(part, column) && tw_nsys_is_correlation(id) ?
		       tw_code_from_integer(part->trace, id) :
		       TW_CODE_NONE;
}

/* What rows of GPU work have in common; the arguments are still to come. */
static void gpu_event(struct tw_export_part *part, struct tw_export_event *e)
{
	const int64_t *v = part->rows.values;

	*e = (struct tw_export_event){ .phase = 'X' };
	tw_export_times(part, e);
	e->correlation = correlation_of(part, TW_GPU_CORRELATION);
	e->track = tw_export_gpu_track(part, v[TW_GPU_PROCESS], v[TW_GPU_DEVICE], v[TW_GPU_CONTEXT],
				       v[TW_GPU_GREEN], v[TW_GPU_STREAM]);
}

/* ---- kernels */

/* The first that there is. */
static uint32_t kernel_name(struct tw_export_part *part)
{
	static const unsigned columns[] = { TW_KERNEL_NAME, TW_KERNEL_SHORT_NAME,
					    TW_KERNEL_MANGLED_NAME };
	uint32_t name = 0;
	unsigned i;

	for (i = 0; i < COUNT(columns) && !name; i++)
		if (tw_export_has(part, columns[i]))
			name = tw_export_pool_text(part, part->rows.values[columns[i]]);
	if (!name)
		tw_export_count(part, TW_DEFECT_unnamed_kernel);
	return name;
}

static int take_kernel(struct tw_export_part *part)
{
	struct tw_export_event e;
	size_t start;

	gpu_event(part, &e);
	e.name = kernel_name(part);
	e.category = tw_export_category(part, "kernel", TRAWL_CLASS_KERNEL);
	if (tw_export_args_begin(part, 6, &start))
		return -1;
	tw_export_put(part, TW_KEY_context, TW_GPU_CONTEXT);
	if (tw_export_put_triple(part, TW_KEY_grid, TW_KERNEL_GRID) ||
	    tw_export_put_triple(part, TW_KEY_block, TW_KERNEL_BLOCK))
		return -1;
	tw_export_put(part, TW_KEY_registers, TW_KERNEL_REGISTERS);
	/* Kineto has the sum. */
	if (tw_export_has(part, TW_KERNEL_STATIC_SHARED) &&
	    !__builtin_add_overflow(part->rows.values[TW_KERNEL_STATIC_SHARED],
				    part->rows.values[TW_KERNEL_DYNAMIC_SHARED],
				    &part->rows.values[TW_KERNEL_STATIC_SHARED]))
		tw_export_put(part, TW_KEY_shared_memory, TW_KERNEL_STATIC_SHARED);
	tw_export_put(part, TW_KEY_graph_node, TW_KERNEL_NODE);
	return tw_export_args_end(part, start, &e.args) ? -1 : tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_kernel = {
	TW_EXPORT_TABLE(TW_NSYS_KERNELS, tw_kernel_columns, COUNT(tw_kernel_columns),
			ALL_OF(tw_kernel_columns)),
	TW_BITS_BEFORE(TW_GPU_COLUMNS), take_kernel
};

/* ---- copies, memsets */

enum { BYTES = TW_GPU_COLUMNS, COPY_KIND, SOURCE_KIND, TARGET_KIND, COPY_NODE };

static const char *const memcpy_columns[] = { TW_GPU_COLUMN_NAMES, "bytes",   "copyKind",
					      "srcKind",	   "dstKind", "graphNodeId" };

static void name_number(enum tw_nsys_what what, int64_t number, char buffer[TW_NSYS_NAME_BYTES])
{
	const char *name = tw_nsys_name(what, number);

	if (name)
		snprintf(buffer, TW_NSYS_NAME_BYTES, "%s", name);
	else
		snprintf(buffer, TW_NSYS_NAME_BYTES, "kind %lld", (long long)number);
}

/* As Kineto has it: "Memcpy HtoD (Pageable -> Device)". */
static uint32_t memcpy_name(struct tw_export_part *part)
{
	char kind[TW_NSYS_NAME_BYTES] = "Unknown", source[TW_NSYS_NAME_BYTES],
	     target[TW_NSYS_NAME_BYTES], name[4 * TW_NSYS_NAME_BYTES];
	int len;

	if (tw_export_has(part, COPY_KIND))
		name_number(TW_NSYS_COPY, part->rows.values[COPY_KIND], kind);
	if (tw_export_has(part, SOURCE_KIND) && tw_export_has(part, TARGET_KIND)) {
		name_number(TW_NSYS_MEMORY, part->rows.values[SOURCE_KIND], source);
		name_number(TW_NSYS_MEMORY, part->rows.values[TARGET_KIND], target);
		len = snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", kind, source, target);
	} else {
		len = snprintf(name, sizeof(name), "Memcpy %s", kind);
	}
	return tw_pool_intern(&part->trace->texts, name, (size_t)len);
}

static int put_memory_args(struct tw_export_part *part, unsigned node, uint32_t *args)
{
	size_t start;

	if (tw_export_args_begin(part, 3, &start))
		return -1;
	tw_export_put(part, TW_KEY_context, TW_GPU_CONTEXT);
	tw_export_put(part, TW_KEY_bytes, BYTES);
	tw_export_put(part, TW_KEY_graph_node, node);
	return tw_export_args_end(part, start, args);
}

static int take_memcpy(struct tw_export_part *part)
{
	struct tw_export_event e;

	gpu_event(part, &e);
	e.name = memcpy_name(part);
	e.category = tw_export_category(part, "gpu_memcpy", TRAWL_CLASS_MEMCPY);
	return put_memory_args(part, COPY_NODE, &e.args) ? -1 : tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_memcpy = { TW_EXPORT_TABLE(TW_NSYS_COPIES, memcpy_columns,
								  COUNT(memcpy_columns),
								  ALL_OF(memcpy_columns)),
						  TW_BITS_BEFORE(TW_GPU_COLUMNS), take_memcpy };

enum { MEMORY_KIND = BYTES + 1, MEMSET_NODE };

static const char *const memset_columns[] = { TW_GPU_COLUMN_NAMES, "bytes", "memKind",
					      "graphNodeId" };

static int take_memset(struct tw_export_part *part)
{
	char kind[TW_NSYS_NAME_BYTES] = "Unknown", name[2 * TW_NSYS_NAME_BYTES];
	struct tw_export_event e;
	int len;

	gpu_event(part, &e);
	if (tw_export_has(part, MEMORY_KIND))
		name_number(TW_NSYS_MEMORY, part->rows.values[MEMORY_KIND], kind);
	len = snprintf(name, sizeof(name), "Memset (%s)", kind);
	e.name = tw_pool_intern(&part->trace->texts, name, (size_t)len);
	e.category = tw_export_category(part, "gpu_memset", TRAWL_CLASS_MEMSET);
	return put_memory_args(part, MEMSET_NODE, &e.args) ? -1 : tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_memset = { TW_EXPORT_TABLE(TW_NSYS_MEMSETS, memset_columns,
								  COUNT(memset_columns),
								  ALL_OF(memset_columns)),
						  TW_BITS_BEFORE(TW_GPU_COLUMNS), take_memset };

/* ---- waiting, which is no work of the GPU */

enum { SYNC_TYPE = TW_GPU_COLUMNS };

static const char *const sync_columns[] = { TW_GPU_COLUMN_NAMES, "syncType" };

/* Beside the streams, as in traces of Kineto: a stream on which nothing but waiting is has no work. */
static uint32_t sync_track(struct tw_export_part *part)
{
	int64_t stream = part->rows.values[TW_GPU_STREAM];
	struct tw_track track = { .device = TW_CODE_NONE, .stream = TW_CODE_NONE };
	char text[40];
	int len;

	if (tw_export_has(part, TW_GPU_STREAM) && stream != UINT32_MAX && stream != -1)
		len = snprintf(text, sizeof(text), "stream %lld", (long long)stream);
	else
		len = snprintf(text, sizeof(text), "synchronisation");
	track.pid = tw_code_from_integer(part->trace,
					 tw_nsys_process(part->rows.values[TW_GPU_PROCESS]));
	track.tid = tw_code_from_text(part->trace, text, (size_t)len);
	return tw_trace_track(part->trace, &track);
}

static int take_sync(struct tw_export_part *part)
{
	struct tw_export_event e = { .phase = 'X' };
	char name[TW_NSYS_NAME_BYTES] = "Unknown";

	tw_export_times(part, &e);
	if (tw_export_has(part, SYNC_TYPE))
		name_number(TW_NSYS_SYNC, part->rows.values[SYNC_TYPE], name);
	e.name = tw_pool_intern_cstr(&part->trace->texts, name);
	e.correlation = correlation_of(part, TW_GPU_CORRELATION);
	e.track = sync_track(part);
	e.category = tw_export_category(part, "cuda_sync", TRAWL_CLASS_OTHER);
	return tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_sync = {
	TW_EXPORT_TABLE(TW_NSYS_SYNCS, sync_columns, COUNT(sync_columns), ALL_OF(sync_columns)),
	TW_BITS_BEFORE(TW_GPU_COLUMNS), take_sync
};

/* ---- graph launches that hide their kernels */

enum { GRAPH = TW_GPU_COLUMNS, GRAPH_EXEC };

static const char *const graph_columns[] = { TW_GPU_COLUMN_NAMES, "graphId", "graphExecId" };

static int take_graph(struct tw_export_part *part)
{
	struct tw_export_event e;
	char name[48];
	int len;

	if (!tw_export_has(part, TW_GPU_END) || !part->rows.values[TW_GPU_END]) {
		tw_export_count(part, TW_DEFECT_graph_incomplete);
		return 0;
	}
	gpu_event(part, &e);
	len = tw_export_has(part, GRAPH) ? snprintf(name, sizeof(name), "[CUDA graph %lld]",
						    (long long)part->rows.values[GRAPH]) :
					   snprintf(name, sizeof(name), "[CUDA graph]");
	e.name = tw_pool_intern(&part->trace->texts, name, (size_t)len);
	e.category = tw_export_category(part, "cuda_graph", TRAWL_CLASS_KERNEL);
	tw_export_count(part, TW_DEFECT_graph_hidden);
	return tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_graph = {
	TW_EXPORT_TABLE(TW_NSYS_GRAPHS, graph_columns, COUNT(graph_columns), ALL_OF(graph_columns)),
	TW_BITS_BEFORE(TW_GPU_COLUMNS), take_graph
};

/* ---- calls of the runtime and of the driver */

static int take_call(struct tw_export_part *part)
{
	struct tw_export_event e = { .phase = 'X' };
	size_t start;

	tw_export_times(part, &e);
	if (tw_export_has(part, TW_CALL_NAME))
		e.name = tw_export_call(part, part->rows.values[TW_CALL_NAME]);
	e.correlation = correlation_of(part, TW_CALL_CORRELATION);
	e.track = tw_export_host_track(part, part->rows.values[TW_CALL_THREAD]);
	e.category = part->rows.values[TW_CALL_CLASS] == 1 ?
			     tw_export_category(part, "cuda_driver", TRAWL_CLASS_DRIVER) :
			     tw_export_category(part, "cuda_runtime", TRAWL_CLASS_RUNTIME);
	/* Calls that succeed are all but all. */
	if (part->rows.values[TW_CALL_RESULT]) {
		if (tw_export_args_begin(part, 1, &start))
			return -1;
		tw_export_put(part, TW_KEY_return_value, TW_CALL_RESULT);
		if (tw_export_args_end(part, start, &e.args))
			return -1;
	}
	return tw_export_keep(part, &e);
}

const struct tw_export_table tw_export_runtime = {
	TW_EXPORT_TABLE(TW_NSYS_CALLS, tw_call_columns, TW_CALL_COLUMNS, ALL_OF(tw_call_columns)),
	TW_BITS_BEFORE(TW_CALL_NAME), take_call
};
