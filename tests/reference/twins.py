"""Example graphs written as one writes them in PyTorch; parameters have the names of the graphs' weights, so they load as they are.

A twin is a class, listed in TWINS under the name of its file. It is made from the graph's own attributes (`g["node"]`), so that
a graph with other sizes is the same class, and its `forward` takes the data set's ports by name and returns what the loss compares.
Graphs without one are read by torch_graph.py."""

import xml.etree.ElementTree as ElementTree

import torch
import torch.nn.functional as F
from torch import nn

NAMESPACE = "{urn:gradloom:graph}"


class Attributes:
    """What stands at a graph's nodes: `g["blocks"]["width"]`, and `g["step/attention"]` inside of a module; numbers are numbers."""

    def __init__(self, path):
        root = ElementTree.parse(path).getroot()
        self.scopes = {"": root} | {m.get("name"): m for m in root.findall(NAMESPACE + "module")}

    def __getitem__(self, name):
        scope, _, node = name.rpartition("/")
        found = next(e for e in self.scopes[scope].findall(NAMESPACE + "node") if e.get("id") == node)
        return {k: self.number(v) for k, v in found.attrib.items()}

    @staticmethod
    def number(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text


class CharLstm(nn.Module):
    def __init__(self, g):
        super().__init__()
        self.letters = nn.Embedding(g["letters"]["num_embeddings"], g["letters"]["embedding_dim"])
        self.memory = nn.LSTM(g["letters"]["embedding_dim"], g["memory"]["hidden_size"], batch_first=True)
        self.head = nn.Linear(g["memory"]["hidden_size"], g["head"]["out_features"])

    def forward(self, x):
        return self.head(self.memory(self.letters(x))[0]).transpose(1, 2)


class AdditiveAttention(nn.Module):
    """Bahdanau, Cho and Bengio 2015: softmax of v · tanh(W query + U key)."""

    def __init__(self, query, key, width):
        super().__init__()
        self.W, self.U = nn.Linear(query, width, bias=False), nn.Linear(key, width, bias=False)
        self.v = nn.Parameter(0.2 * torch.randn(width))

    def forward(self, query, keys):
        scores = torch.tanh(self.W(query)[:, None] + self.U(keys)) @ self.v
        return (scores.softmax(-1)[:, None] @ keys)[:, 0]


class GruCell(nn.Module):
    """The weights of the three gates one below the other, as in torch.nn.GRUCell, in two linear layers."""

    def __init__(self, features, width):
        super().__init__()
        self.ih, self.hh = nn.Linear(features, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x, h):
        return torch.gru_cell(x, h, self.ih.weight, self.hh.weight, self.ih.bias, self.hh.bias)


class AttentionStep(nn.Module):
    def __init__(self, features, hidden, keys, width):
        super().__init__()
        self.attention, self.cell = AdditiveAttention(hidden, keys, width), GruCell(features + keys, hidden)

    def forward(self, x, keys, h):
        return self.cell(torch.cat((x, self.attention(h, keys)), -1), h)


class DatesAttention(nn.Module):
    def __init__(self, g):
        super().__init__()
        hidden, words, written = g["encoder"]["hidden_size"], g["words"]["embedding_dim"], g["written"]["embedding_dim"]
        self.words = nn.Embedding(g["words"]["num_embeddings"], words)
        self.encoder = nn.GRU(words, hidden, bidirectional=True, batch_first=True)
        self.written = nn.Embedding(g["written"]["num_embeddings"], written)
        self.decoder = AttentionStep(written, 2 * hidden, 2 * hidden, g["decoder_step/attention"]["width"])
        self.head = nn.Linear(2 * hidden, g["head"]["out_features"])

    def forward(self, x, y_in, length):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(x), length, batch_first=True, enforce_sorted=False)
        keys, last = self.encoder(packed)
        keys, _ = nn.utils.rnn.pad_packed_sequence(keys, batch_first=True, total_length=x.shape[1])
        h, outputs = last.movedim(0, 1).flatten(1), []
        for step in self.written(y_in).unbind(1):
            h = self.decoder(step, keys, h)
            outputs.append(h)
        return self.head(torch.stack(outputs, 1)).transpose(1, 2)


def sinusoidal(x):
    """Vaswani et al. 2017, section 3.5."""
    places, features = x.shape[-2:]
    at = torch.arange(places, dtype=x.dtype)[:, None] * 10000.0 ** (-torch.arange(0, features, 2, dtype=x.dtype) / features)
    return x + torch.stack((at.sin(), at.cos()), -1).flatten(-2)[:, :features]


class DatesTransformer(nn.Module):
    def __init__(self, g):
        super().__init__()
        width = g["words"]["embedding_dim"]

        def sizes(name):
            return dict(d_model=width, nhead=g[name]["heads"], dim_feedforward=g[name]["hidden"], dropout=g[name]["dropout"], batch_first=True,
                        norm_first=True)

        self.words, self.written = (nn.Embedding(g[n]["num_embeddings"], width) for n in ("words", "written"))
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(**sizes("encoder")) for _ in range(g["encoder"]["repeat"]))
        self.decoder1, self.decoder2 = (nn.TransformerDecoderLayer(**sizes(n)) for n in ("decoder1", "decoder2"))
        self.memory, self.norm, self.head = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, g["head"]["out_features"])

    def forward(self, x, y_in):
        h, y = sinusoidal(self.words(x)), sinusoidal(self.written(y_in))
        for layer in self.encoder:
            h = layer(h)
        memory, later = self.memory(h), nn.Transformer.generate_square_subsequent_mask(y.shape[1], dtype=y.dtype)
        for layer in (self.decoder1, self.decoder2):
            y = layer(y, memory, tgt_mask=later, tgt_is_causal=True)
        return self.head(self.norm(y)).transpose(1, 2)


class GptBlock(nn.Module):
    """GPT-2's block (Radford et al. 2019), with PyTorch's own attention."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, later):
        y = self.ln_1(x)
        x = x + self.drop(self.attn(y, y, y, attn_mask=later, is_causal=True, need_weights=False)[0])
        return x + self.drop(self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")))


class Places(nn.Module):
    def __init__(self, places, width):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(places, width))

    def forward(self, x):
        return x + self.weight[:x.shape[1]]


class CharGpt(nn.Module):
    def __init__(self, g):
        super().__init__()
        width, blocks = g["letters"]["embedding_dim"], g["blocks"]
        self.letters, self.places = nn.Embedding(g["letters"]["num_embeddings"], width), Places(g["places"]["max_len"], width)
        self.blocks = nn.ModuleList(GptBlock(width, blocks["heads"], blocks["dropout"]) for _ in range(blocks["repeat"]))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, g["head"]["out_features"], bias=False)

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        x = self.places(self.letters(x))
        for block in self.blocks:
            x = block(x, later)
        return self.head(self.norm(x)).transpose(1, 2)


TWINS = {"char-lstm": CharLstm, "dates-attention": DatesAttention, "dates-transformer": DatesTransformer, "char-gpt": CharGpt}
