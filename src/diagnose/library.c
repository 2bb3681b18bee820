/* The diagnosis as users of the library have it. */
#include "trawl/findings.h"

#include "base/alloc.h"
#include "diagnose/job_diagnosis.h"
#include "os/thread.h"

#include <math.h>

struct trawl_diagnosis {
	const struct trawl_allocator *allocator;
	struct tw_diagnosis d;
	struct trawl_table *findings;
};

static struct trawl_diagnosis *new_diagnosis(const struct trawl_allocator *allocator)
{
	struct trawl_diagnosis *made = tw_alloc_array(allocator, 1, sizeof(*made));

	if (made)
		made->allocator = allocator;
	return made;
}

static int finish(struct trawl_diagnosis **out, struct trawl_diagnosis *made, int status,
		  struct trawl_error *err)
{
	if (!status) {
		made->findings = tw_findings_table(&made->d, made->allocator);
		status = made->findings ? tw_table_finish(made->findings, err) : TRAWL_ENOMEM;
	}
	*out = status ? NULL : made;
	if (!status)
		return 0;
	trawl_diagnosis_free(made);
	if (status == TRAWL_ENODATA)
		return trawl_error_set(err, TRAWL_EUSAGE,
				       "the ranks were read without what findings need");
	return tw_no_memory(err);
}

int trawl_diagnose(struct trawl_diagnosis **out, const struct trawl_report *report,
		   unsigned threads, struct trawl_error *err)
{
	const struct trawl_allocator *a = tw_report_input(report)->tables;
	struct trawl_diagnosis *made = new_diagnosis(a);

	*out = NULL;
	if (!made)
		return tw_no_memory(err);
	return finish(out, made,
		      tw_diagnose_trace(&made->d, report, threads ? threads : tw_thread_count(), a),
		      err);
}

int trawl_diagnose_job(struct trawl_diagnosis **out, struct trawl_job *job, unsigned threads,
		       struct trawl_error *err)
{
	const struct trawl_allocator *a = job->allocator;
	struct trawl_diagnosis *made = new_diagnosis(a);
	int status;

	*out = NULL;
	if (!made)
		return tw_no_memory(err);
	status = tw_diagnose_job(&made->d, job, threads ? threads : tw_thread_count(), a);
	return finish(out, made, status, err);
}

void trawl_diagnosis_free(struct trawl_diagnosis *diagnosis)
{
	if (!diagnosis)
		return;
	trawl_table_free(diagnosis->findings);
	tw_diagnosis_release(&diagnosis->d);
	tw_free(diagnosis->allocator, diagnosis, sizeof(*diagnosis));
}

const struct tw_diagnosis *tw_diagnosis_of(const struct trawl_diagnosis *diagnosis)
{
	return &diagnosis->d;
}

const struct trawl_table *trawl_diagnosis_findings(const struct trawl_diagnosis *diagnosis)
{
	return diagnosis->findings;
}

int64_t trawl_diagnosis_window_ns(const struct trawl_diagnosis *diagnosis)
{
	return diagnosis->d.window_ns;
}

double trawl_diagnosis_step_ns(const struct trawl_diagnosis *diagnosis)
{
	return diagnosis->d.step_ns;
}

bool trawl_diagnosis_knows_waits(const struct trawl_diagnosis *diagnosis)
{
	const struct tw_diagnosis *d = &diagnosis->d;
	uint32_t i;

	for (i = 0; i < d->rank_count && !d->path->ranks[i].launched_count; i++)
		;
	return i < d->rank_count && !d->path->notes.incomplete;
}

int64_t trawl_diagnosis_limiting_rank(const struct trawl_diagnosis *diagnosis)
{
	const struct tw_diagnosis *d = &diagnosis->d;
	int64_t most = -1, ns;
	uint32_t i, best = 0;
	size_t k;

	for (k = 0; k < d->findings.count; k++)
		if (*d->findings.at[k].ranks && !isnan(d->findings.at[k].gain_ns))
			return d->path->ranks[d->findings.at[k].first_rank].rank;
	for (i = 0; i < d->rank_count; i++) {
		ns = tw_computing_ns(d, i);
		if (ns > most) {
			most = ns;
			best = i;
		}
	}
	return d->rank_count ? d->path->ranks[best].rank : -1;
}
