#!/usr/bin/env python3
"""Makes the files of this folder: the same tensors in every format that is read, and what they are when widened.

Needs PyTorch 2.10 or later, NumPy, safetensors and gguf; not run by any test. want.safetensors has the numbers in types
that Gradloom has: float64, float32, float16, bfloat16, int64, int32, uint8 and bool as they are, others as float32 or int64.
"""
import argparse
import collections
import os
import zipfile

import gguf
import numpy
import torch
from safetensors.torch import save_file

os.chdir(os.path.dirname(os.path.abspath(__file__)))
random = torch.Generator().manual_seed(0)
KEPT = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)
NAMES = """float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64 float8_e4m3fn
float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu""".split()


def widened(t):
    if t.dtype not in KEPT:
        t = t.float() if t.dtype.is_floating_point else t.to(torch.int64)
    return t.contiguous().clone()


tensors = collections.OrderedDict()
for name in NAMES:
    x = torch.randn(3, 5, generator=random) * 3
    if name.startswith("u") or "e8m0" in name:
        x = x.abs()
    tensors[name] = x > 0 if name == "bool" else x.to(getattr(torch, name))
whole = torch.randn(4, 3, generator=random)
views = {"whole": whole, "transposed": whole.t(), "sliced": whole[1:3, ::2], "expanded": whole[0].expand(2, 3),
         "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3)}
every = collections.OrderedDict(list(tensors.items()) + list(views.items()))
save_file({k: widened(v) for k, v in every.items()}, "want.safetensors")
save_file({k: v.contiguous().clone() for k, v in tensors.items()}, "types.safetensors")
torch.save(every, "types.pth")
old = {k: v for k, v in every.items() if k in ("float32", "int16", "bool", "float16") or k in views}
torch.save(old, "legacy.pth", _use_new_zipfile_serialization=False)

# A network: plain, in a checkpoint after data-parallel training, whole, exported.
net = torch.nn.Sequential(collections.OrderedDict(fc=torch.nn.Linear(3, 2), norm=torch.nn.BatchNorm1d(2)))
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.copy_(torch.arange(p.numel()).reshape(p.shape) / 8 + i)
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(4, 3)).sum().backward()
optimizer.step()
state = net.state_dict()
save_file({k: v.clone() for k, v in state.items()}, "net.safetensors")
torch.save({"epoch": 3, "model_state_dict": {"module." + k: v for k, v in state.items()},
            "optimizer_state_dict": optimizer.state_dict(), "arguments": argparse.Namespace(lr=0.1)}, "checkpoint.pth")
torch.save({"model": {"encoder": state}, "epoch": 3}, "nested.pth")
torch.save({"state_dict": {"weight": torch.ones(2), "negated": torch.ones(2, dtype=torch.complex64).conj().imag},
            "metric": numpy.float64(1)}, "metric.pth")
torch.save(net, "module.pth")
torch.export.save(torch.export.export(net.eval(), (torch.zeros(2, 3),)), "exported.pt2")
torch.jit.save(torch.jit.trace(net, torch.zeros(2, 3)), "script.pt")

# Before PyTorch 1.6 storages of other types, too: quantised numbers are listed, and cannot be read.
parts = torch.randn(2, 3, 2, generator=random)
older = {"float32": tensors["float32"], "complex64": torch.view_as_complex(parts.clone()).t(), "parts": parts.transpose(0, 1),
         "complex32": torch.view_as_complex(parts.half().clone()), "half": parts.half().clone(), "uint16": tensors["uint16"],
         "float8_e4m3fn": tensors["float8_e4m3fn"], "quantised": torch.quantize_per_tensor(parts, 0.1, 3, torch.qint8)}
torch.save(older, "older.pth", _use_new_zipfile_serialization=False)
torch.save({"epoch": 2, "ema": {"weight": parts + 1}, "state_dict": {"weight": parts}, "best": {"weight": parts + 2}},
           "members.pth")
normed = torch.nn.ModuleDict({
    "conv": torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(2, 3, 4), dim=2),
    "fc": torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)),
    "old": torch.nn.utils.weight_norm(torch.nn.Linear(2, 1)), "all": torch.nn.utils.weight_norm(torch.nn.Linear(2, 2), dim=None)})
for p in normed.parameters():
    torch.nn.init.normal_(p, generator=random)
torch.save({"net." + k: v for k, v in normed.state_dict().items()}, "normed.pth")
for m in normed.values():  # computes the weights
    m(torch.zeros(1, m.weight.shape[1], *[9] * (m.weight.dim() - 2)))
save_file({k + "." + n: v.detach().clone().contiguous() for k, m in normed.items()
           for n, v in (("weight", m.weight), ("bias", m.bias))} | {"class": torch.ones(3)}, "normed.safetensors")


def keep(path, wanted):
    """Leaves out members that no reader of weights needs: programs, and the paths of their sources."""
    with zipfile.ZipFile(path) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist() if wanted in i.filename]
    with zipfile.ZipFile(path, "w") as z:
        for name, content in members:
            z.writestr(zipfile.ZipInfo(name), content)


keep("exported.pt2", "/data/weights/")
keep("script.pt", ".pkl")
arrays = {k: tensors[k].numpy() for k in ("float64", "float32", "float16", "int64", "int16", "int8", "uint16", "bool")}
arrays["transposed"] = numpy.asfortranarray(views["transposed"].numpy())
numpy.savez("plain.npz", **arrays)
numpy.savez_compressed("packed.npz", **arrays)

rows = torch.arange(96).reshape(3, 32).float()
writer = gguf.GGUFWriter("small.gguf", "llama")
writer.add_string("general.name", "small")
writer.add_array("tokenizer.ggml.tokens", ["a", "bc", ""])
writer.add_tensor("float32", tensors["float32"].numpy())
writer.add_tensor("float16", tensors["float16"].numpy())
writer.add_tensor("quantised", gguf.quantize(rows.numpy(), gguf.GGMLQuantizationType.Q8_0),
                  raw_dtype=gguf.GGMLQuantizationType.Q8_0)
writer.add_tensor("unread", gguf.quantize(rows.numpy(), gguf.GGMLQuantizationType.Q4_0),
                  raw_dtype=gguf.GGMLQuantizationType.Q4_0)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
quantised = gguf.dequantize(gguf.quantize(rows.numpy(), gguf.GGMLQuantizationType.Q8_0), gguf.GGMLQuantizationType.Q8_0)
save_file({"quantised": torch.from_numpy(quantised.copy())}, "quantised.safetensors")
