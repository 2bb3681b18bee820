#!/bin/bash
# Tries the tree on a Debian 12 that has nothing but git and a shell, as a stranger would: copies
# it in, runs ./dev demo, and on request more. Needs root and debootstrap; not part of the tests,
# for it downloads a system.
#
# usage: tools/try_clean_chroot.sh [--test] [--full] [--package] DIR
#
#   --test      also ./dev test          --full     also ./dev test --full
#   --package   also ./dev package, and install the package in a second clean system
#
# DIR gets base/ (the clean system, kept for the next run), work/ and install/ (made anew). The
# Debian mirror is that of the environment variable MIRROR, else of this machine's apt. Mounts
# live in a mount namespace of the run and vanish with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=bookworm

usage() {
	sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '5,8p' >&2
	exit 2
}

fail() {
	echo "try_clean_chroot: $*" >&2
	exit 1
}

run_test='' run_full='' run_package='' directory=''
while [ $# -gt 0 ]; do
	case $1 in
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

# The first mirror of this machine's apt that has the suite.
host_mirror() {
	{
		sed -n "s/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\)  *$suite  *main.*/\2/p" \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list
		awk -v suite="$suite" '
			/^URIs:/ { uri = $2 }
			/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) print uri }
		' /etc/apt/sources.list.d/*.sources
	} 2>/dev/null | head -n 1
}

mirror=${MIRROR:-$(host_mirror)}
[ -n "$mirror" ] || fail "no mirror known: set MIRROR"

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

if [ ! -e "$directory/base/etc/apt/sources.list" ]; then
	echo "== a clean $suite in $directory/base"
	rm -rf "$directory/base"
	debootstrap --variant=minbase "$suite" "$directory/base" "$mirror" >"$directory/debootstrap.log"
	# The mirror this machine uses may be a frozen one, whose lists are past their date.
	apt-config dump | grep -E '^Acquire::Check-(Valid-Until|Date) ' \
		>"$directory/base/etc/apt/apt.conf.d/90host" || true
fi
cp --remove-destination -L /etc/resolv.conf "$directory/base/etc/resolv.conf"
cp --remove-destination -L /etc/hosts "$directory/base/etc/hosts"

fresh() {
	rm -rf "${directory:?}/$1"
	cp -a "$directory/base" "$directory/$1"
}

echo "== the tree, in a system with git and a shell"
fresh work
in_root "$directory/work" sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive \
	apt-get -q -y install --no-install-recommends git' >"$directory/git.log" 2>&1
# A clone of what the checkout holds: tracked files, and new ones that git does not ignore.
mkdir "$directory/work/root/trawl"
git ls-files -z --cached --others --exclude-standard |
	tar -c --null -T - --ignore-failed-read | tar -x -C "$directory/work/root/trawl"
in_root "$directory/work" sh -ec 'cd /root/trawl; git init -q .; git add -A
	git -c user.name=trial -c user.email=trial@localhost commit -q -m "trial: the tree"'

run_dev() {
	echo "== ./dev $*"
	in_root "$directory/work" sh -c 'cd /root/trawl && exec ./dev "$@"' sh "$@"
}

run_dev demo
[ -s "$directory/work/root/trawl/demo_output/perf_report.xlsx" ] || fail "no workbook from ./dev demo"
if [ -n "$run_package" ]; then
	run_dev package
	echo "== the package, in another clean system"
	fresh install
	cp "$directory"/work/root/trawl/build/package/*.deb "$directory/install/root/"
	cp "$directory/work/root/trawl/examples/sample.json.gz" "$directory/install/root/"
	in_root "$directory/install" sh -ec '
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
