#!/bin/sh
# The symbols libtrawl.so exports are exactly the functions that include/trawl/*.h declare with
# TRAWL_API, each named trawl_*; and no header declares a function without TRAWL_API.
#
# usage: tools/check_exports.sh BUILD_DIR
# Prints one line per difference; exit status 0 or 1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
library=${1:?usage: check_exports.sh BUILD_DIR}/libtrawl.so
if [ ! -e "$library" ]; then
	echo "$library is missing"
	exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# One declaration a line: comments and preprocessor lines gone, split at ; { and }.
cat "$root"/include/trawl/*.h |
	${CC:-cc} -fpreprocessed -dD -E -P -x c - 2>"$work/log" |
	sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' -e '/^[[:space:]]*#/d' |
	tr '\n' ' ' | tr ';{}' '[\n*]' >"$work/declarations"

# The name declared is the first identifier before a parenthesis, or the last one of all.
grep TRAWL_API "$work/declarations" | sed -e 's/.*TRAWL_API//' \
	-e 's/^[^(]*[^A-Za-z0-9_(]\([A-Za-z_][A-Za-z0-9_]*\)[[:space:]]*(.*/\1/' \
	-e 's/^.*[^A-Za-z0-9_]\([A-Za-z_][A-Za-z0-9_]*\)[[:space:]]*$/\1/' |
	LC_ALL=C sort >"$work/declared"
nm -D --defined-only "$library" | sed 's/.* //; s/@.*//' | LC_ALL=C sort >"$work/exported"
grep -v TRAWL_API "$work/declarations" | grep -v 'static inline' |
	grep -oE '^[^(=]*[ *]trawl_[a-z0-9_]+ *\(' | grep -oE 'trawl_[a-z0-9_]+ *\($' >"$work/unmarked"

failed=0
report() {
	if [ -s "$work/found" ]; then
		sed "s/\$/: $1/" "$work/found"
		failed=1
	fi
}
LC_ALL=C comm -23 "$work/declared" "$work/exported" >"$work/found"
report "declared in a public header, not exported"
LC_ALL=C comm -13 "$work/declared" "$work/exported" >"$work/found"
report "exported, not declared in a public header"
grep -v '^trawl_' "$work/declared" "$work/exported" | sed 's/.*://' >"$work/found"
report "public name without the prefix trawl_"
uniq -d "$work/declared" >"$work/found"
report "declared twice"
tr -d '( ' <"$work/unmarked" >"$work/found"
report "declared in a public header without TRAWL_API"

if [ ! -s "$work/declared" ]; then
	echo "no declarations found: nothing was checked"
	failed=1
fi
[ "$failed" -ne 0 ] || echo "$(wc -l <"$work/declared") symbols exported as declared"
exit "$failed"
