/*
 * What a GPU can do: memory bandwidth and peaks by unit and precision, from data/platforms.tsv or
 * from a user's file.
 */
#ifndef TW_MODEL_PLATFORM_H
#define TW_MODEL_PLATFORM_H

#include "base/str.h"
#include "data/tables.h"
#include "trawl/error.h"

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

/* "MI300X, MI325X, ...", for messages. */
void tw_platform_list(struct tw_str *out);

/*
 * The platform of a device as a trace describes it: its name, and the bytes of its memory (0:
 * not recorded).  A device whose memory does not agree with the platform's within 10 % is none of
 * it: it is another variant, or a part of a GPU.  False when unknown or when it could be several.
 */
bool tw_platform_guess(const char *device, size_t len, double memory_bytes,
		       struct tw_platform *platform);

/*
 * A platform from JSON text: {"name": "...", "mem_bw_gbps": 5300, "memory_gb": 192,
 * "max_achievable_tflops": {"matrix_bf16": 708, ...}}, as TraceLens' architecture files.
 * mem_bw_gbps is needed; unknown keys are ignored.  Errors name `file`, the place and the key.
 */
int tw_platform_parse(const char *text, size_t len, const char *file, struct tw_platform *platform,
		      const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A platform by what a user says: a known name, or the path of such a file.  TRAWL_EUSAGE, with
 * the names there are, when it is neither.
 */
int tw_platform_open(const char *text, struct tw_platform *platform,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* The peak of a Compute Spec such as "matrix_bf16", NaN when unknown; *mark may be NULL. */
double tw_platform_peak(const struct tw_platform *platform, const char *spec, enum tw_mark *mark);

#endif
