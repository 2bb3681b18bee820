/* What is advised in several places, in one set of words. */
#ifndef TW_BASE_ADVICE_H
#define TW_BASE_ADVICE_H

/*
 * Of rocprofv3, whatever its output format: none of them is read.  PyTorch for ROCm records the
 * same kernels through the same library, into a trace that is.
 */
#define TW_ADVICE_ROCPROF                                                               \
	": rocprofv3 output is not supported yet; record with torch.profiler (PyTorch " \
	"for ROCm) and use its trace"

#endif
