"""GPT-2 of the transformers library against graphs/models/gpt2.xml, both small: the library's random weights load under their
published names, and logits, loss and gradients are the same. The file also has the masks that the published one has."""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from gradloom_run import difference

GRAPH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "graphs", "models", "gpt2.xml")
WORDS, WIDTH, HEADS, BLOCKS, CONTEXT = 97, 48, 3, 2, 20
# What makes the graph small, each as often as it stands there.
SMALLER = [('num_embeddings="50257"', f'num_embeddings="{WORDS}"'), ('out_features="50257"', f'out_features="{WORDS}"'),
           ('embedding_dim="768"', f'embedding_dim="{WIDTH}"'), ('width="768"', f'width="{WIDTH}"'),
           ('heads="12,64"', f'heads="{HEADS},{WIDTH // HEADS}"'), ('repeat="12"', f'repeat="{BLOCKS}"'),
           ('context="1024"', f'context="{CONTEXT}"'), ('max_len="1024"', f'max_len="{CONTEXT}"')]
TOLERANCE = {"f64": 1e-9, "f32": 1e-4}


def small_graph():
    with open(GRAPH, encoding="utf-8") as file:
        text = file.read()
    for large, small in SMALLER:
        if large not in text:
            raise SystemExit(f"gpt2.xml has no {large} any more.")
        text = text.replace(large, small)
    return text


def run(program, text, weights, x, y, dtype):
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)

        with open(at("graph.xml"), "w", encoding="utf-8") as file:
            file.write(text)
        save_file(weights, at("model.safetensors"))
        np.save(at("x.npy"), x)
        np.save(at("y.npy"), y)
        done = subprocess.run([program, "run", at("graph.xml"), "--weights", at("model.safetensors"), "--dtype", dtype,
                               "--in", f"data.x={at('x.npy')}", "--in", f"data.y={at('y.npy')}", "--out", f"lm_head={at('out.npy')}",
                               "--out", f"loss={at('loss.npy')}", "--grad", "loss", "--grads", at("grads.safetensors")],
                              capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise SystemExit(f"status {done.returncode}: {done.stderr.strip()}")
        return np.load(at("out.npy")), np.load(at("loss.npy")), load_file(at("grads.safetensors")), done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if args.only not in "gpt2":
        return 0
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=WORDS, n_positions=CONTEXT, n_embd=WIDTH, n_layer=BLOCKS, n_head=HEADS, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).double().eval()
    for parameter in model.parameters():
        # Its own biases are all 0 and its norms 1, which would hide where they go.
        parameter.data = (parameter + 0.1 * torch.randn_like(parameter)).float().double()
    named = {k: v for k, v in model.transformer.named_parameters()}
    weights = {k: v.detach().float().numpy().copy() for k, v in named.items()}
    masks = {f"h.{i}.attn.bias": np.tril(np.ones((1, 1, CONTEXT, CONTEXT), np.float32)) for i in range(BLOCKS)}
    x, y = torch.randint(0, WORDS, (2, 3, CONTEXT))
    logits = model(x).logits
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    grads = dict(zip(named, torch.autograd.grad(loss, list(named.values()))))
    failed = 0
    for dtype, most in TOLERANCE.items():
        out, our_loss, ours, said = run(args.program, small_graph(), {**weights, **masks}, x.numpy(), y.numpy(), dtype)
        off = {"logits": difference(out, logits.detach().numpy()), "loss": difference(our_loss, loss.detach().numpy())}
        off |= {f"gradient of {k}": difference(ours[k], g.numpy()) for k, g in grads.items() if k in ours}
        wrong = [f"{k} off by {v:.2g}" for k, v in off.items() if not v <= most]
        wrong += [f"no gradient of {k}" for k in set(grads) - set(ours)] + [f"{k} is a weight of the graph alone" for k in set(ours) - set(grads)]
        wrong += [f"{k} is not named as not needed" for k in masks if k not in said]
        failed += len(wrong) > 0
        print("\n".join(f"failed: gpt2 {dtype}: {w}" for w in wrong) or f"gpt2 {dtype}: {len(named)} weights, worst {max(off.values()):.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
