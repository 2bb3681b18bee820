/*
 * category_manifest.json and the metadata of each category: what was analysed, how busy the GPU
 * was, which categories there are, which operations take the most time.
 * Keys: the standalone analysis, steps 2 to 5, and the later version of its tools.
 */
#ifndef TW_STANDALONE_MANIFEST_H
#define TW_STANDALONE_MANIFEST_H

#include "standalone/categories.h"
#include "text/str.h"

struct tw_manifest {
	const struct trawl_report *report;
	const char *trace_name;
	struct tw_report_categories categories;
	int64_t total_ns, compute_ns; /* 0: no GPU work */
};

int tw_manifest_init(struct tw_manifest *manifest, struct tw_arena *arena,
		     const struct trawl_report *report, const char *trace_name,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* Areas of the system, which have no rows. */
extern const struct tw_category_rows tw_cpu_idle_area, tw_multi_kernel_area;

void tw_manifest_json(struct tw_str *out, const struct tw_manifest *manifest);
void tw_metadata_json(struct tw_str *out, const struct tw_manifest *manifest,
		      const struct tw_category_rows *category);

#endif
