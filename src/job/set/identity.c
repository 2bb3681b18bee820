#include "job/set/identity.h"

#include "analysis/groups.h"
#include "analysis/ops/collective_args.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/sort.h"
#include "job/set/job.h"
#include "text/rank_list.h"
#include "text/text.h"

#include <string.h>

/* Names whose first events have no rank are not asked again. */
#define TRIES 8
/* Limits of undecided candidates: ranks, and groups. */
#define MOST_VOTES 64
#define MOST_GROUPS 4096
/* What PyTorch calls the process group of all ranks (torch/distributed/distributed_c10d.py). */
#define DEFAULT_GROUP "default_pg"

struct vote {
	int64_t rank;
	uint64_t count;
};

/* A recorded list of ranks, and the global rank of the last lookup. */
struct group {
	uint32_t text;
	bool whole, single;
	int64_t asked, answer;
};

struct looking {
	const struct trawl_trace *trace;
	struct tw_arena arena; /* of what follows, but for groups */
	struct tw_who *who;
	uint8_t *tries; /* by text id: events of this name without a rank; TRIES: enough */
	bool *named;	/* by text id: it names an operator or kernel */
	uint64_t *host; /* by track: events of the host */
	struct vote votes[MOST_VOTES];
	size_t vote_count;
	struct group *groups;
	uint32_t *group_of; /* by text id: which of them, from 1 on; 0: none */
	size_t group_count, group_capacity;
	struct tw_pool members; /* ranks of all groups that are recorded whole, as bytes */
	bool failed;
};

/* ---- rank from collectives */

/* Of one event: text ids, 0: not recorded. */
struct recorded {
	uint32_t list, name, description;
	int64_t rank, size; /* -1: not recorded */
};

static int64_t number_of(const struct trawl_trace *trace, const struct trawl_argument *arg)
{
	int64_t value;
	const char *text;
	size_t len;

	if (arg->kind == TRAWL_VALUE_INTEGER)
		return arg->integer >= 0 ? arg->integer : -1;
	if (arg->kind != TRAWL_VALUE_TEXT && arg->kind != TRAWL_VALUE_NUMBER)
		return -1;
	text = tw_pool_text(&trace->texts, arg->text, &len);
	return tw_text_integer(text, len, &value) && value >= 0 ? value : -1;
}

static uint32_t text_of(const struct trawl_argument *arg)
{
	return arg->kind == TRAWL_VALUE_TEXT || arg->kind == TRAWL_VALUE_JSON ? arg->text : 0;
}

static bool read_recorded(const struct trawl_trace *trace, uint64_t event, struct recorded *r)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	struct trawl_argument arg;

	*r = (struct recorded){ .rank = -1, .size = -1 };
	while (at && tw_args_next(&trace->args, &at, &arg)) {
		if (arg.key == TW_KEY_rank)
			r->rank = number_of(trace, &arg);
		else if (arg.key == TW_KEY_process_group_ranks)
			r->list = text_of(&arg);
		else if (arg.key == TW_KEY_collective_name)
			r->name = text_of(&arg);
		else if (arg.key == TW_KEY_process_group_description)
			r->description = text_of(&arg);
		else if (arg.key == TW_KEY_group_size)
			r->size = number_of(trace, &arg);
	}
	return r->name && (r->rank >= 0 || r->list);
}

/*
 * PyTorch records the rank in the group, which counts the group's list; what is beyond the list,
 * but in it, is one of the job already.  -1: it is unknown.
 */
static int64_t rank_in_list(const struct tw_rank_list *list, int64_t rank)
{
	size_t i;

	if (!list->whole || rank < 0)
		return -1;
	if (rank < (int64_t)list->count)
		return list->ranks[rank];
	for (i = 0; i < list->count; i++)
		if (list->ranks[i] == rank)
			return rank;
	return -1;
}

/* Reads the list of a group, which takes as long as the text of an event that has it. */
static void read_group(struct looking *l, struct group *group, uint32_t text, int64_t rank,
		       bool first)
{
	struct tw_rank_list list;
	size_t i;

	tw_rank_list_parse(&list, tw_pool_text(&l->trace->texts, text, NULL), l->arena.allocator);
	*group = (struct group){ text, list.whole, list.count <= 1, rank,
				 rank_in_list(&list, rank) };
	for (i = 0; first && list.whole && i < list.count; i++)
		tw_pool_intern(&l->members, (const char *)&list.ranks[i], sizeof(*list.ranks));
	l->failed |= list.failed || l->members.failed;
	tw_rank_list_release(&list);
}

/* The group of a list, asked for a rank; NULL: none, or too many. */
static const struct group *group_of(struct looking *l, uint32_t text, int64_t rank)
{
	uint32_t *number = &l->group_of[text];
	bool first = !*number;

	if (!text || (first && l->group_count == MOST_GROUPS))
		return NULL;
	if (first && !tw_list_grow(&l->groups, &l->group_capacity, l->group_count,
				   sizeof(*l->groups), l->arena.allocator)) {
		l->failed = true;
		return NULL;
	}
	if (first)
		*number = (uint32_t)++l->group_count;
	if (first || l->groups[*number - 1].asked != rank)
		read_group(l, &l->groups[*number - 1], text, rank, first);
	return &l->groups[*number - 1];
}

/* Whether "Rank" is the one that recorded it, and not a root or a peer. */
static bool tells_own_rank(const struct looking *l, uint32_t name)
{
	size_t len, i;
	const char *text = tw_pool_text(&l->trace->texts, name, &len);
	const char *kind = tw_collective(text, len);

	for (i = 0; kind && i < tw_own_rank_kind_count; i++)
		if (!strcmp(kind, tw_own_rank_kinds[i]))
			return true;
	return false;
}

static void add_vote(struct looking *l, int64_t rank)
{
	size_t i;

	for (i = 0; i < l->vote_count && l->votes[i].rank != rank; i++)
		;
	if (i == MOST_VOTES)
		return;
	if (i == l->vote_count)
		l->votes[l->vote_count++].rank = rank;
	l->votes[i].count++;
}

static void take_collective(struct looking *l, uint64_t event)
{
	uint8_t *tries = &l->tries[l->trace->events.name[event]];
	const struct group *group;
	bool default_group;
	struct recorded r;
	int64_t rank;

	if (*tries == TRIES)
		return;
	if (!read_recorded(l->trace, event, &r)) {
		++*tries;
		return;
	}
	*tries = 0;
	group = group_of(l, r.list, r.rank);
	default_group = r.description &&
			!strcmp(tw_pool_text(&l->trace->texts, r.description, NULL), DEFAULT_GROUP);
	if (default_group && r.size > l->who->recorded_world)
		l->who->recorded_world = r.size;
	if (r.rank < 0 || !tells_own_rank(l, r.name))
		return;
	rank = group && group->whole ? group->answer : default_group ? r.rank : -1;
	if (rank >= 0)
		add_vote(l, rank);
}

/* The rank of more than half of the collectives. */
static void count_votes(struct looking *l)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < l->vote_count; i++)
		all += l->votes[i].count;
	for (i = 0; i < l->vote_count; i++)
		if (2 * l->votes[i].count > all)
			l->who->recorded_rank = l->votes[i].rank;
}

/* The ranks of all groups that are recorded whole, as a list of its own. */
static void join_groups(struct looking *l, struct tw_rank *rank)
{
	size_t count = l->members.failed ? 0 : l->members.count - 1, i;
	int64_t *all = tw_arena_array(&l->arena, count, sizeof(*all));
	struct tw_str out;

	if (!all || !count)
		return;
	tw_str_init(&out, rank->allocator);
	for (i = 0; i < count; i++)
		memcpy(&all[i], l->members.entries[i + 1].ptr, sizeof(*all));
	tw_sort_numbers(all, count);
	for (i = 0; i < count; i++)
		tw_str_addf(&out, "%s%lld", i ? ", " : "[", (long long)all[i]);
	tw_str_add_char(&out, ']');
	l->failed |= out.failed;
	if (!out.failed)
		rank->who.members = tw_rank_keep(rank, out.ptr);
	tw_str_release(&out);
}

/* ---- names of operators and kernels */

/* The same in every process and on every machine, unlike hashes of tables. */
static uint64_t hash_name(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 33;
}

static void add_hash(struct tw_sketch *sketch, uint64_t hash)
{
	uint32_t at = sketch->count, i;

	if (at == TW_SKETCH && hash >= sketch->hashes[TW_SKETCH - 1])
		return;
	for (; at && sketch->hashes[at - 1] > hash; at--)
		;
	if (at && sketch->hashes[at - 1] == hash)
		return;
	sketch->count += sketch->count < TW_SKETCH;
	for (i = sketch->count - 1; i > at; i--)
		sketch->hashes[i] = sketch->hashes[i - 1];
	sketch->hashes[at] = hash;
}

static void add_text(struct tw_sketch *sketch, const struct tw_pool *texts, uint32_t id)
{
	add_hash(sketch, hash_name(texts->entries[id].ptr, texts->entries[id].len));
}

static void sketch_groups(struct looking *l)
{
	size_t i;

	/* A list that the profiler cut is the same in all that have it. */
	for (i = 0; i < l->group_count; i++)
		if (!l->groups[i].whole || !l->groups[i].single)
			add_text(&l->who->groups, &l->trace->texts, l->groups[i].text);
}

static void sketch_names(struct looking *l)
{
	const struct tw_pool *texts = &l->trace->texts;
	uint32_t id;

	for (id = 1; id < texts->count; id++)
		if (l->named[id])
			add_text(&l->who->names, texts, id);
}

double tw_who_alike(const struct tw_who *a, const struct tw_who *b)
{
	const struct tw_sketch *x = &a->names, *y = &b->names;
	uint32_t i = 0, k = 0, both = 0, n;

	/* Among the smallest of both together, as many as each has. */
	for (n = 0; n < TW_SKETCH && (i < x->count || k < y->count); n++) {
		if (k == y->count || (i < x->count && x->hashes[i] < y->hashes[k])) {
			i++;
		} else if (i == x->count || y->hashes[k] < x->hashes[i]) {
			k++;
		} else {
			both++;
			i++;
			k++;
		}
	}
	return n ? (double)both / n : 0;
}

/* ---- its process and its time */

/* Events of the host by process: that with most of them, of equals the lowest. */
static void find_pid(struct looking *l)
{
	const struct trawl_trace *trace = l->trace;
	struct tw_groups processes;
	uint64_t most = 0, *events;
	uint32_t t, g;

	tw_groups_init_values(&processes, sizeof(tw_code), sizeof(*events), l->arena.allocator);
	for (t = 0; t < trace->track_count && !processes.failed; t++) {
		tw_code pid = trace->tracks[t].pid;

		if (!l->host[t] || pid & TW_CODE_TEXT)
			continue;
		g = tw_groups_add(&processes, &pid);
		if (g != TW_NO_GROUP)
			*(uint64_t *)tw_groups_value(&processes, g) += l->host[t];
	}
	for (g = 0; g < processes.count; g++) {
		tw_code pid = *(const tw_code *)tw_groups_key(&processes, g);

		events = tw_groups_value(&processes, g);
		if (*events > most || (*events == most && pid < l->who->pid))
			l->who->pid = pid;
		most = *events > most ? *events : most;
	}
	l->failed |= processes.failed;
	tw_groups_release(&processes);
}

static void look_at_events(struct looking *l)
{
	const struct trawl_trace *trace = l->trace;
	const struct tw_events *events = &trace->events;
	struct tw_who *who = l->who;
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		enum trawl_class class = tw_class(trace, i);
		bool gpu = tw_class_is_gpu(class);
		int64_t end;

		if (events->phase[i] != 'X')
			continue;
		end = events->start_ns[i] + events->dur_ns[i];
		if (events->start_ns[i] < who->first_ns)
			who->first_ns = events->start_ns[i];
		if (end > who->last_ns)
			who->last_ns = end;
		if (class == TRAWL_CLASS_CPU_OP || gpu) {
			l->named[events->name[i]] = true;
			if (events->args[i])
				take_collective(l, i);
		}
		l->host[events->track[i]] += !gpu && class != TRAWL_CLASS_OTHER;
	}
}

int tw_who_take(struct tw_rank *rank, const struct trawl_trace *trace)
{
	const struct trawl_allocator *a = rank->allocator;
	size_t texts = trace->texts.count;
	struct looking l = { .trace = trace, .who = &rank->who };

	tw_arena_init(&l.arena, a);
	l.tries = tw_arena_array(&l.arena, texts, sizeof(*l.tries));
	l.named = tw_arena_array(&l.arena, texts, sizeof(*l.named));
	l.host = tw_arena_array(&l.arena, trace->track_count, sizeof(*l.host));
	l.group_of = tw_arena_array(&l.arena, texts, sizeof(*l.group_of));
	l.failed = tw_pool_init(&l.members, a) || l.arena.failed;
	if (!l.failed) {
		look_at_events(&l);
		count_votes(&l);
		join_groups(&l, rank);
		sketch_names(&l);
		sketch_groups(&l);
		find_pid(&l);
	}
	l.failed |= l.arena.failed || rank->texts.failed;
	tw_pool_release(&l.members);
	tw_free(a, l.groups, l.group_capacity * sizeof(*l.groups));
	tw_arena_release(&l.arena);
	return l.failed ? -1 : 0;
}
