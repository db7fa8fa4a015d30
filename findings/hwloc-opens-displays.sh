#!/bin/sh
# hwloc 2.9.0 with its plugins (Debian 12: libhwloc15 2.9.0-1, libhwloc-plugins 2.9.0-1, as Open MPI 4.1.4 recommends).
# One would guess that a program that reads the machine's topology, such as mpirun, opens an X display only if DISPLAY
# names one, if at all. In fact the plugin "gl" connects to each of the displays :0 to :9, of any user, to ask
# for NVIDIA cards; DISPLAY plays no part. So every process that loads a topology, and so each mpirun, is for a moment a
# client of all X servers of the machine, and shares the fate of Xlib's clients when one of them ends: tests that run
# next to each other, each under an Xvfb of its own, lose ranks that have nothing to do with a display, with status 1.
# HWLOC_COMPONENTS=-gl leaves the plugin out.
# Source: the audit log of an Xvfb that nothing else knows of; the connect() calls of mpirun, from X0 to X9, agree.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libhwloc15=2.9.0-1 libhwloc-plugins=2.9.0-1 hwloc-nox=2.9.0-1 > /dev/null
for package in *.deb; do dpkg -x "$package" root; done
libraries=$(dirname "$(find "$folder/root" -name 'libhwloc.so.15')")

mkfifo display
Xvfb -displayfd 3 -audit 4 -nolisten tcp 3> display 2> audit.log &
server=$!
read -r number < display
[ "$number" -le 9 ] || { echo "all displays from :0 to :9 are taken here: nothing can be shown"; exit 1; }

# How many clients the server has seen while the topology was read.
clients()
{
  before=$(grep -c 'client.*connected' audit.log || true)
  env -u DISPLAY LD_LIBRARY_PATH="$libraries" HWLOC_PLUGINS_PATH="$libraries/hwloc" "$@" \
    "$folder/root/usr/bin/lstopo-no-graphics" --of console > topology.txt
  echo $(($(grep -c 'client.*connected' audit.log || true) - before))
}

with=$(clients)
without=$(clients HWLOC_COMPONENTS=-gl)
echo "display :$number, DISPLAY unset: clients while the topology is read: $with; with HWLOC_COMPONENTS=-gl: $without"
[ "$with" -gt 0 ] && [ "$without" = 0 ]
