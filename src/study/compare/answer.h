/* The first answer, and the gate. */
#ifndef TW_STUDY_COMPARE_ANSWER_H
#define TW_STUDY_COMPARE_ANSWER_H

#include "study/compare/tables.h"

#define TW_ANSWER_LINES 15

struct tw_answer {
	struct tw_str lines[TW_ANSWER_LINES]; /* sentences */
	size_t count;
};

/*
 * Which side is faster by how much, which rank the others wait for, what made it so, what got worse,
 * whether the work is the same, the best configuration of each.  _release is due; a line that failed is out of memory.
 */
void tw_compare_answer(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_answer *answer);
void tw_answer_release(struct tw_answer *answer);

/*
 * Where sides do not show the same number of steps, so that times are not comparable, says so; false:
 * they do, as far as it is known.  The first sentence of the answer then.
 */
bool tw_compare_uneven(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_str *out);

/*
 * What got worse by more than `percent`: total_time over all and of each configuration, and items
 * that are large enough; a line for each.  How many.
 */
size_t tw_compare_gate(const struct tw_changes *changes, double percent,
		       void (*tell)(void *context, const char *line), void *context);

/* ---- answer_text.c: for the files that the answer is made by */

struct tw_str *tw_answer_line(struct tw_answer *answer);
/* With a sign, and without its sign. */
void tw_add_signed(struct tw_str *out, double ns);
void tw_add_percent(struct tw_str *out, double percent);

/* answer.c: the name of an item, shortened in the middle, but unique within the list. */
void tw_answer_add_name(struct tw_str *out, const struct tw_changes *changes,
			const struct tw_change_list *list, const struct tw_change *c);

/* answer_ranks.c */
void tw_say_stragglers(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_answer *answer);
void tw_say_ranks(const struct tw_changes *changes, struct tw_answer *answer);
/* answer_causes.c */
void tw_say_causes(const struct tw_changes *changes, const char *const labels[2],
		   struct tw_answer *answer);
/* places/answer_places.c */
/* ", summed over 4 ranks": what else is told are means. Of one rank nothing. */
void tw_add_summed_over(struct tw_str *out, const struct tw_changes *changes,
			enum tw_compared_kind kind);
void tw_say_places(const struct tw_changes *changes, struct tw_answer *answer);

#endif
