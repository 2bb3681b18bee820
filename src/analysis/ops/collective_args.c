#include "analysis/ops/collective_args.h"

#include "analysis/signature.h"

#include <math.h>

const uint32_t tw_collective_arg_keys[TW_COLLECTIVE_ARGS] = {
	[TW_COLLECTIVE_GROUP] = TW_KEY_process_group_name,
	[TW_COLLECTIVE_GROUP_RANKS] = TW_KEY_process_group_ranks,
	[TW_COLLECTIVE_NAME] = TW_KEY_collective_name,
	[TW_COLLECTIVE_GROUP_SIZE] = TW_KEY_group_size,
	[TW_COLLECTIVE_DTYPE] = TW_KEY_dtype,
	[TW_COLLECTIVE_IN_NELEMS] = TW_KEY_in_msg_nelems,
	[TW_COLLECTIVE_OUT_NELEMS] = TW_KEY_out_msg_nelems,
	[TW_COLLECTIVE_IN_SPLIT] = TW_KEY_in_split_size,
	[TW_COLLECTIVE_OUT_SPLIT] = TW_KEY_out_split_size,
	[TW_COLLECTIVE_SOURCE] = TW_KEY_source_rank,
	[TW_COLLECTIVE_DESTINATION] = TW_KEY_destination_rank,
};

void tw_collective_arg_text(const struct trawl_trace *trace, const struct trawl_argument *arg,
			    struct tw_str *out)
{
	const char *text;
	size_t len;

	switch (arg->kind) {
	case TRAWL_VALUE_INTEGER:
		tw_str_add_int(out, arg->integer);
		break;
	case TRAWL_VALUE_REAL:
		tw_str_add_real(out, arg->real);
		break;
	case TRAWL_VALUE_TEXT:
	case TRAWL_VALUE_NUMBER:
		text = tw_pool_text(&trace->texts, arg->text, &len);
		tw_str_add(out, text, len);
		break;
	case TRAWL_VALUE_JSON:
		text = tw_pool_text(&trace->texts, arg->text, &len);
		tw_python_repr(text, len, out);
		break;
	default:
		break;
	}
}

double tw_collective_megabytes(const char *nelems, size_t nelems_len, const char *dtype,
			       size_t dtype_len)
{
	unsigned bytes = tw_dtype_bytes(dtype, dtype_len);
	double n = 0;
	size_t i;

	for (i = 0; i < nelems_len && nelems[i] >= '0' && nelems[i] <= '9'; i++)
		n = n * 10 + (nelems[i] - '0');
	return nelems_len && i == nelems_len && bytes ? n * bytes / 1048576 : (double)NAN;
}

static void take_args(const struct trawl_trace *trace, uint64_t event,
		      struct tw_collective_facts *facts)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN, i;
	struct trawl_argument arg;

	while (at && tw_args_next(&trace->args, &at, &arg)) {
		if (arg.key == TW_KEY_comms_id)
			facts->comms_id = arg;
		else if (arg.key == TW_KEY_collective_sequence)
			facts->sequence = arg;
		for (i = 0; i < TW_COLLECTIVE_ARGS; i++)
			if (arg.key == tw_collective_arg_keys[i])
				facts->args[i] = arg;
	}
}

static void take_missing(struct trawl_argument *arg, const struct trawl_argument *other)
{
	if (arg->kind == TRAWL_VALUE_NULL)
		*arg = *other;
}

void tw_collective_facts_of(const struct tw_derived *d, uint64_t g,
			    struct tw_collective_facts *facts)
{
	struct tw_collective_facts more = { 0 };
	const struct trawl_argument *name, *other;
	size_t i;

	*facts = (struct tw_collective_facts){ .why = tw_communication_of(d, g) };
	take_args(d->trace, d->gpu.event[g], facts);
	if (facts->why.recorded == TW_NONE)
		return;
	take_args(d->trace, facts->why.recorded, &more);
	name = &facts->args[TW_COLLECTIVE_NAME];
	other = &more.args[TW_COLLECTIVE_NAME];
	if (name->kind != TRAWL_VALUE_NULL &&
	    (other->kind != name->kind || other->text != name->text))
		return;
	for (i = 0; i < TW_COLLECTIVE_ARGS; i++)
		take_missing(&facts->args[i], &more.args[i]);
	take_missing(&facts->comms_id, &more.comms_id);
	take_missing(&facts->sequence, &more.sequence);
}

const uint64_t *tw_collective_begun(struct tw_groups *begun, const struct tw_derived *d, uint64_t g,
				    const struct tw_collective_facts *facts, uint64_t value)
{
	uint32_t operation = facts->why.recorded != TW_NONE ? facts->why.recorded :
							      facts->why.operation;
	uint32_t before = begun->count, group;
	uint64_t *first;

	if (operation == TW_NONE || tw_class(d->trace, d->gpu.event[g]) == TRAWL_CLASS_KERNEL)
		return NULL;
	group = tw_groups_add(begun, &operation);
	if (begun->failed)
		return NULL;
	first = tw_groups_value(begun, group);
	if (group != before)
		return first;
	*first = value;
	return NULL;
}

const char *tw_collective_kind(const char *recorded, size_t len, const char *operation,
			       size_t operation_len, const struct tw_kernel_name *kernel)
{
	const char *kind = len ? tw_collective(recorded, len) : NULL;

	if (len)
		return kind ? kind : recorded;
	kind = operation_len ? tw_collective_of_operation(operation, operation_len) : NULL;
	if (kind)
		return kind;
	return kernel && kernel->collective[0] ? kernel->collective : NULL;
}
