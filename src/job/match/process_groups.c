/* What collectives are matched in and compared by: process groups, lanes, signatures. */
#include "job/match/match_work.h"

#include "text/rank_list.h"

#include <string.h>

#define SIMPLIFIED_GROUP "all"

/* The rank lists of a name. */
enum { NO_LIST = 0, SEVERAL_LISTS = UINT32_MAX };

/* How a collective's sizes and ends relate between its ranks. */
static const struct nature {
	const char *kind;
	bool same_in, same_out; /* elements are the same on all ranks */
	bool together;		/* members end together */
	bool apart;		/* members may well end apart */
	bool strict;		/* none ends much before another: each needs the parts of all */
} natures[] = {
	{ "allreduce", true, true, true, false, true },
	{ "allgather", false, true, true, false, true }, /* parts may differ, not the whole */
	{ "reduce_scatter", true, false, true, false, true },
	{ "all_to_all", false, false, true, false, false },
	{ "barrier", false, false, true, false, true },
	{ "broadcast", true, true, false, true, false },
	{ "reduce", true, true, false, true, false },
	{ "gather", false, false, false, true, false },
	{ "scatter", false, false, false, true, false },
	{ "send", false, false, false, true, false },
	{ "recv", false, false, false, true, false },
};

static const struct nature *nature_of(const char *kind)
{
	static const struct nature unknown = { 0 };
	size_t i;

	for (i = 0; kind && i < sizeof(natures) / sizeof(*natures); i++) {
		if (!strcmp(natures[i].kind, kind))
			return &natures[i];
	}
	return &unknown;
}

/* A process group while groups are made; bytes of a pool, so that each is there once. */
struct group_key {
	uint32_t name, ranks; /* texts; ranks without blanks */
};

struct making {
	struct tw_match_work *work;
	struct tw_pool groups; /* of group_key */
	struct tw_str text;
	/* Of one rank by its text ids: the list made of it, from 1 on; 0: not yet. */
	const struct tw_rank *rank;
	uint32_t *list_made;
	uint32_t *lists;    /* by text of a name: its list, NO_LIST, SEVERAL_LISTS */
	uint32_t *recorded; /* by text of a list: as it was recorded first */
	bool named;	    /* a collective has a group's name */
	uint32_t unknown, all;
};

static const struct group_key *group_key(const struct making *m, uint32_t group)
{
	return (const void *)tw_pool_text(&m->groups, group + 1, NULL);
}

static uint32_t text_of(struct making *m, const struct tw_rank *rank, uint32_t id)
{
	size_t len;
	const char *text = tw_pool_text(&rank->texts, id, &len);

	return len ? tw_pool_intern(&m->work->texts, text, len) : 0;
}

/* A list of ranks as text, without what differs by the writer: "[0,1]"; 0: none. */
static uint32_t make_list(struct making *m, const struct tw_rank *rank, uint32_t id)
{
	size_t len, i;
	const char *text = tw_pool_text(&rank->texts, id, &len);
	bool number = false;

	tw_str_clear(&m->text);
	for (i = 0; i < len; i++) {
		char c = text[i];

		number |= c >= '0' && c <= '9';
		if (c == '(' || c == ')')
			c = c == '(' ? '[' : ']';
		if (c != ' ' && c != '"')
			tw_str_add_char(&m->text, c);
	}
	return number && m->text.len ? tw_pool_intern(&m->work->texts, m->text.ptr, m->text.len) :
				       0;
}

/* The same; each text is looked at once, for lists are long and of many kinds. */
static uint32_t list_of(struct making *m, const struct tw_rank *rank, uint32_t id)
{
	if (m->rank != rank)
		memset(m->list_made, 0, rank->texts.count * sizeof(*m->list_made));
	m->rank = rank;
	if (!m->list_made[id])
		m->list_made[id] = make_list(m, rank, id) + 1;
	return m->list_made[id] - 1;
}

static const uint32_t *args_of(const struct tw_rank *rank, uint32_t kind)
{
	return rank->kinds[kind].args;
}

/* First pass: which lists names have, and whether there are names at all. */
static int learn_lists(struct making *m)
{
	struct tw_match_work *work = m->work;
	size_t r, room = 1, texts = 1;
	uint32_t k;

	for (r = 0; r < work->job->count; r++) {
		room += (size_t)work->job->ranks[r].kind_count * 3;
		if (work->job->ranks[r].texts.count > texts)
			texts = work->job->ranks[r].texts.count;
	}
	m->unknown = tw_pool_intern_cstr(&work->texts, TW_MATCH_UNKNOWN_GROUP);
	m->all = tw_pool_intern_cstr(&work->texts, SIMPLIFIED_GROUP);
	m->lists = tw_arena_array(&work->arena, room + m->all, sizeof(*m->lists));
	m->recorded = tw_arena_array(&work->arena, room + m->all, sizeof(*m->recorded));
	m->list_made = tw_arena_array(&work->arena, texts, sizeof(*m->list_made));
	if (work->arena.failed || work->texts.failed)
		return TRAWL_ENOMEM;
	for (r = 0; r < work->job->count; r++) {
		const struct tw_rank *rank = &work->job->ranks[r];

		for (k = 0; k < rank->kind_count; k++) {
			const uint32_t *args = args_of(rank, k);
			uint32_t name = text_of(m, rank, args[TW_COLLECTIVE_GROUP]);
			uint32_t list = list_of(m, rank, args[TW_COLLECTIVE_GROUP_RANKS]);

			m->named |= name != 0;
			name = name ? name : m->unknown;
			if (list && !m->recorded[list])
				m->recorded[list] =
					text_of(m, rank, args[TW_COLLECTIVE_GROUP_RANKS]);
			if (list && m->lists[name] != list)
				m->lists[name] = m->lists[name] ? SEVERAL_LISTS : list;
		}
	}
	return work->texts.failed || m->text.failed ? TRAWL_ENOMEM : 0;
}

static bool one_stream_each(const struct trawl_job *job)
{
	size_t r;
	uint32_t k;

	for (r = 0; r < job->count; r++) {
		for (k = 1; k < job->ranks[r].kind_count; k++) {
			if (job->ranks[r].kinds[k].stream != job->ranks[r].kinds[0].stream)
				return false;
		}
	}
	return true;
}

static uint32_t group_of(struct making *m, const struct tw_rank *rank, const uint32_t *args)
{
	struct group_key key = { .name = m->all };

	if (!m->work->out->simplified) {
		key.name = text_of(m, rank, args[TW_COLLECTIVE_GROUP]);
		key.name = key.name ? key.name : m->unknown;
		key.ranks = list_of(m, rank, args[TW_COLLECTIVE_GROUP_RANKS]);
		/* Where one rank tells the list and another does not, they mean the same. */
		if (!key.ranks && m->lists[key.name] != SEVERAL_LISTS)
			key.ranks = m->lists[key.name];
	}
	return tw_pool_intern(&m->groups, (const char *)&key, sizeof(key));
}

static uint32_t number_text(struct making *m, int64_t number)
{
	tw_str_clear(&m->text);
	tw_str_add_int(&m->text, number);
	return m->text.ptr ? tw_pool_intern(&m->work->texts, m->text.ptr, m->text.len) : 0;
}

static uint32_t lane_of(struct making *m, const struct tw_rank *rank, const uint32_t *args,
			const char *kind)
{
	struct tw_match_lane lane = { .group = group_of(m, rank, args) };
	bool send = kind && !strcmp(kind, "send"), recv = kind && !strcmp(kind, "recv");

	if (send || recv) {
		lane.transfer = 1;
		lane.source = text_of(m, rank, args[TW_COLLECTIVE_SOURCE]);
		lane.destination = text_of(m, rank, args[TW_COLLECTIVE_DESTINATION]);
		/* One's own end is known. */
		if (send && !lane.source)
			lane.source = number_text(m, rank->rank);
		if (recv && !lane.destination)
			lane.destination = number_text(m, rank->rank);
		if (!lane.source || !lane.destination)
			lane.source = lane.destination = 0;
	}
	return tw_pool_intern(&m->work->lanes, (const char *)&lane, sizeof(lane));
}

/* Second pass: the lane and the signature of a kind. */
static int learn_kind(struct making *m, const struct tw_rank *rank, uint32_t k,
		      struct tw_match_kind *made)
{
	struct tw_match_work *work = m->work;
	const uint32_t *args = args_of(rank, k);
	struct tw_match_signature s = { 0 };
	const char *kind = tw_kind_type(rank, &rank->kinds[k]);
	const struct nature *nature = nature_of(kind);

	s.kind = kind ? tw_pool_intern_cstr(&work->texts, kind) : 0;
	s.name = text_of(m, rank, args[TW_COLLECTIVE_NAME]);
	s.kernel = s.name ? 0 : text_of(m, rank, rank->kinds[k].kernel);
	s.dtype = text_of(m, rank, args[TW_COLLECTIVE_DTYPE]);
	s.group_size = text_of(m, rank, args[TW_COLLECTIVE_GROUP_SIZE]);
	s.in = nature->same_in ? text_of(m, rank, args[TW_COLLECTIVE_IN_NELEMS]) : 0;
	s.out = nature->same_out ? text_of(m, rank, args[TW_COLLECTIVE_OUT_NELEMS]) : 0;
	s.copies = rank->kinds[k].copies;
	/* Both sides of a transfer are one thing. */
	if (kind && (!strcmp(kind, "send") || !strcmp(kind, "recv")))
		s.kind = s.name = 0;
	made->lane = lane_of(m, rank, args, kind);
	made->signature = tw_pool_intern(&work->signatures, (const char *)&s, sizeof(s));
	if (work->texts.failed || work->lanes.failed || m->groups.failed || m->text.failed ||
	    work->signatures.failed)
		return TRAWL_ENOMEM;
	while (work->nature_count <= made->signature) {
		work->natures[work->nature_count++] = (struct tw_match_nature){
			.together = nature->together && !s.copies,
			.may = !nature->apart && !s.copies,
			.strict = nature->strict && !s.copies,
		};
	}
	return 0;
}

static int learn_kinds(struct making *m)
{
	struct tw_match_work *work = m->work;
	size_t r, room = 1;
	uint32_t k;

	for (r = 0; r < work->job->count; r++)
		room += work->job->ranks[r].kind_count;
	work->kinds = tw_arena_array(&work->arena, work->job->count, sizeof(*work->kinds));
	work->natures = tw_arena_array(&work->arena, room, sizeof(*work->natures));
	if (work->arena.failed)
		return TRAWL_ENOMEM;
	work->nature_count = 1; /* id 0 is none */
	for (r = 0; r < work->job->count; r++) {
		const struct tw_rank *rank = &work->job->ranks[r];

		work->kinds[r] =
			tw_arena_array(&work->arena, rank->kind_count, sizeof(**work->kinds));
		if (!work->kinds[r])
			return TRAWL_ENOMEM;
		for (k = 0; k < rank->kind_count; k++) {
			if (learn_kind(m, rank, k, &work->kinds[r][k]))
				return TRAWL_ENOMEM;
		}
	}
	return 0;
}

static const char *keep_text(struct tw_matches *out, const struct tw_pool *texts, uint32_t id)
{
	size_t len;
	const char *text = tw_pool_text(texts, id, &len);

	return tw_arena_copy(&out->arena, text, len);
}

/* The groups for the caller, whose texts outlive the work. */
static int show_groups(struct making *m)
{
	struct tw_match_work *work = m->work;
	struct tw_matches *out = work->out;
	/* By text: how many groups have it for a name. */
	uint32_t *names = tw_arena_array(&work->arena, work->texts.count, sizeof(*names));
	uint32_t g;

	out->group_count = m->groups.count - 1;
	out->groups = tw_arena_array(&out->arena, out->group_count, sizeof(*out->groups));
	if (!names || !out->groups)
		return TRAWL_ENOMEM;
	for (g = 0; g < out->group_count; g++)
		names[group_key(m, g)->name]++;
	for (g = 0; g < out->group_count; g++) {
		struct tw_match_group *group = &out->groups[g];
		const struct group_key *key = group_key(m, g);

		group->name = keep_text(out, &work->texts, key->name);
		group->ranks =
			keep_text(out, &work->texts, key->ranks ? m->recorded[key->ranks] : 0);
		if (out->arena.failed)
			return TRAWL_ENOMEM;
		group->span = tw_node_span(group->ranks, work->job->gpus_per_node);
		group->shared_name = names[key->name] > 1;
	}
	return 0;
}

int tw_match_groups(struct tw_match_work *work)
{
	struct making m = { .work = work };
	int status = tw_pool_init(&m.groups, work->allocator) ? TRAWL_ENOMEM : 0;

	tw_str_init(&m.text, work->allocator);
	if (!status)
		status = learn_lists(&m);
	if (!status) {
		work->out->simplified = !m.named && one_stream_each(work->job);
		status = learn_kinds(&m);
	}
	if (!status)
		status = show_groups(&m);
	tw_str_release(&m.text);
	tw_pool_release(&m.groups);
	return status;
}

static bool differ(uint32_t a, uint32_t b)
{
	return a && b && a != b;
}

bool tw_match_conflict(const struct tw_match_work *work, uint32_t a, uint32_t b)
{
	const struct tw_match_signature *x = tw_match_signature(work, a);
	const struct tw_match_signature *y = tw_match_signature(work, b);

	return a != b && (differ(x->kind, y->kind) || differ(x->name, y->name) ||
			  differ(x->dtype, y->dtype) || differ(x->group_size, y->group_size) ||
			  differ(x->in, y->in) || differ(x->out, y->out));
}

enum tw_match_likeness tw_match_likeness(const struct tw_match_work *work, uint32_t a, uint32_t b)
{
	const struct tw_match_signature *x, *y;

	if (a == b)
		return TW_MATCH_SAME;
	x = tw_match_signature(work, a);
	y = tw_match_signature(work, b);
	if (differ(x->kind, y->kind))
		return TW_MATCH_OTHER;
	return differ(x->kernel, y->kernel) || tw_match_conflict(work, a, b) ? TW_MATCH_RELATED :
									       TW_MATCH_SAME;
}
