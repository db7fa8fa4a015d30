"""Checkpoints of public architectures in the graphs that `gradloom import` makes of PyTorch's default exports, and back.

Each architecture of torchvision and transformers is built twice with random numbers: one network is exported with a
batch of 1, the other one's state dict is the checkpoint, as .safetensors and as .pth. The graph must read the whole
checkpoint, give that network's outputs within 1e-5, and write weights that load_state_dict (strict=True) accepts and
that are equal to the checkpoint's. A batch that the import has opened is run with three samples."""

import argparse
import contextlib
import io
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

TOLERANCE = 1e-5


def vision(name, size=64, default=False, **given):
    """A network of torchvision, its input, and whether it is exported with the default optimisation, which folds batch
    norm."""
    def make():
        import torchvision
        model = getattr(torchvision.models, name, None) or getattr(torchvision.models.segmentation, name, None) \
            or getattr(torchvision.models.video, name)
        return model(weights=None, num_classes=10, **given)
    return make, lambda n: (torch.randn(n, 3, *((size, size) if isinstance(size, int) else size)),), default


def vgg11():
    """The features of VGG-11; its classifier is a hundred million numbers of the same kind."""
    import torchvision
    model = torchvision.models.vgg11(weights=None)
    model.classifier = nn.Sequential(nn.Linear(512 * 49, 16), nn.ReLU(True), nn.Dropout(), nn.Linear(16, 10))
    return model


def vit():
    import torchvision
    return torchvision.models.VisionTransformer(32, 8, 3, 4, 32, 64, num_classes=10)


class Wrapped(nn.Module):
    """A network of transformers without its cache and its named outputs. The graph has a prefix before each name that the
    checkpoint lacks."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        model.config.use_cache = False

    def forward(self, x):
        return self.model(x, return_dict=False)


def transformer(name, config, **settings):
    """A network of transformers with a small configuration."""
    import transformers
    return Wrapped(getattr(transformers, name)(getattr(transformers, config)(**settings)))


def words(name, config, length=9, vocabulary=199, default=True, **settings):
    return lambda: transformer(name, config, vocab_size=vocabulary, **settings), \
        lambda n: (torch.randint(3, vocabulary, (n, length)),), default


def pixels(name, config, size=32, **settings):
    return lambda: transformer(name, config, image_size=size, **settings), lambda n: (torch.randn(n, 3, size, size),), True


small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
MODELS = {
    # torchvision
    "vgg11": (vgg11, lambda n: (torch.randn(n, 3, 64, 64),), True),
    "convnext_tiny": vision("convnext_tiny"),
    "vit": (vit, lambda n: (torch.randn(n, 3, 32, 32),), True),
    "swin_t": vision("swin_t"),
    "swin_v2_t": vision("swin_v2_t"),
    "squeezenet1_1": vision("squeezenet1_1"),
    "resnet18": vision("resnet18"),
    "wide_resnet": vision("resnet50", width_per_group=32),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "shufflenet_v2_x0_5": vision("shufflenet_v2_x0_5"),
    "mnasnet0_5": vision("mnasnet0_5"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "efficientnet_v2_s": vision("efficientnet_v2_s"),
    "regnet_x_400mf": vision("regnet_x_400mf"),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "densenet121": vision("densenet121"),
    "googlenet": vision("googlenet", size=96, aux_logits=False, init_weights=False),
    "inception_v3": vision("inception_v3", size=96, aux_logits=False, init_weights=False),
    "maxvit_t": vision("maxvit_t", size=224),
    "lraspp_mobilenet_v3_large": vision("lraspp_mobilenet_v3_large", weights_backbone=None),
    "deeplabv3_mobilenet_v3_large": vision("deeplabv3_mobilenet_v3_large", weights_backbone=None),
    "fcn_resnet50": vision("fcn_resnet50", weights_backbone=None),
    "r3d_18": vision("r3d_18", size=(4, 32, 32)),
    # transformers
    "gpt2": words("GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=2, n_head=4),
    "distilbert": words("DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=96),
    "bert": words("BertModel", "BertConfig", **small),
    "roberta": words("RobertaForMaskedLM", "RobertaConfig", **small),
    "albert": words("AlbertModel", "AlbertConfig", default=False, embedding_size=64, **small),
    "electra": words("ElectraModel", "ElectraConfig", embedding_size=16, **small),
    "llama": words("LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2, **small),
    "qwen2": words("Qwen2ForCausalLM", "Qwen2Config", num_key_value_heads=2, **small),
    "mistral": words("MistralForCausalLM", "MistralConfig", num_key_value_heads=2, **small),
    "gemma": words("GemmaForCausalLM", "GemmaConfig", num_key_value_heads=2, head_dim=16, **small),
    "gpt_neox": words("GPTNeoXForCausalLM", "GPTNeoXConfig", **small),
    "opt": words("OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=96,
                 word_embed_proj_dim=64),
    "bloom": words("BloomForCausalLM", "BloomConfig", hidden_size=64, n_layer=2, n_head=4),
    "t5_encoder": words("T5EncoderModel", "T5Config", d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4),
    "hf_vit": pixels("ViTModel", "ViTConfig", patch_size=8, **small),
    "hf_deit": pixels("DeiTModel", "DeiTConfig", patch_size=8, **small),
    "dinov2": pixels("Dinov2Model", "Dinov2Config", patch_size=8, hidden_size=64, num_hidden_layers=2, num_attention_heads=4),
    "hf_swin": pixels("SwinModel", "SwinConfig", patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
}


def build(make, seed):
    """Numbers none of which hides a mistake: running statistics are not 0 and 1, no bias is 0, no two norms are equal."""
    torch.manual_seed(seed)
    model = make().eval()
    with torch.no_grad():
        for module in model.modules():
            for name in ("running_mean", "running_var"):
                if getattr(module, name, None) is not None:
                    getattr(module, name).uniform_(*((-0.5, 0.5) if name == "running_mean" else (0.8, 1.2)))
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.02)
    return model


def gradloom(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"gradloom {words[0]}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def first(outputs):
    if isinstance(outputs, dict):
        outputs = next(iter(outputs.values()))
    return outputs[0] if isinstance(outputs, tuple) else outputs


def difference(ours, theirs):
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return np.inf
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


class Case:
    def __init__(self, program, name, folder, batch):
        self.program, self.folder = program, folder
        make, example, default = MODELS[name]
        self.example = example
        exported, self.model, self.fresh = (build(make, seed) for seed in (1, 2, 3))
        options = {} if default else {"optimize": False}
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(exported, example(batch), self.path("m.onnx"), dynamo=True, verbose=False, **options)
        self.state = self.model.state_dict()
        own = (self.model.model if isinstance(self.model, Wrapped) else self.model).state_dict()
        save_file({key: value.clone().contiguous() for key, value in own.items()}, self.path("original.safetensors"))
        torch.save(own, self.path("original.pth"))
        self.said = gradloom(program, "import", self.path("m.onnx"), "-o", self.path("m.xml"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, weights, n, *words):
        """The largest difference from PyTorch's output for n samples."""
        torch.manual_seed(5)
        x = self.example(n)
        with torch.no_grad():
            y = first(self.model(*x)).numpy()
        ports = re.findall(r"^input ([^:]*):", self.said, re.M)
        given = []
        for port, value in zip(ports, x):
            np.save(self.path(f"{port}.npy"), value.numpy())
            given += ["--in", f"{port}={self.path(port)}.npy"]
        out = re.findall(r"^output ([^:]*):", self.said, re.M)[0]
        said = gradloom(self.program, "run", self.path("m.xml"), "--weights", self.path(weights), *given,
                        "--out", f"{out}={self.path('out.npy')}", *words)
        if "has no weight" in said or "more weights that" in said:
            raise RuntimeError(said.strip())
        return difference(np.load(self.path("out.npy")), y)


def compare(back, state):
    for name, value in state.items():
        if name in back and not torch.equal(back[name].to(value.dtype), value):
            raise RuntimeError(f"{name} comes back with other numbers")


def check(program, name, batch):
    with tempfile.TemporaryDirectory() as folder:
        case = Case(program, name, folder, batch)
        worst = max(case.run("original.safetensors", batch, "--save-weights", case.path("back.safetensors")),
                    case.run("original.pth", batch))
        back = load_file(case.path("back.safetensors"))
        for name, weight in case.model.state_dict(keep_vars=True).items():
            for other, same in case.model.state_dict(keep_vars=True).items() if name not in back else ():
                if same is weight and other in back:  # tied, and stored once
                    back[name] = back[other]
        state = type(case.state)(back)
        state._metadata = case.state._metadata  # MNASNet asks for its version
        case.fresh.load_state_dict(state, strict=True)
        compare(back, case.state)
        is_open = "the graph takes any batch" in case.said
        if is_open:
            worst = max(worst, case.run("original.safetensors", 3))
        return worst, is_open


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="gradloom")
    parser.add_argument("--only", default="", help="architectures whose name contains this")
    parser.add_argument("--batch", type=int, default=1)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    names = [name for name in MODELS if args.only in name]
    wrong, opened, worst = 0, 0, 0.0
    for name in names:
        try:
            off, is_open = check(args.program, name, args.batch)
            what = f"off by {off:.2e}"
        except Exception as error:
            off, is_open, what = np.inf, False, " ".join(str(error).split())[:700]
        opened += is_open
        if off <= TOLERANCE:
            worst = max(worst, off)
        else:
            wrong += 1
            print(f"  {name}: {what}", flush=True)
    print(f"Checkpoints of PyTorch: {len(names) - wrong} of {len(names)} fit their imported graphs, and back, worst {worst:.1e}; "
          f"{opened} batches opened")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
