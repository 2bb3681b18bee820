#include "analysis/collective_args.h"

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

void tw_collective_arg_text(const struct trawl_trace *trace, const struct tw_arg *arg,
			    struct tw_str *out)
{
	const char *text;
	size_t len;

	switch (arg->kind) {
	case TW_ARG_INTEGER:
		tw_str_add_int(out, arg->integer);
		break;
	case TW_ARG_REAL:
		tw_str_add_real(out, arg->real);
		break;
	case TW_ARG_TEXT:
	case TW_ARG_NUMBER:
		text = tw_pool_text(&trace->texts, arg->text, &len);
		tw_str_add(out, text, len);
		break;
	case TW_ARG_JSON:
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

const char *tw_collective_kind(const char *recorded, size_t len,
			       const struct tw_kernel_name *kernel)
{
	const char *kind = len ? tw_collective(recorded, len) : NULL;

	if (len)
		return kind ? kind : recorded;
	return kernel && kernel->collective[0] ? kernel->collective : NULL;
}
