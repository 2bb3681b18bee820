#!/bin/sh
# The Debian package holds what it should, names what it depends on, and its program runs.
#
# usage: tools/check_package.sh PACKAGE.deb
# Prints one line per failure; exit status 0 or 1. Installing it in a clean system is
# tools/try_clean_chroot.sh's.
set -u
deb=${1:?usage: check_package.sh PACKAGE.deb}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

bad() {
	echo "$1"
	failed=1
}

dpkg-deb -x "$deb" "$work/root" && dpkg-deb -e "$deb" "$work/control" || exit 1
field() {
	dpkg-deb -f "$deb" "$1"
}
[ "$(field Package)" = trawl ] || bad "the package is named '$(field Package)'"
for library in libc6 libisal2 libzstd1 libxlsxwriter libzip4 libexpat1 libsqlite3-0 libcmark-gfm; do
	case "$(field Depends)" in
	*"$library"*) ;;
	*) bad "Depends has no $library: $(field Depends)" ;;
	esac
done
cat "$work"/control/p* "$work"/control/triggers 2>"$work/log" | grep -q ldconfig ||
	bad "nothing runs ldconfig for libtrawl.so"
for pattern in 'usr/bin/trawl' 'usr/lib/*/libtrawl.so.0' 'usr/lib/*/libtrawl.a' \
	'usr/lib/*/pkgconfig/trawl.pc' 'usr/include/trawl/api.h' 'usr/share/man/man1/trawl.1*' \
	'usr/share/bash-completion/completions/trawl' 'usr/share/zsh/vendor-completions/_trawl' \
	'usr/share/fish/vendor_completions.d/trawl.fish' 'usr/share/doc/trawl/copyright' \
	'usr/share/trawl/schema/trawl.report-1.json'; do
	found=
	for file in "$work/root"/$pattern; do
		[ ! -e "$file" ] || found=1
	done
	[ -n "$found" ] || bad "not in the package: $pattern"
done
outside=$(find "$work/root" -mindepth 1 -maxdepth 1 ! -name usr)
[ -z "$outside" ] || bad "outside /usr: $outside"
version=$("$work/root/usr/bin/trawl" --version) || bad "the packaged program does not run"
case $version in
*"$(field Version)"*) ;;
*) bad "the program has '$version', the package $(field Version)" ;;
esac
if grep -q "$(cd "$(dirname "$0")/.." && pwd)" "$work/root/usr/bin/trawl"; then
	bad "the program holds the path of the machine that built it"
fi
exit "$failed"
