#!/bin/bash
# Tries the tree on a Debian or Ubuntu that has nothing but git and a shell, as a stranger would:
# copies it in, runs ./dev demo, and on request more. Needs root and debootstrap (for Ubuntu also
# the keys of its archive, in the file of the environment variable KEYRING unless ubuntu-keyring is
# installed); not part of the tests, for it downloads a system.
#
# usage: tools/try_clean_chroot.sh [--release NAME] [--test] [--full] [--package] DIR
#
#   --release   bookworm (Debian 12, the default), trixie (Debian 13) or noble (Ubuntu 24.04)
#   --test      also ./dev test          --full     also ./dev test --full
#   --package   also ./dev package, and install the package in a second clean system
#
# DIR gets base-NAME/ (the clean system, kept for the next run), work-NAME/ and install-NAME/ (made
# anew). The mirror is that of the environment variable MIRROR, else of this machine's apt. Mounts
# live in a mount namespace of the run and vanish with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=bookworm

usage() {
	sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '6,11p' >&2
	exit 2
}

fail() {
	echo "try_clean_chroot: $*" >&2
	exit 1
}

run_test='' run_full='' run_package='' directory=''
while [ $# -gt 0 ]; do
	case $1 in
	--release)
		[ $# -gt 1 ] || usage
		release=$2
		shift
		;;
	--test) run_test=1 ;;
	--full) run_full=1 ;;
	--package) run_package=1 ;;
	-*) usage ;;
	*)
		[ -z "$directory" ] || usage
		directory=$1
		;;
	esac
	shift
done
[ -n "$directory" ] || usage
[ "$(id -u)" -eq 0 ] || fail "needs root, for chroot and mount"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

# The script of debootstrap is named, for one that is older than the release does not know its name.
case $release in
bookworm | trixie) vendor=debian components=main script=sid ;;
noble) vendor=ubuntu components=main,universe script=gutsy ;;
*) fail "no release '$release' known: bookworm, trixie or noble" ;;
esac

# The first archive of the vendor that this machine's apt uses; its other releases are there too.
host_mirror() {
	{
		sed -n "s/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\)  *.*/\2/p" \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list
		sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources
	} 2>/dev/null | grep "/$vendor/\{0,1\}$" | head -n 1
}

mirror=${MIRROR:-$(host_mirror)}
[ -n "$mirror" ] || fail "no mirror of $vendor known: set MIRROR"
base=$directory/base-$release

# in_root ROOT COMMAND...: in its own mount and process namespaces.
in_root() {
	local root=$1
	shift
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --pid --fork --propagation private bash -c '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" \
			${JOBS:+JOBS="$JOBS"} "$@"
	' bash "$root" "$@"
}

if [ ! -e "$base/etc/apt/sources.list" ]; then
	echo "== a clean $release in $base"
	rm -rf "$base"
	debootstrap --variant=minbase --components="$components" ${KEYRING:+--keyring="$KEYRING"} \
		"$release" "$base" "$mirror" "/usr/share/debootstrap/scripts/$script" \
		>"$directory/debootstrap.log" || fail "debootstrap: see $directory/debootstrap.log"
	# The mirror this machine uses may be a frozen one, whose lists are past their date.
	apt-config dump | grep -E '^Acquire::Check-(Valid-Until|Date) ' \
		>"$base/etc/apt/apt.conf.d/90host" || true
fi
cp --remove-destination -L /etc/resolv.conf "$base/etc/resolv.conf"
cp --remove-destination -L /etc/hosts "$base/etc/hosts"

# fresh ROOT
fresh() {
	rm -rf "${1:?}"
	cp -a "$base" "$1"
}
work=$directory/work-$release install=$directory/install-$release

echo "== the tree, in a system with git and a shell"
fresh "$work"
in_root "$work" sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive \
	apt-get -q -y install --no-install-recommends git' >"$directory/git.log" 2>&1
# A clone of what the checkout holds: tracked files, and new ones that git does not ignore.
mkdir "$work/root/trawl"
git ls-files -z --cached --others --exclude-standard |
	tar -c --null -T - --ignore-failed-read | tar -x -C "$work/root/trawl"
in_root "$work" sh -ec 'cd /root/trawl; git init -q .; git add -A
	git -c user.name=trial -c user.email=trial@localhost commit -q -m "trial: the tree"'

run_dev() {
	echo "== ./dev $*"
	in_root "$work" sh -c 'cd /root/trawl && exec ./dev "$@"' sh "$@"
}

run_dev demo
[ -s "$work/root/trawl/demo_output/perf_report.xlsx" ] || fail "no workbook from ./dev demo"
if [ -n "$run_package" ]; then
	run_dev package
	echo "== the package, in another clean system"
	fresh "$install"
	cp "$work"/root/trawl/build/package/*.deb "$install/root/"
	cp "$work/root/trawl/examples/sample.json.gz" "$install/root/"
	in_root "$install" sh -ec '
		cd /root
		{
			apt-get -q update
			DEBIAN_FRONTEND=noninteractive apt-get -q -y \
				install --no-install-recommends ./*.deb
		} >install.log 2>&1 || { tail -n 20 install.log; exit 1; }
		trawl --version
		trawl report sample.json.gz -o out >summary.txt
		test -s out/perf_report.xlsx
		test -s out/perf_report_csvs/gpu_timeline.csv
		ldconfig -p | grep "libtrawl.so.0 "
		apt-get -q -y purge trawl >>install.log 2>&1
		! command -v trawl
		echo "installed, ran, removed"'
fi
[ -z "$run_test" ] || run_dev test
[ -z "$run_full" ] || run_dev test --full
echo "== all done"
