/*
 * What can be selected in a trace: steps, annotations, devices; and the message that lists them
 * when something else was asked for.
 */
#ifndef TW_DERIVE_VIEW_NAMES_H
#define TW_DERIVE_VIEW_NAMES_H

#include "derive/view.h"

/* Whether an event is an annotation of this class with a duration. */
bool tw_is_range(const struct trawl_trace *trace, uint64_t event, enum trawl_class class);
/* The step number of an annotation's name, -1 when it is none. */
int64_t tw_step_of(const struct trawl_trace *trace, uint64_t event);
/* What the steps of a trace are on the host: annotations; where there are none, operations, as in 2021. */
enum trawl_class tw_step_class(const struct trawl_trace *trace);

/* The step or range of `options` is not there: fills *err, returns TRAWL_EUSAGE (or ENOMEM). */
int tw_no_such_annotation(const struct trawl_trace *trace, const struct tw_view_options *options,
			  struct trawl_error *err);
int tw_no_such_device(const struct trawl_trace *trace, const char *device, struct trawl_error *err);

#endif
