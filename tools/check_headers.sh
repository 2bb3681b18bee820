#!/bin/sh
# Each public header compiles alone: as strict C11 with every C compiler there is, and as C++17.
#
# usage: tools/check_headers.sh [INCLUDE_DIR]
# Prints one line per header that fails, then "N header checks"; exit status 0 or 1.
set -u
cd "$(dirname "$0")/.." || exit 1
include=${1:-include}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
flags="-Wall -Wextra -Werror -pedantic -fsyntax-only -I $include"
checks=0
failed=0

# try COMPILER STANDARD LANGUAGE HEADER
try() {
	# Twice: the second inclusion shows a missing guard.
	printf '#include "trawl/%s"\n#include "trawl/%s"\n' "$4" "$4" >"$work/alone"
	checks=$((checks + 1))
	# shellcheck disable=SC2086 # flags are words
	if ! "$1" "-std=$2" -x "$3" $flags "$work/alone" >"$work/log" 2>&1; then
		echo "trawl/$4: does not compile alone with $1 -std=$2"
		sed 's/^/    /' "$work/log"
		failed=1
	fi
}

compilers=0
for path in "$include"/trawl/*.h; do
	[ -e "$path" ] || continue
	header=$(basename "$path")
	for cc in gcc clang; do
		command -v "$cc" >"$work/log" || continue
		try "$cc" c11 c "$header"
		compilers=$((compilers + 1))
	done
	for cxx in g++ clang++; do
		command -v "$cxx" >"$work/log" || continue
		try "$cxx" c++17 c++ "$header"
	done
done

echo "$checks header checks"
if [ "$compilers" -eq 0 ]; then
	echo "no headers, or no compiler: nothing was checked"
	exit 1
fi
exit "$failed"
