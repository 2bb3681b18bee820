#include "study/compare/split.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "data/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tw_split_names[TW_SPLIT_PARTS] = {
	[TW_SPLIT_COMPUTING] = "computing",
	[TW_SPLIT_WAITING] = "waiting",
	[TW_SPLIT_TRANSFER] = "transfer",
	[TW_SPLIT_COMMUNICATION] = TW_LABEL_EXPOSED_COMMUNICATION,
	[TW_SPLIT_COPIES] = TW_LABEL_EXPOSED_COPIES,
	[TW_SPLIT_IDLE] = "idle",
	[TW_SPLIT_OTHER] = "other work",
	[TW_SPLIT_REST] = "unattributed",
};

const char *const tw_split_causes[TW_SPLIT_CAUSES] = {
	[TW_SPLIT_NO_CAUSE] = "",
	[TW_SPLIT_LOADING] = "data loading",
	[TW_SPLIT_SYNC] = "synchronization",
	[TW_SPLIT_ALLOCATION] = "allocation",
	[TW_SPLIT_LAUNCHING] = "launching",
	[TW_SPLIT_OTHER_CAUSE] = "other",
};

/* A share of the mean of a side. */
struct piece {
	struct tw_split_row row;
	uint32_t config;
};

struct pieces {
	struct piece *items;
	size_t count, capacity;
};

struct work {
	const struct tw_samples *samples;
	struct pieces pieces;
	size_t configs; /* that have total times on both sides */
	struct tw_split *split;
};

/* ---- times of a rank */

/* -1: not there */
static int64_t find_of_kind(const struct tw_samples *s, uint32_t kind, const char *part,
			    uint32_t config, uint32_t side, int64_t rank)
{
	const struct tw_sample place = {
		.kind = kind,
		.name = tw_pool_find(&s->texts, part, strlen(part)),
		.config = config,
		.side = side,
		.rank = rank,
	};
	const struct tw_sample *found = place.name ? tw_samples_find(s, &place) : NULL;

	return found ? found->ns : -1;
}

static int64_t find_ns(const struct tw_samples *s, const char *part, uint32_t config, uint32_t side,
		       int64_t rank)
{
	return find_of_kind(s, TW_TIMELINE_PART, part, config, side, rank);
}

static const char total_time[] = "total_time";

/* Ranks with a total time: how many of the side, and of both. */
static size_t count_ranks(const struct tw_samples *s, uint32_t config, uint32_t side, size_t *both)
{
	uint32_t name = tw_pool_find(&s->texts, total_time, strlen(total_time));
	size_t n = 0, i;

	*both = 0;
	for (i = 0; i < s->count && name; i++) {
		const struct tw_sample *t = &s->items[i];

		if (t->kind != TW_TIMELINE_PART || t->name != name || t->config != config ||
		    t->side != side)
			continue;
		n++;
		*both += find_ns(s, total_time, config, !side, t->rank) >= 0;
	}
	return n;
}

/* ---- pieces */

static int add_piece(struct work *w, uint32_t config, uint32_t side, enum tw_split_part part,
		     int64_t rank, enum tw_split_cause cause, double ns)
{
	struct pieces *p = &w->pieces;
	struct piece *piece;

	if (!tw_list_grow(&p->items, &p->capacity, p->count, sizeof(*p->items),
			  w->samples->allocator))
		return TRAWL_ENOMEM;
	piece = &p->items[p->count++];
	*piece = (struct piece){ { part, rank, cause, { 0, 0 } }, config };
	piece->row.ns[side] = ns;
	return 0;
}

/* A side of a configuration. */
struct place {
	uint32_t config, side;
	bool paired, waits, causes;
	double weight; /* of one rank in the mean over ranks and configurations */
};

/* Whole parts, in the order of what is left of the total. */
static const struct {
	const char *type;
	enum tw_split_part part;
} parts[] = {
	{ "computation_time", TW_SPLIT_COMPUTING },
	{ "exposed_comm_time", TW_SPLIT_COMMUNICATION },
	{ "exposed_memcpy_time", TW_SPLIT_COPIES },
	{ "other_work_time", TW_SPLIT_OTHER },
	{ "idle_time", TW_SPLIT_IDLE },
	{ "micro_idle_time", TW_SPLIT_IDLE },
	{ "macro_idle_time", TW_SPLIT_IDLE },
};

/* Idle time of a rank by cause; what none of them has is TW_SPLIT_OTHER_CAUSE. */
static int add_idle(struct work *w, const struct place *at, int64_t of_rank, int64_t rank,
		    int64_t idle_ns)
{
	unsigned cause = at->causes ? TW_SPLIT_LOADING : TW_SPLIT_NO_CAUSE;
	int status = 0;

	for (; idle_ns > 0 && !status; cause++) {
		int64_t ns = idle_ns;

		if (cause > TW_SPLIT_NO_CAUSE && cause < TW_SPLIT_OTHER_CAUSE)
			ns = find_of_kind(w->samples, TW_IDLE_CAUSE, tw_split_causes[cause],
					  at->config, at->side, of_rank);
		/* Gaps between launched work may hold other work. */
		ns = ns > idle_ns ? idle_ns : ns;
		if (ns > 0)
			status = add_piece(w, at->config, at->side, TW_SPLIT_IDLE, rank,
					   (enum tw_split_cause)cause, (double)ns * at->weight);
		idle_ns -= ns > 0 ? ns : 0;
	}
	return status;
}

static int add_rank(struct work *w, const struct place *at, const struct tw_sample *total)
{
	int64_t rank = at->paired ? total->rank : TW_NO_RANK, rest = total->ns, idle = 0, ns;
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && !status; i++) {
		bool transfer = parts[i].part == TW_SPLIT_COMMUNICATION && at->waits;

		ns = find_ns(w->samples, parts[i].type, at->config, at->side, total->rank);
		if (ns <= 0)
			continue;
		rest -= ns;
		if (parts[i].part == TW_SPLIT_IDLE) {
			idle += ns;
			continue;
		}
		/* Its waits are taken off it. */
		status = add_piece(w, at->config, at->side,
				   transfer ? TW_SPLIT_TRANSFER : parts[i].part,
				   transfer ? TW_NO_RANK : rank, TW_SPLIT_NO_CAUSE,
				   (double)ns * at->weight);
	}
	if (!status)
		status = add_idle(w, at, total->rank, rank, idle);
	if (rest && !status)
		status = add_piece(w, at->config, at->side, TW_SPLIT_REST, TW_NO_RANK,
				   TW_SPLIT_NO_CAUSE, (double)rest * at->weight);
	w->split->total_ns[at->side] += (double)total->ns * at->weight;
	return status;
}

static int add_wait(struct work *w, const struct place *at, const struct tw_sample *wait)
{
	int64_t late = strtoll(tw_pool_text(&w->samples->texts, wait->name, NULL), NULL, 10);
	double ns = (double)wait->ns * at->weight;
	int status =
		add_piece(w, at->config, at->side, TW_SPLIT_WAITING, late, TW_SPLIT_NO_CAUSE, ns);

	return status ? status :
			add_piece(w, at->config, at->side, TW_SPLIT_TRANSFER, TW_NO_RANK,
				  TW_SPLIT_NO_CAUSE, -ns);
}

/* Total times and waits of the ranks that count. */
static int add_side(struct work *w, const struct place *at)
{
	const struct tw_samples *s = w->samples;
	uint32_t name = tw_pool_find(&s->texts, total_time, strlen(total_time));
	int status = 0;
	size_t i;

	for (i = 0; i < s->count && !status; i++) {
		const struct tw_sample *t = &s->items[i];
		bool is_total = t->kind == TW_TIMELINE_PART && t->name == name;
		bool is_wait = at->waits && t->kind == TW_EXPOSED_WAIT;

		if (t->config != at->config || t->side != at->side || (!is_total && !is_wait) ||
		    (at->paired && find_ns(s, total_time, at->config, !at->side, t->rank) < 0) ||
		    find_ns(s, total_time, at->config, at->side, t->rank) < 0)
			continue;
		status = is_total ? add_rank(w, at, t) : add_wait(w, at, t);
	}
	return status;
}

static int add_config(struct work *w, uint32_t config)
{
	const struct tw_sample_config *c = &w->samples->configs[config];
	size_t both, n[2];
	uint32_t side;
	int status = 0;

	for (side = 0; side < 2; side++)
		n[side] = count_ranks(w->samples, config, side, &both);
	if (!n[0] || !n[1])
		return 0;
	for (side = 0; side < 2 && !status; side++) {
		size_t ranks = both ? both : n[side];
		const struct place at = { config,
					  side,
					  both > 0,
					  c->waits[0] && c->waits[1],
					  c->idle_causes[0] && c->idle_causes[1],
					  1.0 / (double)ranks / (double)w->configs };

		if (ranks > w->split->ranks)
			w->split->ranks = ranks;
		status = add_side(w, &at);
	}
	return status;
}

/* ---- rows */

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->row.part != y->row.part)
		return x->row.part < y->row.part ? -1 : 1;
	if (x->row.rank != y->row.rank)
		return x->row.rank < y->row.rank ? -1 : 1;
	if (x->row.cause != y->row.cause)
		return x->row.cause < y->row.cause ? -1 : 1;
	if (x->config != y->config)
		return x->config < y->config ? -1 : 1;
	/* Whatever is left is of one rank and side, and equal ones may change places. */
	if (x->row.ns[0] > y->row.ns[0] || x->row.ns[0] < y->row.ns[0])
		return x->row.ns[0] > y->row.ns[0] ? -1 : 1;
	return x->row.ns[1] > y->row.ns[1] ? -1 : x->row.ns[1] < y->row.ns[1];
}

static double difference(const struct tw_split_row *row)
{
	return row->ns[1] - row->ns[0];
}

static int compare_rows(const void *a, const void *b)
{
	const struct tw_split_row *x = a, *y = b;
	double p = fabs(difference(x)), q = fabs(difference(y));

	if (p > q || p < q)
		return p > q ? -1 : 1;
	return TW_ORDER_BY(x, y, part, rank, cause);
}

/* Of pieces in order. */
static int make_rows(const struct work *w, struct tw_split_rows *rows, bool by_cause)
{
	const struct pieces *p = &w->pieces;
	size_t i;

	rows->at = tw_alloc_array(w->samples->allocator, p->count, sizeof(*rows->at));
	if (!rows->at)
		return TRAWL_ENOMEM;
	rows->room = p->count;
	for (i = 0; i < p->count; i++) {
		const struct tw_split_row *from = &p->items[i].row;
		struct tw_split_row *to = &rows->at[rows->count - (rows->count > 0)];

		if (!rows->count || to->part != from->part || to->rank != from->rank ||
		    (by_cause && to->cause != from->cause))
			rows->at[rows->count++] = *from;
		else {
			to->ns[0] += from->ns[0];
			to->ns[1] += from->ns[1];
		}
	}
	qsort(rows->at, rows->count, sizeof(*rows->at), compare_rows);
	return 0;
}

static int make_all_rows(struct work *w)
{
	struct pieces *p = &w->pieces;
	int status;

	if (!p->count)
		return 0;
	qsort(p->items, p->count, sizeof(*p->items), compare_pieces);
	status = make_rows(w, &w->split->rows, true);
	return status ? status : make_rows(w, &w->split->by_rank, false);
}

int tw_split_make(struct tw_split *split, const struct tw_samples *samples)
{
	struct work w = { .samples = samples, .split = split };
	size_t both;
	uint32_t i;
	int status = 0;

	*split = (struct tw_split){ 0 };
	for (i = 0; i < samples->config_count; i++)
		w.configs += count_ranks(samples, i, 0, &both) && count_ranks(samples, i, 1, &both);
	for (i = 0; i < samples->config_count && !status; i++)
		status = add_config(&w, i);
	if (!status)
		status = make_all_rows(&w);
	tw_free(samples->allocator, w.pieces.items, w.pieces.capacity * sizeof(*w.pieces.items));
	return status;
}

void tw_split_release(struct tw_split *split, const struct tw_samples *samples)
{
	tw_free(samples->allocator, split->rows.at, split->rows.room * sizeof(*split->rows.at));
	tw_free(samples->allocator, split->by_rank.at,
		split->by_rank.room * sizeof(*split->by_rank.at));
	*split = (struct tw_split){ 0 };
}

/* ---- what it says */

double tw_split_difference(const struct tw_split *split, enum tw_split_part part)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < split->rows.count; i++)
		if (split->rows.at[i].part == part)
			sum += difference(&split->rows.at[i]);
	return sum;
}

double tw_split_cause_difference(const struct tw_split *split, enum tw_split_cause cause)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < split->rows.count; i++)
		if (split->rows.at[i].cause == cause)
			sum += difference(&split->rows.at[i]);
	return sum;
}

const struct tw_split_row *tw_split_main_rank(const struct tw_split *split, enum tw_split_part part,
					      bool *all)
{
	const struct tw_split_row *most = NULL;
	double sum = 0, size;
	size_t i;

	for (i = 0; i < split->by_rank.count; i++) {
		const struct tw_split_row *row = &split->by_rank.at[i];

		if (row->part != part)
			continue;
		/* Rows come by size. */
		most = most ? most : row;
		sum += fabs(difference(row));
	}
	if (!most || most->rank == TW_NO_RANK || split->ranks < 2)
		return NULL;
	size = fabs(difference(most));
	*all = size * 100 >= sum * TW_LIMIT_NEARLY_ALL_PERCENT;
	return size > 0 && size * 100 >= sum * TW_LIMIT_SPLIT_RANK_PERCENT ? most : NULL;
}
