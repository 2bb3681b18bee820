/* Made from data/collective_ranks.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const char *const tw_own_rank_kinds[] = {
	"allreduce",
	"allgather",
	"reduce_scatter",
	"all_to_all",
	"barrier",
};

const size_t tw_own_rank_kind_count = 5;
