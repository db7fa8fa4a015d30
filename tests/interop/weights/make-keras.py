#!/usr/bin/env python3
"""Makes keras.weights.h5, keras-bf16.weights.h5, keras.keras, keras-2.h5 and keras.safetensors: a model of Keras, and the
state dict of the PyTorch modules that compute the same, which is checked here.

Needs Keras 3 with KERAS_BACKEND=torch, PyTorch, h5py and safetensors; not run by any test.
"""
import os
import zipfile

os.environ["KERAS_BACKEND"] = "torch"
import h5py  # noqa: E402
import keras  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from keras import layers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

os.chdir(os.path.dirname(os.path.abspath(__file__)))
random = numpy.random.default_rng(0)

images = keras.Input((5, 5, 2))
tokens = keras.Input((4,))
x = layers.Conv2D(3, 2, name="stem")(images)
norm = layers.BatchNormalization(name="norm")
x = norm(x)
x = layers.DepthwiseConv2D(2, depth_multiplier=2, name="depth")(x)
x = layers.SeparableConv2D(2, 2, name="apart")(x)
x = layers.Conv2DTranspose(3, 2, name="back")(x)
x = layers.Flatten()(x)
x = layers.Dense(2, name="fc")(x)
y = layers.Embedding(5, 3, name="words")(tokens)
y = layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="both")(y)
y = layers.GRU(3, return_sequences=True, name="gru")(y)
y = layers.SimpleRNN(3, name="rnn")(y)
y = layers.LayerNormalization(name="last")(y)
model = keras.Model([images, tokens], [x, y])
for w in model.weights:
    value = random.normal(size=w.shape).astype("f4")
    w.assign(abs(value) if "variance" in w.path else value)
model.save_weights("keras.weights.h5")
model.save("keras.keras")
model.save("keras-2.h5")
with zipfile.ZipFile("keras.keras") as z:
    h5 = z.read("model.weights.h5")
with zipfile.ZipFile("keras.keras", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr(zipfile.ZipInfo("model.weights.h5"), h5, zipfile.ZIP_DEFLATED)
# Keras stores bfloat16 as two bytes without a meaning, and says so in an attribute.
with h5py.File("keras-bf16.weights.h5", "w") as f:
    bias = model.get_layer("stem").get_weights()[1]
    array = f.create_dataset("layers/dense/vars/0", data=bias[:, None].astype(ml_dtypes.bfloat16))
    array.attrs["dtype"] = "bfloat16"
# As version 2 named them: "kernel:0".
with h5py.File("keras-2.h5", "a") as f:
    names = []
    f["model_weights"].visititems(lambda n, o: names.append(n) if isinstance(o, h5py.Dataset) else None)
    for n in names:
        f["model_weights"].move(n, n + ":0")
    f["optimizer_weights/step"] = numpy.zeros(3, "f4")


def t(name, i):
    return torch.from_numpy(numpy.array(model.get_layer(name).get_weights()[i]))


n = {
    "stem": torch.nn.Conv2d(2, 3, 2), "norm": torch.nn.BatchNorm2d(3, eps=norm.epsilon),
    "depth": torch.nn.Conv2d(3, 6, 2, groups=3), "apart": torch.nn.ModuleDict({
        "depthwise": torch.nn.Conv2d(6, 6, 2, groups=6, bias=False), "pointwise": torch.nn.Conv2d(6, 2, 1)}),
    "back": torch.nn.ConvTranspose2d(2, 3, 2), "fc": torch.nn.Linear(27, 2), "words": torch.nn.Embedding(5, 3),
    "both": torch.nn.LSTM(3, 2, batch_first=True, bidirectional=True), "gru": torch.nn.GRU(4, 3, batch_first=True),
    "rnn": torch.nn.RNN(3, 3, batch_first=True), "last": torch.nn.LayerNorm(3, eps=1e-3),
}
net = torch.nn.ModuleDict(n).eval()


def gates(k, units):  # update, reset, new → reset, update, new
    return torch.cat([k[..., units:2 * units], k[..., :units], k[..., 2 * units:]], -1)


def conv(k):
    return k.permute(3, 2, 0, 1)


def depthwise(k):
    return k.permute(2, 3, 0, 1).reshape(-1, 1, k.shape[0], k.shape[1])


state = {
    "dense.weight": t("stem", 1)[None].bfloat16(), "stem.weight": conv(t("stem", 0)), "stem.bias": t("stem", 1),
    "norm.weight": t("norm", 0), "norm.bias": t("norm", 1), "norm.running_mean": t("norm", 2), "norm.running_var": t("norm", 3),
    "norm.num_batches_tracked": torch.tensor(0),
    "depth.weight": depthwise(t("depth", 0)), "depth.bias": t("depth", 1),
    "apart.depthwise.weight": depthwise(t("apart", 0)), "apart.pointwise.weight": conv(t("apart", 1)),
    "apart.pointwise.bias": t("apart", 2),
    "back.weight": conv(t("back", 0)), "back.bias": t("back", 1), "fc.weight": t("fc", 0).T, "fc.bias": t("fc", 1),
    "words.weight": t("words", 0), "last.weight": t("last", 0), "last.bias": t("last", 1),
    "gru.weight_ih_l0": gates(t("gru", 0), 3).T, "gru.weight_hh_l0": gates(t("gru", 1), 3).T,
    "gru.bias_ih_l0": gates(t("gru", 2)[0], 3), "gru.bias_hh_l0": gates(t("gru", 2)[1], 3),
    "rnn.weight_ih_l0": t("rnn", 0).T, "rnn.weight_hh_l0": t("rnn", 1).T, "rnn.bias_ih_l0": t("rnn", 2),
    "rnn.bias_hh_l0": torch.zeros(3),
}
for d, end in ((0, ""), (1, "_reverse")):
    state |= {"both.weight_ih_l0" + end: t("both", 3 * d).T, "both.weight_hh_l0" + end: t("both", 3 * d + 1).T,
              "both.bias_ih_l0" + end: t("both", 3 * d + 2), "both.bias_hh_l0" + end: torch.zeros(8)}
state = {k: v.contiguous().clone() for k, v in state.items()}
print(net.load_state_dict(state, strict=False))
save_file(state, "keras.safetensors")

a, b = torch.randn(2, 5, 5, 2), torch.randint(0, 5, (2, 4))
with torch.no_grad():
    x = n["depth"](n["norm"](n["stem"](a.permute(0, 3, 1, 2))))
    x = n["back"](n["apart"]["pointwise"](n["apart"]["depthwise"](x)))
    x = n["fc"](x.permute(0, 2, 3, 1).flatten(1))
    y = n["last"](n["rnn"](n["gru"](n["both"](n["words"](b))[0])[0])[0][:, -1])
    want = model([a, b])
for mine, theirs in zip((x, y), want):
    error = float((mine - theirs).abs().max() / theirs.abs().max())
    print(error)
    assert error < 1e-5
