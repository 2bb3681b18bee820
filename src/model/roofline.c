#include "model/roofline.h"

#include "data/limits.h"

#include <math.h>

void tw_rates(struct tw_rates *rates, double flops, double bytes, int64_t time_ns)
{
	double seconds = time_ns > 0 ? (double)time_ns / 1e3 / 1e6 : NAN;

	rates->flops_per_byte = bytes > 0 ? flops / bytes : NAN;
	rates->tflops_per_s = flops / 1e9 / 1000 / seconds;
	rates->tb_per_s = bytes / 1e12 / seconds;
}

void tw_roofline(struct tw_roofline *roofline, const struct tw_platform *platform, double flops,
		 double bytes, const char *spec, int64_t time_ns)
{
	enum tw_mark peak_mark;
	double peak = tw_platform_peak(platform, spec, &peak_mark);
	double time_us = time_ns > 0 ? (double)time_ns / 1e3 : NAN;
	double compute_us = flops / (peak * 1e12) * 1e6;

	*roofline = (struct tw_roofline){ .time_us = NAN, .percent = NAN };
	roofline->memory_us = bytes / (platform->mem_bw_gbps * 1e9) * 1e6;
	roofline->memory_percent = roofline->memory_us / time_us * 100;
	roofline->anomaly = roofline->memory_percent > TW_LIMIT_ROOFLINE_ANOMALY_PERCENT;
	/* What computes nothing, or something for which there is no peak, is bound by memory alone.
	 * Written so that what is not known does not pass. */
	if (!(flops > 0) || !spec[0]) {
		compute_us = 0;
		peak_mark = TW_MARK_NONE;
	}
	if (isnan(compute_us) || !(roofline->memory_us > 0))
		return;
	roofline->bound = compute_us >= roofline->memory_us ? "COMPUTE_BOUND" : "MEMORY_BOUND";
	roofline->time_us = fmax(compute_us, roofline->memory_us);
	roofline->percent = roofline->time_us / time_us * 100;
	roofline->anomaly |= roofline->percent > TW_LIMIT_ROOFLINE_ANOMALY_PERCENT;
	roofline->mark = peak_mark > platform->mem_bw_mark ? peak_mark : platform->mem_bw_mark;
}
