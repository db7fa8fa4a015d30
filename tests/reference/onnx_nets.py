"""Networks as people write them in PyTorch, made small, for onnx_exports.py."""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    """With the view that an open batch makes hard: its first size is read from the input."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 3))

    def forward(self, x):
        return F.log_softmax(self.layers(x.view(x.size(0), -1)), dim=1)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5, padding=2), nn.Conv2d(4, 6, 5)
        self.fc1, self.fc2 = nn.Linear(6 * 5 * 5, 12), nn.Linear(12, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.max_pool2d(torch.tanh(self.conv2(x)), 2)
        return self.fc2(torch.tanh(self.fc1(torch.flatten(x, 1))))


class Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer)
        self.conv2, self.bn2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        self.down = None
        if stride != 1 or inner != outer:
            self.down = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.down(x) if self.down else x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(4, 4, 1), Residual(4, 8, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Inverted(nn.Module):
    def __init__(self, channels, wide):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
                                  nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
                                  nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))
        self.squeeze = nn.Sequential(nn.Conv2d(channels, 2, 1), nn.Hardswish(), nn.Conv2d(2, channels, 1), nn.Hardsigmoid())

    def forward(self, x):
        y = self.conv(x)
        return x + y * self.squeeze(F.adaptive_avg_pool2d(y, 1))


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.Hardswish())
        self.blocks, self.fc = nn.Sequential(Inverted(4, 8), Inverted(4, 8)), nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean([2, 3]))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for out in (4, 4, "M", 6, "M", 8, "M"):
            layers += [nn.MaxPool2d(2, 2)] if out == "M" else [nn.Conv2d(channels, out, 3, padding=1), nn.ReLU(inplace=True)]
            channels = channels if out == "M" else out
        self.features, self.pool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Linear(32, 16), nn.ReLU(True), nn.Dropout(), nn.Linear(16, 5))

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


def double(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(),
                         nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())


class UNet(nn.Module):
    """Upsampling to twice the size, then to the size of the skip connection, as the common implementation pads it."""

    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.d3 = double(1, 2), double(2, 3), double(3, 4)
        self.u1, self.u2, self.out = double(4 + 3, 3), double(3 + 2, 2), nn.Conv2d(2, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        up = F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=True)
        dy, dx = b.size(2) - up.size(2), b.size(3) - up.size(3)
        up = F.pad(up, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        c = self.u1(torch.cat([b, up], 1))
        up = F.interpolate(c, size=a.shape[2:], mode="nearest")
        return torch.sigmoid(self.out(self.u2(torch.cat([a, up], 1))))


class SuperResolution(nn.Module):
    """Pixel shuffle and a bicubic enlargement; reflected borders."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.act = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 4, 3, padding=1, padding_mode="reflect"), nn.PReLU(6)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        y = self.act(self.conv1(F.pad(x, (2, 2, 2, 2), mode="replicate")))
        y = self.shuffle(self.conv2(F.pad(y, (1, 0, 0, 1))[:, :, 1:, :-1]))
        return y + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.cls = nn.Conv2d(3, 8, 4, 4), nn.Parameter(torch.randn(1, 1, 8))
        self.places = nn.Parameter(torch.randn(1, 17, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x)[:, 0]))


class Decoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(self.n1(x)).split(c, dim=2))
        a = (q @ k.transpose(-2, -1)) * (1.0 / (c // self.heads) ** 0.5)
        a = F.softmax(a.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        x = x + self.proj((a @ v).transpose(1, 2).contiguous().view(b, t, c))
        y = self.n2(x)
        y = y + F.scaled_dot_product_attention(y[:, None], y[:, None], y[:, None], is_causal=True)[:, 0]
        return x + self.mlp(y)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.blocks, self.norm = nn.Sequential(Decoder(8, 2), Decoder(8, 2)), nn.LayerNorm(8)

    def forward(self, x):
        places = torch.arange(0, x.size(1), dtype=torch.long, device=x.device).unsqueeze(0)
        return F.linear(self.norm(self.blocks(self.words(x) + self.places(places))), self.words.weight)


class Autoencoder(nn.Module):
    """Group and instance norms, a transposed convolution with output_padding, and reshapes by -1."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.GroupNorm(2, 4), nn.LeakyReLU(0.1), nn.Conv2d(4, 6, 3, 2, 1),
                                  nn.InstanceNorm2d(6, affine=True), nn.ELU())
        self.encode, self.decode = nn.Linear(96, 4), nn.Linear(4, 96)
        self.up = nn.Sequential(nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1), nn.SiLU(), nn.ConvTranspose2d(4, 1, 4, 2, 1))

    def forward(self, x):
        code = self.encode(self.down(x).reshape(x.shape[0], -1))
        return torch.sigmoid(self.up(self.decode(code).view(-1, 6, 4, 4))), code


class Recurrent(nn.Module):
    """Two layers in both directions, of which the outputs and the last states are read."""

    def __init__(self, layer):
        super().__init__()
        self.rnn, self.head = layer(4, 5, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(10, 3)

    def forward(self, x):
        y, state = self.rnn(x)
        h = state[0] if isinstance(state, tuple) else state
        return self.head(y), h


class Twice(nn.Module):
    """Layers that are called twice, each with the weights of one."""

    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRU(4, 4, batch_first=True), nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        return self.lstm(self.lstm(self.gru(self.gru(x)[0])[0])[0])[0][:, -1]


class Fresh(nn.Module):
    """Biases of zeros, as they begin, also of a layer that is called twice, and a buffer with a name that a private attribute has."""

    def __init__(self):
        super().__init__()
        self.conv, self.up, self.head = nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 6, 2, groups=2), nn.Linear(6, 5)
        self.again = nn.Conv2d(4, 4, 1)
        self.register_buffer("_means", torch.tensor([[[0.5]], [[0.25]], [[0.75]]]))
        for layer in (self.conv, self.up, self.head, self.again):
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = self.again(self.again(self.conv(x - self._means).relu()).relu())
        return self.head(self.up(x.relu()).mean((2, 3)))


class Translator(nn.Module):
    """Encoder and decoder with their masks, and a norm that newer operator sets have."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.norm = nn.RMSNorm(8, eps=1e-6) if hasattr(nn, "RMSNorm") else nn.LayerNorm(8)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.norm(self.decoder(x.flip(2), self.encoder(x), tgt_mask=mask, tgt_is_causal=True))


class Grouped(nn.Module):
    """Heads that share keys, and a mask of who may look at whom."""

    def __init__(self):
        super().__init__()
        self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, 4, 2).transpose(1, 2)
        k, v = self.kv(x).view(b, t, 2, 1, 2).permute(2, 0, 3, 1, 4)
        mask = torch.ones(t, t, dtype=torch.bool).tril(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.4, enable_gqa=True)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 12), nn.GELU(approximate="tanh"), nn.Linear(12, width))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class Blocks(nn.Module):
    """A list of equal modules, whose biases are all zeros at the beginning, a layer that is called twice, a buffer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 6, 4, 4), nn.ReLU())
        self.blocks = nn.ModuleList([Block(6) for _ in range(3)])
        self.act, self.head = nn.SiLU(), nn.Linear(6, 5)
        self.register_buffer("scale", torch.linspace(0.5, 1, 6))

    def forward(self, x):
        x = self.act(self.conv(x).flatten(2).transpose(1, 2) * self.scale)
        for block in self.blocks:
            x = block(x)
        return self.head(self.act(x).mean(1))


class NormAct(nn.BatchNorm2d):
    """Batch norm with an activation inside, as timm has it."""

    def __init__(self, channels):
        super().__init__(channels)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(super().forward(x))


class StarReLU(nn.Module):
    """Trained numbers, one with and one without a dimension."""

    def __init__(self):
        super().__init__()
        self.scale, self.bias = nn.Parameter(torch.tensor([0.9])), nn.Parameter(torch.tensor(-0.4))

    def forward(self, x):
        return self.scale * F.relu(x) ** 2 + self.bias


class Names(nn.Module):
    """A module with a hyphen in its name, outputs of which the first one is computed last, and a layer whose bias is not
    used as it is."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.stage, self.star = nn.Conv2d(3, 4, 3, bias=False), NormAct(4), nn.Sequential(), StarReLU()
        self.stage.add_module("block1-0", nn.Conv2d(4, 5, 1))
        self.part = nn.Linear(4, 3)
        self.gamma_1, self.gamma_2 = (nn.Parameter(0.1 * torch.ones(3)) for _ in range(2))

    def forward(self, x):
        x = self.bn(self.conv(x))
        part = F.linear(x.mean((2, 3)), self.part.weight, self.part.bias.exp())
        return self.star(self.stage(x)).mean((2, 3)), x, self.gamma_2 * torch.tanh(self.gamma_1 * part)


class Masked(nn.Module):
    """Attention, written out, with −∞ where a buffer and where the data say so, and with a low number as GPT-Neo has it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.register_buffer("mask", torch.ones(5, 5, dtype=torch.bool).tril())

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / 2
        hidden = (x.sum(-1) < -2)[:, None, None, :]
        near, lowest = torch.ones(1, 1, 5, 5).tril().triu(-2), torch.finfo(torch.float32).min
        local = torch.where(near.bool(), scores, lowest) + (1 - torch.ones(1, 1, 5, 5).tril()) * lowest
        return local.softmax(-1) @ v + torch.where(self.mask, scores, -torch.inf).softmax(-1) @ v + scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


class Indexed(nn.Module):
    """A bias by relative positions, whose indices are a buffer that is flattened first."""

    def __init__(self):
        super().__init__()
        self.bias, places = nn.Parameter(torch.randn(7, 2)), torch.arange(4)
        self.register_buffer("apart", places[:, None] - places[None, :] + 3)

    def forward(self, x):
        return x + self.bias[self.apart.view(-1)].view(4, 4, -1).permute(2, 0, 1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.mix = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, mask):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return x + self.mix(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))


class Packed(nn.Module):
    """A causal mask that is looked up by indices of samples and positions, as transformers has it for packed sequences,
    in each of several layers; the same within a window; a count of samples, which is not the same for all of them."""

    def __init__(self):
        super().__init__()
        self.layers, self.near = nn.ModuleList([Layer() for _ in range(3)]), Layer()

    def forward(self, x):
        batch, length = x.shape[:2]
        places = torch.arange(length).expand(batch, length)
        packed = (torch.diff(places, prepend=places[:, :1] - 1, dim=1) != 1).cumsum(-1)
        samples = torch.arange(batch)[:, None, None, None]
        queries, keys = torch.arange(length)[None, None, :, None], torch.arange(length)[None, None, None, :]
        mask = (places[samples, keys] <= places[samples, queries]) & (packed[samples, queries] == packed[samples, keys])
        for layer in self.layers:
            x = layer(x, mask)
        x = self.near(x, mask & (keys > queries - 3))
        return x * torch.where(torch.arange(batch) < 9, 1.0, 2.0)[:, None, None]


class Padded(nn.Module):
    """Layers that share a mask that the data tell, and layers with a mask that hides nothing."""

    def __init__(self):
        super().__init__()
        self.layers, self.open = (nn.ModuleList([Layer() for _ in range(n)]) for n in (3, 2))

    def forward(self, x):
        mask, every = (x.sum(-1) > -2)[:, None, None, :], torch.ones(x.shape[0], 1, x.shape[1], x.shape[1], dtype=torch.bool)
        for layer in self.layers:
            x = layer(x, mask)
        for layer in self.open:
            x = layer(x, every)
        return x


class Scaled(nn.Embedding):
    """A layer with another node in its module, as in BART."""

    def forward(self, x):
        return super().forward(x) * 0.5


class Part(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words, self.mix = words, nn.Linear(4, 4)


class Tied(nn.Module):
    """Two modules share a weight, which has a name in each of them."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = (Part(Scaled(9, 4)) for _ in range(2))
        self.decoder.words.weight = self.encoder.words.weight

    def forward(self, x):
        return self.decoder.mix(self.encoder.mix(self.encoder.words(x)) + self.decoder.words(x))


class Norms(nn.Module):
    """Norms with weights and without, and a table with a row of padding: what ONNX cannot tell apart."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4, padding_idx=2)
        self.plain = nn.Sequential(nn.LayerNorm(4, elementwise_affine=False), nn.GroupNorm(3, 6, affine=False),
                                   nn.BatchNorm1d(6, affine=False), nn.InstanceNorm1d(6))
        self.groups = nn.GroupNorm(2, 6)

    def forward(self, x):
        return self.groups(self.plain(self.words(x)))


class Dropped(nn.Module):
    """Exported in training mode: dropout of elements and channels, and stochastic depth as timm and transformers have it."""

    trains = True

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.channels = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Dropout2d(0.25)
        self.elements, self.head = nn.Dropout(0.1), nn.Linear(6, 5)

    def depth(self, x):
        keep = 0.75
        return x * x.new_empty((x.shape[0], 1, 1, 1)).bernoulli_(keep).div_(keep) if self.training else x

    def later_depth(self, x):
        keep = 0.5
        draws = keep + torch.rand((x.shape[0], 1, 1, 1), dtype=x.dtype, device=x.device)
        return x.div(keep) * draws.floor_() if self.training else x

    def forward(self, x):
        x = self.channels(self.norm(self.conv(x)))
        x = x + self.depth(x.relu())
        x = x + self.later_depth(x.sigmoid())
        return self.head(self.elements(x.mean((2, 3))))


MODELS = {
    "dropped": (Dropped, lambda n: torch.randn(n, 3, 5, 5)),
    "norms": (Norms, lambda n: torch.randint(3, 9, (n, 6))),
    "tied": (Tied, lambda n: torch.randint(0, 9, (n, 5))),
    "masked": (Masked, lambda n: torch.randn(n, 5, 8)),
    "names": (Names, lambda n: torch.randn(n, 3, 5, 6)),
    "blocks": (Blocks, lambda n: torch.randn(n, 3, 16, 16)),
    "mlp": (Mlp, lambda n: torch.randn(n, 2, 3, 4)),
    "lenet": (LeNet, lambda n: torch.rand(n, 1, 28, 28)),
    "resnet": (ResNet, lambda n: torch.randn(n, 3, 32, 32)),
    "mobilenet": (MobileNet, lambda n: torch.randn(n, 3, 16, 16)),
    "vgg": (Vgg, lambda n: torch.randn(n, 3, 16, 16)),
    "unet": (UNet, lambda n: torch.randn(n, 1, 14, 18)),
    "super-resolution": (SuperResolution, lambda n: torch.rand(n, 1, 9, 7)),
    "vit": (VisionTransformer, lambda n: torch.randn(n, 3, 16, 16)),
    "gpt": (Gpt, lambda n: torch.randint(0, 11, (n, 7))),
    "autoencoder": (Autoencoder, lambda n: torch.rand(n, 1, 16, 16)),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda n: torch.randn(n, 6, 4)),
    "gru": (lambda: Recurrent(nn.GRU), lambda n: torch.randn(n, 6, 4)),
    "rnn": (lambda: Recurrent(nn.RNN), lambda n: torch.randn(n, 6, 4)),
    "fresh": (Fresh, lambda n: torch.randn(n, 3, 5, 5)),
    "twice": (Twice, lambda n: torch.randn(n, 6, 4)),
    "translator": (Translator, lambda n: torch.randn(n, 5, 8)),
    "grouped": (Grouped, lambda n: torch.randn(n, 5, 8)),
    "packed": (Packed, lambda n: torch.randn(n, 5, 8)),
    "padded": (Padded, lambda n: torch.randn(n, 5, 8)),
    "indexed": (Indexed, lambda n: torch.randn(n, 2, 4, 4)),
}
# What the older exporter has no way to write.
NEW_EXPORTER = ("dropped", "translator", "grouped", "packed", "padded")


def build(make):
    """The same numbers every time, and none that hides a mistake: running statistics are not 0 and 1."""
    torch.manual_seed(7)
    model = make().eval()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2)
        if getattr(module, "affine", False) or getattr(module, "elementwise_affine", False) and isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    return model


def export(model, example, path, dynamo, open_batch, **options):
    """As one calls it: nothing is set that has a default, except for the given options."""
    x = example(2 if open_batch else 3)  # a batch of one would be taken for a size that never changes
    model.train(getattr(model, "trains", False))
    if dynamo:
        shapes = ({0: torch.export.Dim("batch")},) if open_batch else None
        torch.onnx.export(model, (x,), path, dynamo=True, dynamic_shapes=shapes, verbose=False, **options)
    else:
        axes = {"input": {0: "batch"}} if open_batch else None
        torch.onnx.export(model, (x,), path, dynamo=False, input_names=["input"], dynamic_axes=axes)
    model.eval()
