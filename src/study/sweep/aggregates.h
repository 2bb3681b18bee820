/*
 * The reports of a sweep side by side: the GPU's timeline over the ranks of each configuration, and
 * all collectives of all configurations in one table.
 */
#ifndef TW_STUDY_SWEEP_AGGREGATES_H
#define TW_STUDY_SWEEP_AGGREGATES_H

#include "book/book.h"
#include "table/table.h"
#include "text/str.h"

/* ---- gpu_timeline_all_configs_{mean,geomean}.xlsx */

struct tw_timelines; /* as they are gathered */

struct tw_timelines *tw_timelines_new(const struct trawl_allocator *allocator);
void tw_timelines_free(struct tw_timelines *timelines);
/* The table gpu_timeline of a rank's report; TRAWL_EFORMAT when it lacks a column. */
int tw_timelines_add(struct tw_timelines *timelines, int64_t threads, int64_t channels,
		     int64_t rank, const struct trawl_table *table,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
#define TW_TIMELINE_TABLES 4 /* All_Data, Pivot_Time_ms, Pivot_Percent, Summary_By_Config */
/* They are the caller's to free, also after a failure; those that are not made are NULL. */
int tw_timelines_tables(const struct tw_timelines *timelines, bool geometric,
			struct trawl_table *tables[TW_TIMELINE_TABLES],
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- nccl_master_all_configs.{xlsx,csv} */

struct tw_comms;

struct tw_comms *tw_comms_new(const struct trawl_allocator *allocator);
void tw_comms_free(struct tw_comms *comms);
/* The table nccl_summary_implicit_sync of a collective report; `source` is its file name. */
int tw_comms_add(struct tw_comms *comms, int64_t threads, int64_t channels, const char *source,
		 const struct trawl_table *table, struct trawl_error *err) TRAWL_MUST_CHECK;
/* NULL in *table when nothing was added. */
int tw_comms_table(const struct tw_comms *comms, struct trawl_table **table,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* For people: which configuration has the least time, by part and by collective. */
void tw_timelines_digest(const struct tw_timelines *timelines, unsigned width, struct tw_str *out);
void tw_comms_digest(const struct tw_comms *comms, unsigned width, struct tw_str *out);

#endif
