"""Layers that move pixels by position: folding, unpooling, grids, channel groups, and pools that take a norm or a given size of
volumes; bags of indices, recurrent cells, and the losses of several labels and of label sequences."""

from case import *

for shape, groups in (((4, 6, 2, 3), 2), ((1, 3, 4), 3), ((2, 2, 1, 2, 1), 1), ((2, 8, 3, 3), 4)):
    case("channel_shuffle", {"groups": groups}, [normal(*shape)], lambda x, w, g=groups: F.channel_shuffle(x[0], g))

for shape, params in (((4, 8, 6), dict(output_size=(3, 4), kernel_size=2)), ((2, 4, 4), dict(output_size=(4, 4), kernel_size=2, stride=2)),
                      ((1, 12, 6), dict(output_size=(4, 5), kernel_size=(3, 2), padding=(1, 0), stride=(2, 1), dilation=(1, 2))),
                      ((0, 1, 4), dict(output_size=(2, 2), kernel_size=1)), ((2, 27, 25), dict(output_size=(5, 5), kernel_size=3, padding=1))):
    case("fold", params, [normal(*shape)], lambda x, w, p=params: F.fold(x[0], **p), grad=shape[0] > 0)

# ---- pools ----

for n, shapes in ((1, ((2, 3, 7), (1, 2, 6))), (2, ((2, 2, 5, 6), (1, 3, 4, 4))), (3, ((1, 2, 4, 3, 5), (2, 1, 2, 4, 4)))):
    for shape in shapes:
        for params in (dict(kernel_size=2), dict(kernel_size=2, stride=1), dict(kernel_size=2, ceil_mode=True), dict(kernel_size=(3, 2, 2)[:n] if n > 1 else 3, stride=2)):
            if n == 3 and shape[2] < 3 and params["kernel_size"] != 2:
                continue  # the window would not fit
            for p in (1, 2, 3.5):
                case(f"lp_pool{n}d", {"norm_type": p, **params}, [positive(*shape)],
                     lambda x, w, n=n, p=p, q=params: getattr(F, f"lp_pool{n}d")(x[0], p, **q))

for shape in ((1, 2, 4, 5, 6), (2, 1, 3, 3, 2)):
    for size in (1, 2, (3, 2, 4), (1, 5, 3)):
        for kind in ("avg", "max"):
            case(f"adaptive_{kind}_pool3d", {"output_size": size}, [normal(*shape)],
                 lambda x, w, s=size, k=kind: getattr(F, f"adaptive_{k}_pool3d")(x[0], s))


def pooled(n, shape, **params):
    return getattr(F, f"max_pool{n}d")(torch.tensor(normal(*shape)), return_indices=True, **params)


for n, shape in ((1, (2, 3, 8)), (2, (2, 2, 6, 4)), (3, (1, 2, 4, 2, 4)), (2, (1, 2, 5, 7)), (1, (1, 1, 5))):
    for params in (dict(kernel_size=2), dict(kernel_size=2, stride=2, padding=1), dict(kernel_size=3, stride=3) if shape[2] > 2 and n < 3 else None):
        if params is None:
            continue
        v, i = pooled(n, shape, **params)
        whole_size = [(m - 1) * params.get("stride", 2) - 2 * params.get("padding", 0) + params["kernel_size"] for m in v.shape[2:]]
        # Without a size the indices must fit the one that the windows imply.
        for size in (None, shape[2:]) if whole_size == list(shape[2:]) else (shape[2:],):
            ours = {**params, **({"output_size": size if n > 1 else size[0]} if size else {})}
            case(f"max_unpool{n}d", ours, [v.numpy(), i.numpy()],
                 lambda x, w, n=n, p=params, s=size: getattr(F, f"max_unpool{n}d")(x[0], x[1], output_size=s, **p))

# ---- grids ----

for size, batch in (((3, 4), 2), ((1, 5), 1), ((2, 3, 4), 2), ((1, 1, 2), 1)):
    for align in (False, True):
        n = len(size)
        case("affine_grid", {"size": size, "align_corners": align}, [normal(batch, n, n + 1)],
             lambda x, w, s=size, a=align, b=batch: F.affine_grid(x[0], [b, 1, *s], align_corners=a))
for shape, out in (((2, 3, 4, 5), (3, 2)), ((1, 2, 1, 3), (2, 2)), ((2, 2, 3, 2, 4), (2, 1, 3))):
    n = len(out)
    for mode in ("bilinear", "nearest", *(("bicubic",) if n == 2 else ())):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                # Positions reach outside of the image, where reflection turns more than once.
                grid = (rng.random((shape[0], *out, n)) * 5 - 2.5).astype(np.float32)
                p = dict(mode=mode, padding_mode=padding, align_corners=align)
                case("grid_sample", p, [normal(*shape), grid], lambda x, w, p=p: F.grid_sample(x[0], x[1], **p))

# ---- indices and states ----

for shape, rows, dim in (((3, 4), 10, 3), ((2, 1), 4, 2)):
    for mode in ("sum", "mean", "max"):
        for padding in (None, 0, -1):
            p = {"mode": mode, **({} if padding is None else {"padding_idx": padding})}
            case("embedding_bag", {"num_embeddings": rows, "embedding_dim": dim, **p}, [whole(rows, *shape)],
                 lambda x, w, p=p: F.embedding_bag(x[0], w["weight"], **p), weights={"weight": normal(rows, dim)})
case("embedding_bag", {"num_embeddings": 5, "embedding_dim": 2, "mode": "sum"}, [whole(5, 2, 3), normal(2, 3)],
     lambda x, w: F.embedding_bag(x[0], w["weight"], mode="sum", per_sample_weights=x[1]), weights={"weight": normal(5, 2)})
# A bag of nothing but padding is 0 in every mode.
for mode in ("sum", "mean", "max"):
    case("embedding_bag", {"num_embeddings": 3, "embedding_dim": 2, "mode": mode, "padding_idx": 1}, [np.array([[1, 1], [0, 1]])],
         lambda x, w, m=mode: F.embedding_bag(x[0], w["weight"], mode=m, padding_idx=1), weights={"weight": normal(3, 2)})


def cell(op, batch, features, hidden, states=0, **params):
    gates = {"rnn_cell": 1, "lstm_cell": 4, "gru_cell": 3}[op] * hidden
    weights = {"weight_ih": normal(gates, features), "weight_hh": normal(gates, hidden)}
    if params.get("bias", True):
        weights.update(bias_ih=normal(gates), bias_hh=normal(gates))

    def fn(x, w):
        net = getattr(torch.nn, {"rnn_cell": "RNNCell", "lstm_cell": "LSTMCell", "gru_cell": "GRUCell"}[op])(features, hidden, **params).double()
        given = (x[0],) if not states else (x[0], (x[1], x[2]) if op == "lstm_cell" else x[1])
        out = torch.func.functional_call(net, dict(w), given)
        return dict(zip(("h_1", "c_1"), out)) if op == "lstm_cell" else {"h_1": out}

    case(op, {"hidden_size": hidden, **params}, [normal(batch, features)] + [normal(batch, hidden) for _ in range(states)], fn, weights=weights)


for op in ("rnn_cell", "lstm_cell", "gru_cell"):
    both = 2 if op == "lstm_cell" else 1
    cell(op, 3, 2, 4)
    cell(op, 2, 3, 2, both)
    cell(op, 1, 1, 3, both, bias=False)
    cell(op, 7, 9, 16, both)
cell("rnn_cell", 3, 2, 4, 1, nonlinearity="relu")

# ---- losses ----

for shape in ((5, 3), (4,), (2, 3, 4), (1, 1)):
    for reduction in ("mean", "sum", "none"):
        for w in (None, [0.5, 2, 1, 3][: shape[-1]]):
            p = {"reduction": reduction, **({} if w is None else {"weight": tuple(w)})}
            case("multilabel_soft_margin_loss", p, [normal(*shape) * 3, rng.random(shape).astype(np.float32)],
                 lambda x, _, r=reduction, w=w: F.multilabel_soft_margin_loss(x[0], x[1], weight=None if w is None else torch.tensor(w, dtype=x[0].dtype), reduction=r))


def ctc(x, blank, lengths, counts, reduction):
    """The forward recursion in the open. PyTorch's own gradient of ctc_loss is that of logits before log_softmax, not of log_probs."""
    log_probs, targets = x
    losses = []
    for b in range(log_probs.shape[1]):
        labels = [blank]
        for k in range(counts[b]):
            labels += [int(targets[b, k]), blank]
        lp = log_probs[:, b]
        alpha = [lp[0, labels[0]]] + ([lp[0, labels[1]]] if len(labels) > 1 else [])
        alpha += [torch.tensor(-inf, dtype=lp.dtype)] * (len(labels) - len(alpha))
        for t in range(1, lengths[b]):
            new = []
            for s, label in enumerate(labels):
                parts = [alpha[s]] + ([alpha[s - 1]] if s > 0 else [])
                if s > 1 and label != blank and label != labels[s - 2]:
                    parts.append(alpha[s - 2])
                parts = [p for p in parts if p != -inf]
                new.append(torch.logsumexp(torch.stack(parts), 0) + lp[t, label] if parts else torch.tensor(-inf, dtype=lp.dtype))
            alpha = new
        losses.append(-torch.logsumexp(torch.stack([a for a in alpha[-2:] if a != -inf]), 0))
    loss = torch.stack(losses)
    return {"none": loss, "sum": loss.sum(), "mean": (loss / torch.tensor(counts).clamp(min=1)).mean()}[reduction]


for steps, batch, classes, labels, blank in ((6, 3, 4, 2, 0), (5, 1, 3, 2, 2), (8, 2, 5, 3, 1), (1, 2, 3, 1, 0)):
    x = torch.tensor(normal(steps, batch, classes)).log_softmax(2).numpy()
    y = whole(classes - 1, batch, labels)
    y[y >= blank] += 1
    for reduction in ("mean", "sum", "none"):
        p = {"blank": blank, "reduction": reduction}
        lengths, counts = [steps] * batch, [labels] * batch
        case("ctc_loss", p, [x, y], lambda v, w, b=blank, n=lengths, c=counts, r=reduction: ctc(v, b, n, c, r))
        case("ctc_loss", p, [x, y], lambda v, w, b=blank, n=lengths, c=counts, r=reduction: F.ctc_loss(
            v[0], v[1], torch.tensor(n), torch.tensor(c), blank=b, reduction=r), grad=False)
for lengths, counts in (([6, 4, 2], [2, 1, 1]), ([5, 3, 6], [0, 2, 2])):
    x, y = torch.tensor(normal(6, 3, 4)).log_softmax(2).numpy(), np.array([[1, 2], [3, 1], [2, 3]])
    for reduction in ("mean", "none"):
        given = [x, y, np.array(lengths), np.array(counts)]
        case("ctc_loss", {"reduction": reduction}, given, lambda v, w, n=lengths, c=counts, r=reduction: ctc(v[:2], 0, n, c, r))
        case("ctc_loss", {"reduction": reduction}, given, lambda v, w, r=reduction: F.ctc_loss(v[0], v[1], v[2], v[3], reduction=r), grad=False)
# Two equal labels need three steps.
for zero in (False, True):
    case("ctc_loss", {"reduction": "none", "zero_infinity": zero}, [torch.tensor(normal(2, 1, 3)).log_softmax(2).numpy(), np.array([[1, 1]])],
         lambda v, w, z=zero: F.ctc_loss(v[0], v[1], torch.tensor([2]), torch.tensor([2]), reduction="none", zero_infinity=z), grad=False)
