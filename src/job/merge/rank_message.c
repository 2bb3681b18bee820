#include "job/merge/merge_state.h"

#include "base/alloc.h"
#include "store/quality.h"

#include <string.h>

static void pack_optional(struct tw_str *out, const char *text)
{
	tw_pack_number(out, text != NULL);
	if (text)
		tw_pack_text(out, text, strlen(text));
}

static void pack_defect(struct tw_str *out, const struct trawl_defect *defect)
{
	tw_pack_text(out, defect->kind, strlen(defect->kind));
	tw_pack_signed(out, defect->count);
	tw_pack_signed(out, defect->offset);
	tw_pack_signed(out, defect->event);
	pack_optional(out, defect->table);
	tw_pack_signed(out, defect->row);
}

void tw_merged_pack(struct tw_str *out, size_t number, const struct tw_merged *rank)
{
	size_t i;

	tw_pack_number(out, number);
	tw_pack_signed(out, rank->status);
	tw_pack_number(out, rank->state);
	tw_pack_signed(out, rank->told_rank);
	tw_pack_number(out, rank->gpu_slices);
	tw_pack_number(out, rank->host_slices);
	tw_pack_number(out, rank->others);
	tw_pack_number(out, rank->arrows);
	tw_pack_number(out, rank->moved);
	tw_pack_number(out, rank->loose);
	tw_pack_number(out, rank->timeless);
	pack_optional(out, rank->message);
	pack_optional(out, rank->about);
	tw_pack_number(out, rank->defect_count);
	for (i = 0; i < rank->defect_count; i++)
		pack_defect(out, &rank->defects[i]);
}

/* A copy of a text that may not be there; -1 when out of memory. */
static int unpack_optional(struct tw_unpacking *in, char **text,
			   const struct trawl_allocator *allocator)
{
	const char *bytes;
	size_t len;

	*text = NULL;
	if (!tw_unpack_up_to(in, true))
		return 0;
	bytes = tw_unpack_text(in, &len);
	/* What frees it goes by its length. */
	if (in->failed || memchr(bytes, 0, len)) {
		in->failed = true;
		return 0;
	}
	*text = tw_alloc(allocator, len + 1);
	if (!*text)
		return -1;
	memcpy(*text, bytes, len);
	(*text)[len] = 0;
	return 0;
}

static void unpack_defect(struct tw_unpacking *in, struct trawl_defect *defect,
			  struct tw_merge *merge)
{
	size_t len;
	const char *kind = tw_unpack_text(in, &len);

	in->failed |= !tw_quality_find(kind, len, defect);
	defect->count = tw_unpack_signed(in);
	defect->offset = tw_unpack_signed(in);
	defect->event = tw_unpack_signed(in);
	if (tw_unpack_up_to(in, true)) {
		const char *table = tw_unpack_text(in, &len);

		defect->table = tw_pool_text(&merge->texts,
					     tw_pool_intern(&merge->texts, table, len), NULL);
	}
	defect->row = tw_unpack_signed(in);
}

int tw_merged_unpack(struct tw_unpacking *in, size_t number, struct tw_merged *rank,
		     struct tw_merge *merge)
{
	enum { DEFECT_BYTES = 6 };
	const struct trawl_allocator *a = merge->allocator;
	size_t count, i;

	in->failed |= tw_unpack_number(in) != number;
	rank->status = (int)tw_unpack_signed(in);
	rank->state = (enum tw_rank_state)tw_unpack_up_to(in, TW_RANK_NOT_A_TRACE);
	rank->told_rank = tw_unpack_signed(in);
	rank->gpu_slices = tw_unpack_number(in);
	rank->host_slices = tw_unpack_number(in);
	rank->others = tw_unpack_number(in);
	rank->arrows = tw_unpack_number(in);
	rank->moved = tw_unpack_number(in);
	rank->loose = tw_unpack_number(in);
	rank->timeless = tw_unpack_number(in);
	if (unpack_optional(in, &rank->message, a) || unpack_optional(in, &rank->about, a))
		return TRAWL_ENOMEM;
	count = tw_unpack_count(in, DEFECT_BYTES);
	rank->defects = tw_alloc_array(a, count, sizeof(*rank->defects));
	if (!rank->defects && count)
		return TRAWL_ENOMEM;
	rank->defect_count = count;
	for (i = 0; i < count; i++)
		unpack_defect(in, &rank->defects[i], merge);
	/* One that is in the output tells of itself there. */
	if (tw_merged_is_in(rank) && !rank->about)
		in->failed = true;
	if (merge->texts.failed)
		return TRAWL_ENOMEM;
	return in->failed ? TRAWL_EFORMAT : 0;
}
