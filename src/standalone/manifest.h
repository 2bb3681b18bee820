/*
 * What was analysed, how busy the GPU was, which categories of operations there are and which operations
 * take the most time: category_manifest.json and the metadata of each category, written for those who run
 * the steps themselves, and read back where one is run alone.
 * Keys: the standalone analysis, steps 2 to 5, and the later version of its tools.
 */
#ifndef TW_STANDALONE_MANIFEST_H
#define TW_STANDALONE_MANIFEST_H

#include "standalone/fields.h"
#include "standalone/prepared.h"
#include "trawl/report.h"

/* Parts of the timeline; of each its time or its share may be all that is known. */
enum tw_use_part {
	TW_USE_TOTAL,
	TW_USE_COMPUTATION,
	TW_USE_COMM,
	TW_USE_MEMCPY,
	TW_USE_IDLE,
	TW_USE_PARTS
};

struct tw_use {
	int64_t ns[TW_USE_PARTS];
	double percent[TW_USE_PARTS];
};

extern const struct tw_fields tw_use_fields;

/* By its own figure, else by its share; NaN: not known. */
double tw_use_ms(const struct tw_use *use, enum tw_use_part part);

struct tw_hardware {
	const char *platform; /* NULL: not known */
	double hbm_tb_s, memory_gb;
	TW_FIELD_LIST(struct tw_named) tflops;
};

extern const struct tw_fields tw_hardware_fields;

struct tw_caller {
	const char *name, *type; /* "module", "python", "annotation", "operation", "forward" */
};

struct tw_callee {
	const char *name, *type, *input_dims, *input_type;
	uint64_t depth;
	int64_t dur_ns;
};

struct tw_neighbour {
	const char *name, *category;
	int64_t time_ns;
	uint64_t kernels;
	bool self;
};

/* Of an operation: who calls it, innermost first, what it calls, and what runs beside it. */
struct tw_tree {
	const char *op, *input_dims;
	uint64_t uid, call_count;
	double time_ms;
	TW_FIELD_LIST(struct tw_caller) callers;
	TW_FIELD_LIST(struct tw_callee) callees;
	TW_FIELD_LIST(struct tw_neighbour) neighbours;
	TW_FIELD_LIST(const char *) notes;
	bool unfused_attention;
};

extern const struct tw_fields tw_callee_fields, tw_tree_fields;

/* A category of operations, or an area of the system, which has no rows. */
struct tw_prepared_category {
	const char *name, *title, *skill, *tier;
	const char *csv_file, *metadata_file, *data_file, *tree_data_file;
	uint64_t ops_count;
	double area_priority, kernel_ms, percent_of_compute, percent_of_total;
	/* Of operations that take much longer on the host than their kernels: the time beyond. */
	double host_ms, sync_ms, sync_operations, sync_bottleneck;
	/* Of the report. */
	size_t *rows; /* of its table, in its order */
	double kernel_ns, host_ns, sync_ns;
	TW_FIELD_LIST(struct tw_tree) trees;
};

static inline bool tw_category_is_system(const struct tw_prepared_category *category)
{
	return category->tier && *category->tier == 's';
}

struct tw_top_operation {
	uint64_t rank, uid, count;
	const char *name, *category, *title, *input_dims;
	double time_ms, percent_of_compute, percent_of_total;
};

extern const struct tw_fields tw_top_operation_fields;

struct tw_unlinked {
	uint64_t count;
	double time_ms, percent_of_total, compute_time_ms, percent_of_compute;
};

struct tw_flaw {
	const char *kind, *severity, *meaning;
	uint64_t count;
};

extern const struct tw_fields tw_flaw_fields;

struct tw_recorded {
	uint64_t operations, runtime_calls, python_functions;
};

struct tw_manifest {
	const char *platform, *platform_of_device, *device_name, *trace_path, *view;
	bool platform_guessed, linked_only, cpu_idle_critical;
	struct tw_use use;
	struct tw_unlinked *unlinked; /* NULL: there is none */
	int64_t shortest_kernel_ns;
	struct tw_recorded recorded;
	TW_FIELD_LIST(struct tw_top_operation) top;
	TW_FIELD_LIST(struct tw_prepared_category) categories;
	TW_FIELD_LIST(struct tw_flaw) flaws;
	/* Of the report; of a category's metadata where it was read. */
	struct tw_hardware hardware;
	const struct trawl_table *table; /* NULL: no operation has GPU work, or it was read */
	size_t *of_row;			 /* category by row of the table */
};

extern const struct tw_fields tw_manifest_fields, tw_category_fields;

/* ---- of a report: all of it lies in the arena; `table` is unified_perf_summary, NULL: there is none */

int tw_manifest_make(struct tw_manifest *manifest, struct tw_arena *arena,
		     const struct trawl_report *report, const struct trawl_table *table,
		     const char *trace_name, struct trawl_error *err) TRAWL_MUST_CHECK;
/* categories.c */
int tw_manifest_sort(struct tw_manifest *manifest, struct tw_arena *arena,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
/* tree_data.c */
int tw_manifest_trees(struct tw_manifest *manifest, struct tw_arena *arena,
		      const struct trawl_report *report, struct trawl_error *err) TRAWL_MUST_CHECK;

void tw_metadata_json(struct tw_str *out, const struct tw_manifest *manifest,
		      const struct tw_prepared_category *category);
void tw_trees_json(struct tw_str *out, const struct tw_prepared_category *category);

/* ---- of a directory */

/*
 * Its manifest, that of the report while there is one; NULL with TRAWL_ENODATA where there is none, else
 * with what is wrong.
 */
const struct tw_manifest *tw_manifest_read(struct tw_prepared *prepared, struct trawl_error *err);
/*
 * The hardware and use of a category's metadata into those of `manifest`, and its title, which may be NULL;
 * TRAWL_ENODATA when there are none.
 */
int tw_metadata_read(struct tw_prepared *prepared, const char *category,
		     struct tw_manifest *manifest, const char **title,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
/* The trees of a category; none when there is no such file. */
int tw_trees_read(struct tw_prepared *prepared, struct tw_prepared_category *category,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
