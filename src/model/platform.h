/*
 * What a GPU can do: memory bandwidth and peaks by unit and precision, from data/platforms.tsv or
 * from a user's file.
 */
#ifndef TW_MODEL_PLATFORM_H
#define TW_MODEL_PLATFORM_H

#include "data/tables.h"
#include "store/trace.h"
#include "text/str.h"
#include "trawl/report.h"

struct tw_platform {
	char name[80];
	double mem_bw_gbps;		   /* GB/s, NaN: unknown */
	double memory_gb;		   /* NaN: unknown */
	double peak_tflops[TW_PEAK_COUNT]; /* in the order of tw_peak_keys; NaN: unknown */
	enum tw_mark mem_bw_mark, memory_mark, peak_mark[TW_PEAK_COUNT]; /* NONE: from a file */
};

/* Number of known platforms, and the i-th one's name, in the order of the data file. */
size_t tw_platform_count(void);
const char *tw_platform_name(size_t i);

/*
 * The platform of a name: "MI300X", "AMD Instinct MI300X", "h100-sxm"; case, blanks, dashes,
 * underscores and the vendor's words in front do not matter.  False when there is none.
 */
bool tw_platform_find(const char *name, struct tw_platform *platform);

/* Whether the first words of a platform's name are `words`, as "H100" those of "H100 SXM". */
bool tw_platform_is_variant(const char *platform, const char *words);

/* A GPU as a trace describes it. */
struct tw_device {
	const char *name; /* "": not recorded */
	/* 0 or less: not recorded.  `compute` is 94 for a compute capability of 9.4. */
	int64_t memory_bytes, units, compute;
};

struct tw_device tw_device_of(const struct trawl_trace *trace);

/*
 * The platform of a device: by its name, or, where it has none, by its memory, its multiprocessors
 * or compute units and its compute capability.  A device whose memory does not agree with the
 * platform's within 10 % is none of it: it is another variant, or a part of a GPU.  False when
 * unknown or when it could be several.
 */
bool tw_platform_of_device(const struct tw_device *device, struct tw_platform *platform);

/*
 * A platform from JSON text: {"name": "...", "mem_bw_gbps": 5300, "memory_gb": 192,
 * "max_achievable_tflops": {"matrix_bf16": 708, ...}}, as TraceLens' architecture files.
 * mem_bw_gbps is needed; unknown keys are ignored.  Errors name `file`, the place and the key.
 */
int tw_platform_parse(const char *text, size_t len, const char *file, struct tw_platform *platform,
		      const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A platform by what a user says: a known name, the first words of several (of "H100" the variant
 * that `device` is, which may be NULL), or the path of such a file.  TRAWL_EUSAGE, with the names
 * that come near, when it is none of them or does not say which variant.
 */
int tw_platform_open(const char *text, const struct tw_device *device, struct tw_platform *platform,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* The peak of a Compute Spec such as "matrix_bf16", NaN when unknown; *mark may be NULL. */
double tw_platform_peak(const struct tw_platform *platform, const char *spec, enum tw_mark *mark);

#endif
