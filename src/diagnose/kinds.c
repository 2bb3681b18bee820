#include "diagnose/kinds.h"

#include "base/hash.h"

const struct tw_kind *const tw_kind_list[TW_FINDING_KINDS] = {
#define TW_FINDING_KIND(id) [TW_KIND_##id] = &tw_kind_##id,
#include "diagnose/kinds.def"
#undef TW_FINDING_KIND
};

uint64_t tw_place_of(const char *name, size_t len, const char *dims, size_t dims_len)
{
	uint64_t hash = tw_hash_fixed(name, len) * 31 + tw_hash_fixed(dims, dims_len);

	return hash ? hash : 1;
}

void tw_claim_fusion(struct tw_look *look, enum tw_finding_kind kind, struct tw_leaf *first,
		     uint32_t count, double ns)
{
	enum { TOGETHER_NS = 50000 };
	int64_t gpu_ns = 0;
	uint32_t i, k;

	for (i = 0; i < count; i++) {
		first[i].taken = true;
		gpu_ns += first[i].gpu_ns;
		for (k = 0; k < first[i].count; k++) {
			uint32_t gpu = look->leaf_gpu[first[i].first + k];

			if (i || k)
				tw_claim_remove(look, kind, gpu);
			else
				tw_claim_duration(look, kind, gpu, ns);
		}
	}
	for (i = 1; i < count; i++) {
		int64_t before = tw_look_end(look, first[i - 1].node);
		int64_t start = tw_look_start(look, first[i].node);

		tw_claim_host(look, kind, tw_look_track(look, first[i].node),
			      start - before < TOGETHER_NS ? before : start,
			      tw_look_end(look, first[i].node), 0);
	}
	tw_claim_chain_spot(look, kind, first, count, gpu_ns - (int64_t)ns);
}
