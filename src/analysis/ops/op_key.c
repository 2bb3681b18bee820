#include "analysis/ops/op_key.h"

#include "analysis/who/grouping.h"
#include "analysis/who/op_stacks.h"

struct key {
	uint32_t name, kernel, process, label, thread, group, again;
	struct tw_signature signature;
	uint32_t category; /* in the texts of the signatures */
	uint32_t graph;	   /* a node of GPU graphs */
};

/* What makes a key, in numbers at hand: asked for every call, where a key is made once. */
struct seen {
	const char *category; /* compared as pointers */
	uint32_t name, kernel, track, signature, group, again;
	uint32_t graph, unused;
};

int tw_op_keys_init(struct tw_op_keys *keys, const struct tw_analysis_input *in)
{
	*keys = (struct tw_op_keys){ .in = in };
	tw_str_init(&keys->name, in->allocator);
	tw_groups_init_values(&keys->groups, sizeof(struct key), sizeof(uint32_t), in->allocator);
	tw_groups_init_values(&keys->seen, sizeof(struct seen), sizeof(uint32_t), in->allocator);
	return tw_signatures_init(&keys->signatures, in->trace, in->allocator);
}

bool tw_op_keys_failed(const struct tw_op_keys *keys)
{
	return keys->groups.failed || keys->seen.failed || keys->name.failed ||
	       tw_signatures_failed(&keys->signatures);
}

static uint32_t group_of(struct tw_op_keys *keys, const struct seen *seen)
{
	const struct tw_modelled *m = keys->in->modelled;
	const struct tw_track_names *names = &keys->in->derived->names.tracks[seen->track];
	const struct key key = {
		.name = seen->name,
		.kernel = seen->kernel,
		.process = names->process,
		.label = names->labels,
		.thread = names->thread,
		.group = seen->group,
		.again = seen->again,
		.signature = tw_signature_repr(&keys->signatures,
					       tw_groups_key(&m->signatures, seen->signature)),
		.category = tw_pool_intern_cstr(&keys->signatures.texts, seen->category),
		.graph = seen->graph,
	};

	return tw_groups_add(&keys->groups, &key);
}

/* An example of a group: 1 + its first node. */
static void note_node(struct tw_op_keys *keys, uint32_t group, uint32_t node)
{
	uint32_t *first = group == TW_NO_GROUP ? NULL : tw_groups_value(&keys->groups, group);

	if (first && !*first)
		*first = node + 1;
}

uint32_t tw_op_key_of(struct tw_op_keys *keys, uint64_t node, uint32_t kernel, const char *category)
{
	const struct trawl_trace *trace = keys->in->trace;
	uint64_t event = keys->in->derived->host.event[node], count;
	const uint32_t *gpu = tw_gpu_under(keys->in->modelled, node, &count);
	struct seen seen = { category,
			     trace->events.name[event],
			     kernel,
			     trace->events.track[event],
			     tw_signature_at(keys->in->modelled, node),
			     count ? tw_group_of_gpu(keys->in, gpu[0]) : 0,
			     tw_is_recomputed(keys->in, node),
			     tw_is_via_graph(keys->in, event),
			     0 };
	uint32_t *group = tw_groups_at(&keys->seen, &seen);

	if (!group)
		return TW_NO_GROUP;
	if (!*group) {
		*group = group_of(keys, &seen) + 1;
		note_node(keys, *group - 1, (uint32_t)node);
	}
	return *group - 1;
}

void tw_synthetic_name(const struct trawl_trace *trace, uint32_t name, uint32_t kernel,
		       struct tw_str *out)
{
	const struct tw_pool_entry *texts = trace->texts.entries;

	tw_str_add(out, texts[name].ptr, texts[name].len);
	tw_str_add_cstr(out, "->");
	tw_str_add(out, texts[kernel].ptr, texts[kernel].len);
	tw_str_add_cstr(out, " (Synthetic Op)");
}

static void set_or_unknown(const struct trawl_trace *trace, struct trawl_table *table, size_t row,
			   size_t column, uint32_t text)
{
	if (text)
		tw_set_name(table, row, column, trace, text);
	else
		tw_table_set_str(table, row, column, "Unknown");
}

void tw_set_track(struct trawl_table *table, size_t row, size_t column,
		  const struct tw_derived *derived, uint64_t event)
{
	const struct tw_track_names *names =
		&derived->names.tracks[derived->trace->events.track[event]];

	set_or_unknown(derived->trace, table, row, column, names->process);
	set_or_unknown(derived->trace, table, row, column + 1, names->labels);
	set_or_unknown(derived->trace, table, row, column + 2, names->thread);
}

void tw_op_key_set(struct tw_op_keys *keys, struct trawl_table *table, size_t row, uint32_t group,
		   size_t via)
{
	const struct key *key = tw_groups_key(&keys->groups, group);
	const struct tw_pool *texts = &keys->signatures.texts;
	const struct trawl_trace *trace = keys->in->trace;

	if (key->kernel) {
		tw_str_clear(&keys->name);
		tw_synthetic_name(trace, key->name, key->kernel, &keys->name);
		tw_table_set_text(table, row, TW_OP_NAME, keys->name.ptr, keys->name.len);
	} else {
		tw_set_name(table, row, TW_OP_NAME, trace, key->name);
	}
	tw_set_pool_text(table, row, TW_OP_CATEGORY, texts, key->category);
	set_or_unknown(trace, table, row, TW_OP_PROCESS, key->process);
	set_or_unknown(trace, table, row, TW_OP_LABEL, key->label);
	set_or_unknown(trace, table, row, TW_OP_THREAD, key->thread);
	tw_set_signature(table, row, TW_OP_DIMS, texts, &key->signature);
	tw_set_via(keys->in, table, row, via, key->graph);
	tw_set_op_stack(keys->in, table, row,
			*(const uint32_t *)tw_groups_value(&keys->groups, group) - 1);
	tw_set_group(keys->in, table, row, key->group);
}
