/* Which modules are of one class at one place of the model: layers of a stack. */
#ifndef TW_ANALYSIS_WHO_MODULE_CLASSES_H
#define TW_ANALYSIS_WHO_MODULE_CLASSES_H

#include "analysis/who/attributions.h"
#include "store/pool.h"

/*
 * Sets of_module[i] to the number of a class in `classes`, whose keys are (class around, name); what is outside
 * of all modules is 0.  0 or -1.
 */
int tw_module_classes_find(uint32_t *of_module, const struct tw_attributions *who,
			   struct tw_groups *classes, struct tw_pool *names) TRAWL_MUST_CHECK;

#endif
