"""Attention: masks, heads that share keys, keys from elsewhere; and positional encodings, written out."""

from case import *


def keep(*shape):
    """A mask of bool in which every row keeps its first key."""
    mask = rng.random(shape) < 0.6
    mask[..., 0] = True
    return mask


def sdpa(q, k, v, mask=None, **params):
    inputs, ports = [normal(*q), normal(*k), normal(*v)], ["query", "key", "value"]
    if mask is not None:
        inputs.append(mask)
        ports.append("attn_mask")

    def fn(x, w):
        rest = {k: v for k, v in params.items() if k != "dropout_p"}
        if len(x) > 3 and rest.pop("is_causal", False):
            # PyTorch takes one of the two.
            causal = torch.ones(q[-2], k[-2], dtype=torch.bool).tril()
            chosen = x[3] & causal if x[3].dtype == torch.bool else x[3].masked_fill(~causal, -inf)
        else:
            chosen = x[3] if len(x) > 3 else None
        given = [t.unsqueeze(0) if t.dim() == 2 else t for t in x[:3]]
        y = F.scaled_dot_product_attention(*given, attn_mask=chosen, **rest)
        return {"out": y.reshape(*q[:-1], v[-1])}

    case("scaled_dot_product_attention", params, inputs, fn, ports=ports)


sdpa((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4))
sdpa((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 2))
sdpa((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4), is_causal=True)
sdpa((3, 4, 2), (3, 6, 2), (3, 6, 3), is_causal=True)
sdpa((4, 2), (6, 2), (6, 3), scale=0.3)
sdpa((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), keep(2, 3, 5, 7))
sdpa((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), keep(2, 1, 1, 7))
sdpa((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), normal(5, 7))
sdpa((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), normal(3, 5, 7), is_causal=True)
sdpa((2, 4, 5, 3), (2, 2, 6, 3), (2, 2, 6, 3), enable_gqa=True)
sdpa((2, 4, 5, 3), (2, 1, 6, 3), (2, 1, 6, 2), keep(5, 6), enable_gqa=True)
sdpa((2, 2, 2, 4, 3), (2, 2, 2, 4, 3), (2, 2, 2, 4, 3), is_causal=True)
sdpa((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1))
sdpa((1, 2, 70, 20), (1, 2, 150, 20), (1, 2, 150, 20), is_causal=True)


def mha(samples, queries, features, heads, keys=None, kdim=None, vdim=None, padding=None, mask=None, causal=False, bias=True,
        batch_first=False, average=True, one_source=False, dropout=0):
    def source(places, width):
        return normal(*((samples, places) if batch_first else (places, samples)), width) if samples else normal(places, width)

    inputs, ports = [source(queries, features)], ["query"]
    if keys is not None:
        inputs.append(source(keys, kdim or features))
        ports.append("key")
        if not one_source:
            inputs.append(source(keys, vdim or features))
            ports.append("value")
    for port, given in (("key_padding_mask", padding), ("attn_mask", mask)):
        if given is not None:
            inputs.append(given)
            ports.append(port)
    weights = {}
    if kdim or vdim:
        weights["q_proj_weight"] = normal(features, features) * 0.5
        weights["k_proj_weight"] = normal(features, kdim or features) * 0.5
        weights["v_proj_weight"] = normal(features, vdim or features) * 0.5
    else:
        weights["in_proj_weight"] = normal(3 * features, features) * 0.5
    if bias:
        weights["in_proj_bias"] = normal(3 * features)
        weights["out_proj.bias"] = normal(features)
    weights["out_proj.weight"] = normal(features, features) * 0.5
    params = {"num_heads": heads}
    for name, value, usual in (("is_causal", causal, False), ("bias", bias, True), ("batch_first", batch_first, False),
                               ("average_attn_weights", average, True), ("dropout", dropout, 0)):
        if value != usual:
            params[name] = value

    def fn(x, w):
        given = dict(zip(ports, x))
        q = given["query"]
        k = given.get("key", q)
        v = given.get("value", k)
        net = torch.nn.MultiheadAttention(features, heads, bias=bias, kdim=kdim, vdim=vdim, batch_first=batch_first,
                                          dropout=dropout).double().eval()
        chosen = given.get("attn_mask")
        if causal:
            chosen = torch.ones(queries, keys or queries, dtype=torch.bool).triu(1)
        y, shares = torch.func.functional_call(net, dict(w), (q, k, v), {
            "key_padding_mask": given.get("key_padding_mask"), "attn_mask": chosen, "average_attn_weights": average})
        return {"out": y, "weights": shares}

    case("multihead_attention", params, inputs, fn, weights=weights, ports=ports)


mha(2, 5, 4, 2)
mha(2, 5, 6, 3, batch_first=True, causal=True)
mha(None, 4, 4, 2)
mha(2, 3, 4, 1, bias=False, average=False, batch_first=True)
mha(2, 3, 4, 2, keys=5)
mha(3, 3, 4, 2, keys=5, one_source=True, batch_first=True)
mha(2, 3, 4, 2, keys=5, kdim=3, vdim=6, batch_first=True)
mha(2, 3, 4, 2, padding=~keep(2, 3), batch_first=True)
mha(2, 3, 4, 2, mask=~keep(3, 3))
mha(2, 3, 4, 2, mask=normal(4, 3, 3), batch_first=True, average=False)
mha(2, 3, 4, 2, keys=4, padding=~keep(2, 4), mask=normal(3, 4))
mha(2, 3, 4, 2, padding=~keep(2, 3), mask=~keep(3, 3) & False, batch_first=True)


def angles(places, features, base):
    at = torch.arange(places, dtype=torch.float64)[:, None]
    return at * base ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)


def sinusoidal(x, base):
    turn = angles(x.shape[-2], x.shape[-1], base)
    return x + torch.stack((turn.sin(), turn.cos()), -1).flatten(-2)[:, :x.shape[-1]]


def rotary(x, base):
    turn = angles(x.shape[-2], x.shape[-1], base)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(turn), turn)
    return torch.view_as_real(turned).flatten(-2)


for shape in ((5, 4), (2, 3, 7), (2, 2, 70, 6)):
    case("positional_encoding", {}, [normal(*shape)], lambda x, w: sinusoidal(x[0], 10000.0))
case("positional_encoding", {"base": 100.0}, [normal(2, 9, 6)], lambda x, w: sinusoidal(x[0], 100.0))
case("positional_encoding", {"kind": "learned", "max_len": 7}, [normal(2, 5, 4)], lambda x, w: x[0] + w["weight"][:5],
     weights={"weight": normal(7, 4)})
for shape in ((5, 4), (2, 3, 9, 6)):
    case("positional_encoding", {"kind": "rotary"}, [normal(*shape)], lambda x, w: rotary(x[0], 10000.0))

# Small ones of every kind of mask, which data/ has room for; dropout does nothing in evaluation.
SMALL = ((2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 3))
sdpa(*SMALL, keep(2, 2, 3, 4))
sdpa(*SMALL, keep(2, 1, 1, 4))
sdpa(*SMALL, normal(3, 4))
sdpa(*SMALL, normal(2, 1, 3, 4), is_causal=True, scale=0.7)
sdpa(*SMALL, keep(3, 4), is_causal=True)
sdpa((1, 6, 3, 2), (1, 2, 4, 2), (1, 2, 4, 2), normal(6, 3, 4), enable_gqa=True)
sdpa(*SMALL, dropout_p=0.5)
mha(2, 3, 4, 2, keys=4, padding=normal(2, 4), batch_first=True)
mha(2, 3, 4, 2, mask=~keep(4, 3, 3), average=False)
mha(2, 3, 4, 2, keys=2, kdim=3, bias=False, padding=~keep(2, 2), mask=normal(3, 2), batch_first=True)
mha(2, 4, 4, 4, causal=True, dropout=0.5)
