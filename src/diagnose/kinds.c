#include "diagnose/kinds.h"

#include "data/limits.h"

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
