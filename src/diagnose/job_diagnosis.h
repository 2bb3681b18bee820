/*
 * The diagnosis of a job: each rank is looked at while its trace is there, and what was found is attached to
 * it; then the ranks are joined.
 */
#ifndef TW_DIAGNOSE_JOB_DIAGNOSIS_H
#define TW_DIAGNOSE_JOB_DIAGNOSIS_H

#include "diagnose/diagnosis.h"
#include "job/clocks/clocks.h"
#include "job/set/load.h"
#include "trawl/findings.h"

/* For tw_load_options.attach. */
int tw_diagnose_attach(struct tw_rank *rank, const struct trawl_report *report);
/* For tw_load_options.pass_attached: packs it or reads it back, which may be damaged. */
void tw_diagnose_pass(struct tw_wire *wire, struct tw_rank *rank);

/*
 * Takes what was attached: once.  TRAWL_ENODATA: a rank has nothing.  *d is to be released in any case.
 */
int tw_diagnose_job(struct tw_diagnosis *d, struct trawl_job *job, unsigned threads,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* The same of one trace. */
int tw_diagnose_trace(struct tw_diagnosis *d, const struct trawl_report *report, unsigned threads,
		      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* What a user of the library has; as long as that lives. */
const struct tw_diagnosis *tw_diagnosis_of(const struct trawl_diagnosis *diagnosis);

#endif
