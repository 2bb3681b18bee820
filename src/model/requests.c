#include "model/requests.h"

#include "data/phases.h"

#include <math.h>
#include <string.h>

static double known(int64_t value)
{
	return value < 0 ? NAN : (double)value;
}

/* What the name says; of the products what follows from requests and tokens. */
static struct tw_request_sums sums_of(const int64_t *served)
{
	double requests = known(served[TW_SERVED]);
	struct tw_request_sums s = {
		.sq = known(served[TW_SERVED_SQ]),
		.sk = known(served[TW_SERVED_SK]),
		.sqsq = known(served[TW_SERVED_SQSQ]),
		.sqsk = known(served[TW_SERVED_SQSK]),
	};

	if (s.sq == 0 || requests == 0)
		return (struct tw_request_sums){ 0, 0, 0, 0 };
	if (isnan(s.sqsq) && requests == s.sq)
		s.sqsq = s.sq; /* one each */
	else if (isnan(s.sqsq) && requests == 1)
		s.sqsq = s.sq * s.sq;
	return s;
}

bool tw_requests_read(struct tw_requests *requests, const char *text, size_t len)
{
	struct tw_served_step step;

	memset(requests, 0, sizeof(*requests));
	if (!tw_served_step_read(&step, text, len) || step.phase == TW_PHASE_DIFFUSION)
		return false;
	requests->context = sums_of(step.context);
	requests->generation = sums_of(step.generation);
	requests->known = !isnan(requests->context.sq) && !isnan(requests->generation.sq);
	if (!requests->known)
		memset(requests, 0, sizeof(*requests));
	return requests->known;
}
