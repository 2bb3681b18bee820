/*
 * Findings: what limits a run, where, and what each remedy would gain, by replay of what waited for what.
 *
 *	trawl_diagnose(&diagnosis, report, 0, &err);
 *	trawl_write_csv(...trawl_diagnosis_findings(diagnosis)...);
 *
 * Times are nanoseconds, gains those of a steady step: (last end of GPU work that the last step launched -
 * the same of the first) / (steps - 1), over all ranks; without steps of the window.  A diagnosis is
 * immutable and may be read by several threads.  Sources of the formulas: docs/METRICS.md.
 */
#ifndef TRAWL_FINDINGS_H
#define TRAWL_FINDINGS_H

#include "trawl/job.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trawl_diagnosis;

/*
 * Of one trace, by its report, which may be freed afterwards: of the part that the report looks at.
 * `threads` 0: one a core.  To be freed by the caller.  TRAWL_ENOMEM.
 */
TRAWL_API int trawl_diagnose(struct trawl_diagnosis **out, const struct trawl_report *report,
			     unsigned threads, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Of the ranks of a job that was read with trawl_job_options.findings, once: it takes what was kept for
 * it.  TRAWL_EUSAGE: nothing was.
 */
TRAWL_API int trawl_diagnose_job(struct trawl_diagnosis **out, struct trawl_job *job,
				 unsigned threads, struct trawl_error *err) TRAWL_MUST_CHECK;

TRAWL_API void trawl_diagnosis_free(struct trawl_diagnosis *diagnosis);

/* The table `findings`: by gain, then observations. Lives as long as the diagnosis. */
TRAWL_API const struct trawl_table *trawl_diagnosis_findings(
	const struct trawl_diagnosis *diagnosis);

/* First start to last end of the GPU work whose launch is recorded, and a steady step; NaN: no two steps. */
TRAWL_API int64_t trawl_diagnosis_window_ns(const struct trawl_diagnosis *diagnosis);
TRAWL_API double trawl_diagnosis_step_ns(const struct trawl_diagnosis *diagnosis);

/*
 * Whether it can say that ranks wait for each other: GPU work has recorded launches, and no rank of a
 * collective's group is missing.
 */
TRAWL_API bool trawl_diagnosis_knows_waits(const struct trawl_diagnosis *diagnosis);

/* The rank that limits the job: that which the largest finding names, else that which computes longest. */
TRAWL_API int64_t trawl_diagnosis_limiting_rank(const struct trawl_diagnosis *diagnosis);

#ifdef __cplusplus
}
#endif

#endif
