#!/bin/sh
# cmake --install into an empty prefix gives everything, and a C program can be built against it
# with nothing but pkg-config, with the shared and with the static library.
#
# usage: tools/check_install.sh BUILD_DIR
# Prints one line per failure; exit status 0 or 1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=$(cd "${1:?usage: check_install.sh BUILD_DIR}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
prefix=$work/moved
failed=0

bad() {
	echo "$1"
	[ ! -s "$work/log" ] || sed 's/^/    /' "$work/log"
	failed=1
}

if ! cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1; then
	bad "cmake --install fails"
	exit 1
fi
# An installed tree can be moved.
mv "$work/prefix" "$prefix"
: >"$work/log"

pc=$(find "$prefix" -name trawl.pc)
[ -n "$pc" ] || { bad "trawl.pc is not installed"; exit 1; }
lib=$(dirname "$(dirname "$pc")")
for file in "$prefix/bin/trawl" "$lib/libtrawl.a" "$lib/libtrawl.so" "$lib/libtrawl.so.0" \
	"$prefix/share/man/man1/trawl.1" "$prefix/share/bash-completion/completions/trawl" \
	"$prefix/share/zsh/vendor-completions/_trawl" \
	"$prefix/share/fish/vendor_completions.d/trawl.fish" \
	"$prefix/share/doc/trawl/README.md" "$prefix/share/doc/trawl/copyright"; do
	[ -e "$file" ] || bad "not installed: ${file#"$prefix"/}"
done
for schema in "$root"/schema/trawl.*.json; do
	cmp -s "$schema" "$prefix/share/trawl/schema/$(basename "$schema")" ||
		bad "not installed: share/trawl/schema/$(basename "$schema")"
done
for header in "$root"/include/trawl/*.h; do
	cmp -s "$header" "$prefix/include/trawl/$(basename "$header")" ||
		bad "not installed: include/trawl/$(basename "$header")"
done

version=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion trawl)
case $("$prefix/bin/trawl" --version 2>"$work/log") in
*"$version"*) ;;
*) bad "trawl --version is not $version, as in trawl.pc" ;;
esac

flags() {
	PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "$@" trawl
}
built=0
for source in "$root"/examples/*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	# shellcheck disable=SC2046 # flags are words
	${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source" -o "$work/$name" \
		$(flags --cflags --libs) >"$work/log" 2>&1 || bad "$name.c: does not build, shared"
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source" -o "$work/$name-static" \
		$(flags --cflags) "$lib/libtrawl.a" $(flags --static --libs | sed 's/-ltrawl//') \
		>"$work/log" 2>&1 || bad "$name.c: does not build, static"
	built=$((built + 1))
	# Its source shows a call of it.
	samples=$(grep -o 'sample\.[a-z.]*[a-z]' "$source" | sed "s|^|$root/examples/|")
	for program in "$work/$name" "$work/$name-static"; do
		[ -x "$program" ] || continue
		# shellcheck disable=SC2086 # samples are words
		LD_LIBRARY_PATH=$lib "$program" $samples >"$program.out" 2>"$work/log" ||
			bad "$(basename "$program") fails on the sample"
	done
	cmp -s "$work/$name.out" "$work/$name-static.out" ||
		bad "$name: shared and static library do not print the same"
done
[ "$built" -gt 0 ] || bad "no examples: nothing was built against the library"
exit "$failed"
