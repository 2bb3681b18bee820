#!/bin/sh
# Tests leave no files: the source tree before and after them is the same, byte for byte.
#
# usage: tools/check_untracked.sh snapshot FILE    (before)
#        tools/check_untracked.sh compare FILE     (after)
# Build directories and Python's caches do not count. One line per difference; exit status 0 or 1.
set -u
cd "$(dirname "$0")/.." || exit 1

list() {
	find . \( -path ./build -o -path ./.git -o -path ./demo_output -o -name __pycache__ \) -prune \
		-o ! -type d -exec cksum {} + | LC_ALL=C sort -k 3
}

case ${1-} in
snapshot) list >"$2" ;;
compare)
	after=$(mktemp) || exit 1
	trap 'rm -f "$after"' EXIT
	list >"$after"
	if ! diff "$2" "$after" >"$after.diff"; then
		sed -n 's/^> [0-9]* [0-9]* /left behind or changed: /p; s/^< [0-9]* [0-9]* /was: /p' \
			"$after.diff"
		rm -f "$after.diff"
		exit 1
	fi
	rm -f "$after.diff"
	;;
*)
	sed -n 's/^# \{0,1\}//p' "$0" | sed -n '3,4p' >&2
	exit 2
	;;
esac
