/*
 * The reader of SQLite exports of Nsight Systems, inside: nsys.c reads the tables in parts, by
 * several threads, nsys_part.c has what rows of all tables need, nsys_tables.c the rows of GPU work
 * and calls, nsys_nvtx.c those of ranges; nsys_resolve.c does what is known only when all is
 * read, nsys_about.c the fields beside the events.
 *
 * While parts are read, tracks have preliminary ids: the pid is the whole process (host included),
 * and of GPU tracks the tid is the context.  Which devices are the same GPU, and which streams
 * have the same number, is known afterwards.
 */
#ifndef TW_TRACE_NSYS_H
#define TW_TRACE_NSYS_H

#include "base/ids.h"
#include "nsys/export.h"
#include "store/trace.h"
#include "text/str.h"

/* Flag of a text of the table of texts that was no UTF-8. */
#define TW_EXPORT_REPAIRED 1
#define TW_EXPORT_TRIPLES 256
#define TW_EXPORT_TRACKS 64

struct tw_export_part;

struct tw_export_table {
	struct tw_table_reader reader;
	uint32_t needed; /* bits of columns without which a row is nothing, when they are odd */
	/* Takes the present row: 0, or -1 when out of memory. */
	int (*take)(struct tw_export_part *part);
};

/* A part of a table, read by one thread into a trace of its own. */
struct tw_export_part {
	struct tw_table_part rows;
	struct trawl_trace *trace;
	/* Ids of StringIds -> texts, 0 where the export has none; calls: without their version. */
	struct tw_ids names, calls;
	struct tw_str scratch;
	struct {
		int64_t x, y, z;
		uint32_t text;
	} triples[TW_EXPORT_TRIPLES];
	struct {
		int64_t key[5];
		uint32_t next; /* 1 + the track; 0: free */
	} tracks[TW_EXPORT_TRACKS];
};

static inline bool tw_export_has(const struct tw_export_part *part, unsigned column)
{
	return tw_part_has(&part->rows, column);
}

/* The table that is read, NULL beside the events. */
static inline const char *tw_export_table_name(const struct tw_export_part *part)
{
	return part->rows.reader ? part->rows.reader->table : NULL;
}

/* One event to keep. */
struct tw_export_event {
	int64_t start_ns, dur_ns; /* TRAWL_TIME_NONE: missing */
	uint32_t name, track, args;
	tw_code correlation;
	unsigned category;
	uint8_t phase;
};
/* To begin with: without times, and no link to another. */
#define TW_EXPORT_EVENT \
	.start_ns = TRAWL_TIME_NONE, .dur_ns = TRAWL_TIME_NONE, .correlation = TW_CODE_NONE

/* ---- nsys_part.c */

/* The text id of a text as it is, of one of the table of texts; 0: none, or out of memory. */
uint32_t tw_export_intern(struct tw_export_part *part, const char *text, size_t len);
uint32_t tw_export_pool_text(struct tw_export_part *part, int64_t id);
uint32_t tw_export_call(struct tw_export_part *part, int64_t id);

/* Tracks, UINT32_MAX: out of memory. */
uint32_t tw_export_host_track(struct tw_export_part *part, int64_t global_tid);
uint32_t tw_export_gpu_track(struct tw_export_part *part, int64_t global_pid, int64_t device,
			     int64_t context, int64_t green, int64_t stream);

/* Start and duration. */
void tw_export_times(struct tw_export_part *part, struct tw_export_event *event);
/* Adds it as a row: 0 or -1. */
int tw_export_keep(struct tw_export_part *part, const struct tw_export_event *event);
/* Counts something odd about the present row. */
void tw_export_count(struct tw_export_part *part, enum tw_defect kind);

/* Arguments: integers that are there, and three as a list. */
int tw_export_args_begin(struct tw_export_part *part, size_t most, size_t *start);
void tw_export_put(struct tw_export_part *part, uint32_t key, unsigned column);
int tw_export_put_triple(struct tw_export_part *part, uint32_t key, unsigned column);
int tw_export_args_end(struct tw_export_part *part, size_t start, uint32_t *args);

/* Adds a metadata event that names a thread or process (TW_KEY_thread_name, TW_KEY_process_name). */
int tw_export_keep_name(struct tw_export_part *part, uint32_t kind, uint32_t track, uint32_t name);

unsigned tw_export_category(struct tw_export_part *part, const char *name, enum trawl_class class);

/* ---- nsys.c */
/* Readers of a table of events: begin to release. */
int tw_export_begin(void *part);
int tw_export_row(void *part);
int tw_export_join(void *part);
void tw_export_release(void *part);

#define TW_EXPORT_TABLE(name, names, count, numbers)                                         \
	{                                                                                    \
		.table = name, .columns = names, .column_count = count, .integers = numbers, \
		.part_size = sizeof(struct tw_export_part), .begin = tw_export_begin,        \
		.row = tw_export_row, .join = tw_export_join, .release = tw_export_release   \
	}

extern const struct tw_export_table tw_export_kernel, tw_export_memcpy, tw_export_memset,
	tw_export_sync, tw_export_graph, tw_export_runtime, tw_export_nvtx;

/* Phase of a range without an end, and what a domain is called until its name is known. */
#define TW_EXPORT_OPEN 'o'
#define TW_EXPORT_DOMAIN "domain "

/*
 * Rows of a small table, one after the other: 0, or -1 when out of memory.  Damage is noted.
 */
int tw_export_each(struct tw_export_part *part, const char *table, const char *const *columns,
		   unsigned count, uint32_t integers, int (*take)(struct tw_export_part *part));

/* ---- nsys_about.c */
/* Names of processes and threads, the version, what the profiler complained of, what is absent. */
int tw_export_about(struct tw_export_part *part);

/* ---- nsys_resolve.c */
/* Ids of tracks, ends of open ranges, names of domains: 0 or -1. */
int tw_export_settle(struct tw_export_part *part);

/* ---- nsys_ranks.c */
/* Which processes are ranks: the parts of the trace.  0 or -1. */
int tw_export_find_ranks(struct tw_export_part *part);

/* ---- nsys_tracks.c */
int tw_export_settle_tracks(struct tw_export_part *part);

#endif
