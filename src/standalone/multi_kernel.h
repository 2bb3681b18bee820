/* Inside the analysis of copies and communication: what its files share. */
#ifndef TW_STANDALONE_MULTI_KERNEL_H
#define TW_STANDALONE_MULTI_KERNEL_H

#include "standalone/system_findings.h"

#define TW_MULTI_KERNEL_DATA "multi_kernel_data.json"
#define TW_MULTI_KERNEL_TITLE "Multi-Kernel Issue Analysis"

/* multi_kernel_findings.md, from the metrics. */
void tw_multi_kernel_markdown(struct tw_str *out, const struct tw_json_value *metrics);

#endif
