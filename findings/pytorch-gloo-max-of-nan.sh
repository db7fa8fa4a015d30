#!/bin/sh
# PyTorch 2.15.0: all_reduce with ReduceOp.MAX or MIN over gloo, where one rank has NaN.
#
# One would guess either that NaN wins, as in torch.maximum and amax, or that it is passed over, as in fmax. gloo does the one or
# the other for each element, by the rank that holds it and by the element's place: two ranks, one with NaN everywhere and one
# with numbers everywhere, get a result in which some elements are NaN and others are not. A ring reduces each part of a tensor
# from another rank on, and a comparison with NaN keeps one side. All ranks get the same, so nothing diverges; but the largest
# loss of all ranks hides a NaN of rank 1, and shows it with the ranks exchanged. A sum, or MAX of isnan(), is safe.
# Source: two and three processes of this machine; a tensor of one element, and one of five.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0
cat > "$folder/ranks.py" <<'P'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

LENGTHS = 1, 5


def rank(r, count, file, queue):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=r, world_size=count)
    found = []
    for source in range(count):
        for length in LENGTHS:
            t = torch.full((length,), float("nan") if r == source else float(r))
            dist.all_reduce(t, dist.ReduceOp.MAX)
            found.append(t.isnan().tolist())
    queue.put((r, found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    as_described = True
    for count in 2, 3:
        queue = mp.get_context("spawn").SimpleQueue()
        context = mp.spawn(rank, (count, f"{sys.argv[1]}/store{count}", queue), count, join=False)
        of_rank = dict(queue.get() for _ in range(count))
        context.join()
        results = iter(of_rank[0])
        mixed = lost = kept = 0
        for source in range(count):
            for length in LENGTHS:
                nan = next(results)
                print(f"{count} ranks, NaN at rank {source}, {length} elements: " + " ".join("NaN" if v else "number" for v in nan))
                mixed, lost, kept = mixed + (any(nan) and not all(nan)), lost + (not any(nan)), kept + all(nan)
        as_described = as_described and mixed and lost and kept and all(v == of_rank[0] for v in of_rank.values())
    sys.exit(not as_described)
P
"$folder/venv/bin/python" "$folder/ranks.py" "$folder" 2> /dev/null
