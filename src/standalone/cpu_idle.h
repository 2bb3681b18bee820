/* Inside the analysis of idle time: what its files share. */
#ifndef TW_STANDALONE_CPU_IDLE_H
#define TW_STANDALONE_CPU_IDLE_H

#include "standalone/idle_gaps.h"
#include "standalone/system_findings.h"

#define TW_CPU_IDLE_DATA "cpu_idle_data.json"
#define TW_CPU_IDLE_OPS "cpu_idle_ops.csv"
#define TW_CPU_IDLE_TITLE "CPU/Idle Analysis"

/* cpu_idle_findings.md, from the metrics. */
void tw_cpu_idle_markdown(struct tw_str *out, const struct tw_json_value *metrics);

#endif
