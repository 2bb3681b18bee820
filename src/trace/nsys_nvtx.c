/* Rows of NVTX: ranges, marks, names of threads. */
#include "trace/nsys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The text of the row, from where it stands; *len is 0 without one. */
static const char *own_text(struct tw_export_part *part, size_t *len)
{
	const char *text = tw_scan_text(part->rows.scan, TW_NVTX_TEXT, len);
	uint32_t id;

	if (text || !tw_export_has(part, TW_NVTX_TEXT_ID))
		return text ? text : "";
	id = tw_export_pool_text(part, part->rows.values[TW_NVTX_TEXT_ID]);
	return id ? tw_pool_text(&part->trace->texts, id, len) : "";
}

/* ---- what torch.autograd.profiler.emit_nvtx writes: "aten::mm, seq = 5, op_id = 7, sizes = [...]" */

struct operation {
	size_t name_len; /* 0: it is none */
	bool has_sequence;
	int64_t sequence, id; /* -1: no id */
	const char *sizes;
	size_t sizes_len;
};

static const char *skip(const char *p, const char *end, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(end - p) >= len && !memcmp(p, text, len) ? p + len : NULL;
}

/* A number at p, NULL: none. */
static const char *number(const char *p, const char *end, int64_t *value)
{
	const char *first = p;

	for (*value = 0; p < end && *p >= '0' && *p <= '9' && p - first < 18; p++)
		*value = *value * 10 + (*p - '0');
	return p > first ? p : NULL;
}

/* A list at p with the lists in it; NULL: it does not end. */
static const char *list_end(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		depth += *p == '[';
		depth -= *p == ']';
		if (!depth)
			return p + 1;
		if (!*p || (!strchr("[], -", *p) && (*p < '0' || *p > '9')))
			return NULL;
	}
	return NULL;
}

/* One of the fields after the name; where it ends, NULL: it is none of them. */
static const char *take_field(struct operation *op, const char *p, const char *end)
{
	const char *value, *after = NULL;

	value = skip(p, end, ", seq = ");
	if (value) {
		after = number(value, end, &op->sequence);
		op->has_sequence |= after != NULL;
		return after;
	}
	value = skip(p, end, ", op_id = ");
	if (value)
		return number(value, end, &op->id);
	value = skip(p, end, ", sizes = ");
	if (value && value < end && *value == '[') {
		after = list_end(value, end);
		op->sizes = after ? value : NULL;
		op->sizes_len = after ? (size_t)(after - value) : 0;
	}
	return after;
}

static struct operation parse_operation(const char *text, size_t len)
{
	struct operation op = { .id = -1 };
	const char *end = text + len, *p = text, *next;

	while ((p = memchr(p, ',', (size_t)(end - p)))) {
		next = take_field(&op, p, end);
		if (!next) {
			if (op.name_len)
				break;
			p++;
			continue;
		}
		if (!op.name_len)
			op.name_len = (size_t)(p - text);
		if (!op.name_len)
			break;
		p = next;
	}
	return op;
}

/* ---- arguments */

static int put_domain(struct tw_export_part *part, int64_t domain)
{
	char text[40];
	uint32_t id;
	int len;

	if (!domain)
		return 0;
	/* Its name, if it has one, comes when all is read. */
	len = snprintf(text, sizeof(text), TW_EXPORT_DOMAIN "%lld", (long long)domain);
	id = tw_pool_intern(&part->trace->texts, text, (size_t)len);
	tw_args_put_text(&part->trace->args, TW_KEY_domain, TRAWL_VALUE_TEXT, id);
	return id ? 0 : -1;
}

static int put_text(struct tw_export_part *part, uint32_t key, enum trawl_value_kind kind,
		    const char *text, size_t len)
{
	uint32_t id = tw_export_intern(part, text, len);

	tw_args_put_text(&part->trace->args, key, kind, id);
	return id ? 0 : -1;
}

static int put_unsigned(struct tw_export_part *part, uint64_t value)
{
	char digits[24];

	if (value <= INT64_MAX) {
		tw_args_put_integer(&part->trace->args, TW_KEY_payload, (int64_t)value);
		return 0;
	}
	return put_text(part, TW_KEY_payload, TRAWL_VALUE_NUMBER, digits,
			(size_t)snprintf(digits, sizeof(digits), "%llu",
					 (unsigned long long)value));
}

static int put_payload(struct tw_export_part *part)
{
	const char *json;
	double real;
	size_t len;

	if (tw_export_has(part, TW_NVTX_INT64))
		tw_export_put(part, TW_KEY_payload, TW_NVTX_INT64);
	else if (tw_export_has(part, TW_NVTX_UINT64))
		return put_unsigned(part, (uint64_t)part->rows.values[TW_NVTX_UINT64]);
	else if (tw_export_has(part, TW_NVTX_INT32))
		tw_export_put(part, TW_KEY_payload, TW_NVTX_INT32);
	else if (tw_export_has(part, TW_NVTX_UINT32))
		tw_export_put(part, TW_KEY_payload, TW_NVTX_UINT32);
	else if ((json = tw_scan_text(part->rows.scan, TW_NVTX_JSON, &len)))
		return put_text(part, TW_KEY_payload, TRAWL_VALUE_TEXT, json, len);
	else if (tw_export_has(part, TW_NVTX_JSON_ID) &&
		 tw_export_pool_text(part, part->rows.values[TW_NVTX_JSON_ID]))
		tw_args_put_text(&part->trace->args, TW_KEY_payload, TRAWL_VALUE_TEXT,
				 tw_export_pool_text(part, part->rows.values[TW_NVTX_JSON_ID]));
	else if (real = tw_scan_real(part->rows.scan, TW_NVTX_DOUBLE), isfinite(real))
		tw_args_put_real(&part->trace->args, TW_KEY_payload, real);
	else if (real = tw_scan_real(part->rows.scan, TW_NVTX_FLOAT), isfinite(real))
		tw_args_put_real(&part->trace->args, TW_KEY_payload, real);
	return 0;
}

static int put_operation(struct tw_export_part *part, const struct operation *op)
{
	/* A sequence number comes first, see store/args.h. */
	if (op->has_sequence)
		tw_args_put_integer(&part->trace->args, TW_KEY_sequence_number, op->sequence);
	if (op->id >= 0)
		tw_args_put_integer(&part->trace->args, TW_KEY_op_id, op->id);
	return op->sizes ? put_text(part, TW_KEY_input_dims, TRAWL_VALUE_JSON, op->sizes,
				    op->sizes_len) :
			   0;
}

/* ---- rows */

static int keep_event(struct tw_export_part *part, struct tw_export_event *e,
		      const struct operation *op)
{
	size_t start;

	if (tw_export_args_begin(part, 6, &start) || put_operation(part, op) ||
	    put_domain(part, part->rows.values[TW_NVTX_DOMAIN]) || put_payload(part) ||
	    tw_export_args_end(part, start, &e->args))
		return -1;
	return tw_export_keep(part, e);
}

static int take_range(struct tw_export_part *part, bool nested)
{
	struct tw_export_event e = { .phase = 'X', .correlation = TW_CODE_NONE };
	struct operation op = { .id = -1 };
	const char *text;
	size_t len;

	tw_export_times(part, &e);
	text = own_text(part, &len);
	if (nested)
		op = parse_operation(text, len);
	e.category = op.name_len ?
			     tw_export_category(part, "cpu_op", TRAWL_CLASS_CPU_OP) :
			     tw_export_category(part, "user_annotation", TRAWL_CLASS_ANNOTATION);
	if (op.name_len)
		len = op.name_len;
	if (len)
		e.name = tw_export_intern(part, text, len);
	else
		tw_export_count(part, TW_DEFECT_unnamed_range);
	e.track = tw_export_host_track(part, part->rows.values[TW_NVTX_THREAD]);
	if (!tw_export_has(part, TW_NVTX_END)) {
		/* It lasts to the end of the trace, which is known when all is read. */
		tw_export_count(part, TW_DEFECT_open_range);
		e.phase = TW_EXPORT_OPEN;
	}
	return keep_event(part, &e, &op);
}

static int take_mark(struct tw_export_part *part)
{
	struct tw_export_event e = { TW_EXPORT_EVENT, .phase = 'i' };
	const struct operation none = { .id = -1 };
	size_t len;
	const char *text = own_text(part, &len);

	e.start_ns = part->rows.values[TW_NVTX_START];
	e.name = len ? tw_export_intern(part, text, len) : 0;
	e.category = tw_export_category(part, "mark", TRAWL_CLASS_OTHER);
	e.track = tw_export_host_track(part, part->rows.values[TW_NVTX_THREAD]);
	return keep_event(part, &e, &none);
}

static int take_thread_name(struct tw_export_part *part)
{
	size_t len;
	const char *text = own_text(part, &len);

	return len ? tw_export_keep_name(part, TW_KEY_thread_name,
					 tw_export_host_track(part,
							      part->rows.values[TW_NVTX_THREAD]),
					 tw_export_intern(part, text, len)) :
		     0;
}

/* Kept as a metadata event, for nsys_resolve.c. */
static int take_domain(struct tw_export_part *part)
{
	struct tw_export_event e = { TW_EXPORT_EVENT, .phase = 'M', .name = TW_KEY_domain };
	size_t len, start;
	const char *text = own_text(part, &len);

	if (!len || !part->rows.values[TW_NVTX_DOMAIN])
		return 0;
	e.track = tw_export_host_track(part, part->rows.values[TW_NVTX_THREAD]);
	if (tw_export_args_begin(part, 2, &start) ||
	    put_domain(part, part->rows.values[TW_NVTX_DOMAIN]) ||
	    put_text(part, TW_KEY_name, TRAWL_VALUE_TEXT, text, len) ||
	    tw_export_args_end(part, start, &e.args))
		return -1;
	return tw_export_keep(part, &e);
}

static int take_row(struct tw_export_part *part)
{
	/* What nearly all of them are. */
	if (!tw_export_has(part, TW_NVTX_TYPE))
		part->rows.values[TW_NVTX_TYPE] = TW_NVTX_PUSH_POP;
	if (!tw_export_has(part, TW_NVTX_START) &&
	    part->rows.values[TW_NVTX_TYPE] != TW_NVTX_THREAD_NAME &&
	    part->rows.values[TW_NVTX_TYPE] != TW_NVTX_DOMAIN_NAME) {
		tw_export_count(part, TW_DEFECT_unreadable_row);
		return 0;
	}
	switch (part->rows.values[TW_NVTX_TYPE]) {
	case TW_NVTX_PUSH_POP:
	case TW_NVTX_PUSH_POP_TEXT:
		return take_range(part, true);
	case TW_NVTX_START_END:
	case TW_NVTX_START_END_TEXT:
		return take_range(part, false);
	case TW_NVTX_MARK:
	case TW_NVTX_MARK_TEXT:
		return take_mark(part);
	case TW_NVTX_THREAD_NAME:
		return take_thread_name(part);
	case TW_NVTX_DOMAIN_NAME:
		return take_domain(part);
	default:
		/* Categories, names of devices and streams. */
		return 0;
	}
}

const struct tw_export_table tw_export_nvtx = {
	TW_EXPORT_TABLE(TW_NSYS_RANGES, tw_nvtx_columns, TW_NVTX_COLUMNS,
			TW_BITS_BEFORE(TW_NVTX_JSON) & ~TW_BIT(TW_NVTX_TEXT)),
	TW_BITS_BEFORE(TW_NVTX_TEXT_ID), take_row
};
