/*
 * The roofline: how long a GPU needs at least for the work of a call, and what that is of the
 * time it took.
 *
 *	tc = FLOPs / (peak x 10^12) x 10^6 µs		at the peak of the call's unit and precision
 *	tm = bytes / (bandwidth x 10^9) x 10^6 µs	at the bandwidth of the memory
 *	roofline time = max(tc, tm)			COMPUTE_BOUND when tc >= tm, else MEMORY_BOUND
 *	percent of roofline = roofline time / time x 100
 *
 * Where there are no FLOPs, or they are unknown or of a type without peaks, as integers are, tc is 0:
 * the bytes alone bound the time.
 *
 * Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model",
 * CACM 52(4), 2009; in this form, and with these words, TraceLens 0.1.
 *
 * Example: aten::mm of 4096 x 4096 by 4096 x 4096 in bf16 on MI300X (708 TFLOP/s, 5300 GB/s) in
 * 250 µs.  FLOPs 2 x 4096^3 = 137438953472, bytes 3 x 4096^2 x 2 = 100663296: tc = 194.1228 µs,
 * tm = 18.9931 µs; COMPUTE_BOUND, 77.6491 % of the roofline.
 */
#ifndef TW_MODEL_ROOFLINE_H
#define TW_MODEL_ROOFLINE_H

#include "model/platform.h"

/* What is achieved; NaN where it does not follow from what is known. */
struct tw_rates {
	double flops_per_byte; /* needs bytes above 0 */
	double tflops_per_s;   /* needs a time above 0, as the next */
	double tb_per_s;
};

void tw_rates(struct tw_rates *rates, double flops, double bytes, int64_t time_ns);

struct tw_roofline {
	double time_us;	   /* NaN: there is no roofline, for the peak or the bytes are unknown;
			      `bound` is then NULL */
	const char *bound; /* "COMPUTE_BOUND", "MEMORY_BOUND" */
	double percent;	   /* of the roofline; NaN without one, or without a time */
	bool anomaly; /* over TW_LIMIT_ROOFLINE_ANOMALY_PERCENT, of the bandwidth or the roofline */
	/* How long the bytes need at full bandwidth, and what that is of the time. */
	double memory_us, memory_percent;
	enum tw_mark mark; /* the worse of the bandwidth's and the peak's; NONE without a roofline */
};

/* Of a call with that much work, of a Compute Spec such as "matrix_bf16". */
void tw_roofline(struct tw_roofline *roofline, const struct tw_platform *platform, double flops,
		 double bytes, const char *spec, int64_t time_ns);

#endif
