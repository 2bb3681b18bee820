/*
 * libtrawl: where the time of GPUs goes, from the traces of PyTorch's profiler and the exports
 * of Nsight Systems.
 *
 *	struct trawl_trace *trace;
 *	struct trawl_report *report;
 *
 *	trawl_trace_read(&trace, "trace.json.gz", NULL, &err);
 *	trawl_report_new(&report, trace, NULL, &err);
 *	table = trawl_report_find(report, "gpu_timeline");
 *
 * examples/timeline.c is the whole program.
 */
#ifndef TRAWL_TRAWL_H
#define TRAWL_TRAWL_H

#include "trawl/api.h"
#include "trawl/compare.h"
#include "trawl/error.h"
#include "trawl/events.h"
#include "trawl/job.h"
#include "trawl/merge.h"
#include "trawl/model.h"
#include "trawl/nsys.h"
#include "trawl/path.h"
#include "trawl/render.h"
#include "trawl/report.h"
#include "trawl/sweep.h"
#include "trawl/table.h"
#include "trawl/trace.h"

#endif
