"""Races generation, row 10: a character GPT writes token by token with keys and values kept, batch 1, greedily, on the CPU or,
with --device cuda:0, on a GPU.

PyTorch has the same weights, caches of full length that are written in place, attention over what is filled, and
torch.inference_mode(); both have the same threads, and must write the same tokens. Contenders take turns."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import torch
from safetensors.numpy import save_file
from torch.nn import functional as F

import workloads

CONTEXT, CHARACTERS = 256, 65
GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="generation">
  <node id="data" op="dataset" source="text" path="text" context="{context}"/>
{nodes}
  <node id="loss" op="cross_entropy"/>
{wires}
  <wire from="{last}" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" lr="0.001" batch_size="1" epochs="1"/>
</graph>
"""


def letters():
    return "".join(chr(code) for code in range(ord("0"), ord("0") + CHARACTERS))


@torch.inference_mode()
def write_by_torch(model, prompt, n):
    """The tokens, and the seconds from the second of them to the last."""
    heads = model.blocks[0].heads
    width = model.head.in_features
    device = model.head.weight.device
    caches = [torch.zeros(2, 1, heads, CONTEXT, width // heads, device=device) for _ in model.blocks]
    place, x, out, begin = 0, torch.tensor([prompt], device=device), [], 0
    for i in range(n):
        t = x.shape[1]
        h = model.letters(x) + model.places[place:place + t]
        for block, cache in zip(model.blocks, caches):
            q, k, v = (part.view(1, t, heads, -1).transpose(1, 2) for part in block.c_attn(block.ln_1(h)).split(width, 2))
            cache[0, :, :, place:place + t] = k
            cache[1, :, :, place:place + t] = v
            y = F.scaled_dot_product_attention(q, cache[0, :, :, :place + t], cache[1, :, :, :place + t], is_causal=t > 1)
            h = h + block.attn_proj(y.transpose(1, 2).reshape(1, t, width))
            h = h + block.c_proj(F.gelu(block.c_fc(block.ln_2(h)), approximate="tanh"))
        place += t
        x = model.head(model.norm(h[:, -1:])).argmax(2)
        out.append(int(x))
        if i == 1:
            begin = time.perf_counter()
    return out, time.perf_counter() - begin


def write_by_gradloom(program, folder, prompt, args):
    event = subprocess.run([program, "generate", "graph.xml", "--weights", "weights.safetensors", "--prompt", prompt, "--tokens",
                            str(args.tokens), "--temperature", "0", "--threads", str(args.threads), "--device", args.device, "--json"],
                           cwd=folder, check=True, capture_output=True, text=True).stdout
    event = json.loads(event)
    return event["text"], event["tokens_per_second"]


def arguments(words=None):
    """The options, and the name of what is raced."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="gradloom")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=240)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 for both sides on a GPU")
    return parser.parse_args(words), ["generation"]


def main():
    args, _ = arguments()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    text, last, model, names = workloads.char_gpt(CHARACTERS, CONTEXT)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        save_file({names[key]: value.contiguous().numpy() for key, value in model.state_dict().items()},
                  os.path.join(folder, "weights.safetensors"))
        lines = text.splitlines(keepends=True)
        with open(os.path.join(folder, "graph.xml"), "w", encoding="utf-8") as f:
            f.write(GRAPH.format(context=CONTEXT, nodes="".join(v for v in lines if "<node" in v).rstrip("\n"),
                                 wires="".join(v for v in lines if "<wire" in v).rstrip("\n"), last=last))
        with open(os.path.join(folder, "text"), "w", encoding="utf-8") as f:
            f.write(letters() * 20)
        # On a GPU each token comes back to the host on both sides, which ends the wait for it. Products of f32 are exact.
        model.to("cuda" if args.device.startswith("cuda") else "cpu")
        prompt = letters()[3:11]
        rates, ratios = [[], []], []
        write_by_torch(model, [letters().index(c) for c in prompt], 20)
        for _ in range(args.windows):
            tokens, seconds = write_by_torch(model, [letters().index(c) for c in prompt], args.tokens)
            theirs = (args.tokens - 2) / seconds
            said, ours = write_by_gradloom(args.program, folder, prompt, args)
            if said != "".join(letters()[token] for token in tokens):
                raise SystemExit("the two write other tokens")
            rates[0].append(ours)
            rates[1].append(theirs)
            ratios.append(ours / theirs)
    for name, values in (("Gradloom", rates[0]), (f"PyTorch {torch.__version__}", rates[1]), ("ratio", ratios)):
        print(f"{name}: {min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}"
              + ("" if name == "ratio" else " tokens/s"))


if __name__ == "__main__":
    main()
