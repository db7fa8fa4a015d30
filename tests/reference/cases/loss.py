"""Losses, and the distances that some of them measure."""

from case import *

REDUCTIONS = ("mean", "sum", "none")
PAIRS = [((4, 3), (4, 3)), ((), ()), ((5,), (5,)), ((2, 3, 4), (2, 3, 4)), ((33, 65), (33, 65))]


def weight(n):
    return ",".join(f"{v:.3f}" for v in rng.random(n) + 0.2)


def tensor(text):
    return torch.tensor([float(v) for v in text.split(",")], dtype=torch.float64)


# ---- classes ----

CLASSES = [((4, 5), (4,)), ((2, 3, 5), (2, 5)), ((2, 3, 4, 5), (2, 4, 5)), ((4,), ()), ((64, 10), (64,)), ((2, 100), (2,))]
for scores, classes in CLASSES:
    n = scores[0] if len(scores) == 1 else scores[1]
    for reduction in REDUCTIONS:
        for options in ({}, {"label_smoothing": 0.1}, {"ignore_index": 1}, {"ignore_index": 1, "label_smoothing": 0.3}, {"label_smoothing": 1}):
            for weighted in ("no", "port", "numbers"):
                target = whole(n, *classes)
                if target.ndim == 0 and options.get("ignore_index") == target:
                    continue
                if target.ndim:
                    target.flat[0] = 0  # at least one counts
                w = weight(n)
                inputs = [normal(*scores) * 2, target] + ([tensor(w).numpy().astype(np.float32)] if weighted == "port" else [])
                params = {"reduction": reduction, **options, **({"weight": w} if weighted == "numbers" else {})}
                for op, fn in (("cross_entropy", F.cross_entropy), ("nll_loss", F.nll_loss)):
                    if op == "nll_loss" and "label_smoothing" in options:
                        continue
                    if weighted == "no" and op == "cross_entropy" and "label_smoothing" not in options:
                        continue  # in first.py
                    case(op, params, inputs, lambda x, _, fn=fn, r=reduction, o=options, k=weighted, w=w:
                         fn(x[0], x[1], weight=None if k == "no" else tensor(w) if k == "numbers" else x[2].detach(), reduction=r, **o))
case("nll_loss", {"reduction": "sum"}, [normal(0, 4), whole(4, 0)], lambda x, w: F.nll_loss(x[0], x[1], reduction="sum"))
case("nll_loss", {}, [normal(2, 3), np.array([-100, -100])], lambda x, w: F.nll_loss(x[0], x[1]), grad=False)
case("nll_loss", {"reduction": "none"}, [np.array([[-inf, 0, 1], [0, -inf, 2]], np.float32), np.array([-100, 1])],
     lambda x, w: F.nll_loss(x[0], x[1], reduction="none"), grad=False)
case("nll_loss", {}, [normal(4, 3), whole(3, 4).astype(np.int32)], lambda x, w: F.nll_loss(x[0], x[1].long()))
for scores in ((4, 5), (2, 3, 5), (4,), (2, 3, 4, 5)):
    n = scores[0] if len(scores) == 1 else scores[1]
    for reduction in REDUCTIONS:
        for smoothing in (0, 0.2):
            for weighted in (False, True):
                w = weight(n)
                case("cross_entropy", {"reduction": reduction, "label_smoothing": smoothing, **({"weight": w} if weighted else {})},
                     [normal(*scores), positive(*scores)], lambda x, _, r=reduction, s=smoothing, w=w if weighted else None:
                     F.cross_entropy(x[0], x[1], weight=None if w is None else tensor(w), reduction=r, label_smoothing=s))
for scores, classes in (((4, 5), (4,)), ((4,), ()), ((1, 3), (1,)), ((64, 10), (64,)), ((2, 1), (2,))):
    n = scores[-1]
    for reduction in REDUCTIONS:
        for options in ({}, {"p": 2}, {"margin": 0.3}, {"p": 2, "margin": 2.5}):
            for weighted in ("no", "port", "numbers"):
                w = weight(n)
                inputs = [normal(*scores), whole(n, *classes)] + ([tensor(w).numpy().astype(np.float32)] if weighted == "port" else [])
                case("multi_margin_loss", {"reduction": reduction, **options, **({"weight": w} if weighted == "numbers" else {})}, inputs,
                     lambda x, _, r=reduction, o=options, k=weighted, w=w: F.multi_margin_loss(
                         x[0], x[1], weight=None if k == "no" else tensor(w) if k == "numbers" else x[2].detach(), reduction=r, **o))

# ---- element by element ----

for op, fn, options in (("l1_loss", F.l1_loss, ({},)), ("smooth_l1_loss", F.smooth_l1_loss, ({}, {"beta": 0.5}, {"beta": 0}, {"beta": 3})),
                        ("huber_loss", F.huber_loss, ({}, {"delta": 0.3}, {"delta": 2}))):
    for o in options:
        for a, b in PAIRS:
            for reduction in REDUCTIONS:
                case(op, {"reduction": reduction, **o}, [normal(*a), normal(*b)],
                     lambda x, w, fn=fn, o=o, r=reduction: fn(x[0], x[1], reduction=r, **o))
        case(op, o, [values(0, 1, -1, 0.5), values(0, 0, 1, 0.5)], lambda x, w, fn=fn, o=o: fn(x[0], x[1], **o))
    case(op, {"reduction": "sum"}, [normal(0, 2), normal(0, 2)], lambda x, w, fn=fn: fn(x[0], x[1], reduction="sum"))
    case(op, {}, [normal(4, 3), whole(3, 4, 3)], lambda x, w, fn=fn: fn(x[0], x[1].double()))
    case(op, {"reduction": "none"}, [values(nan, inf, -inf, 1), values(0, 0, 1, -inf)], lambda x, w, fn=fn: fn(x[0], x[1], reduction="none"),
         grad=False)


def signs(*shape):
    return (whole(2, *shape) * 2 - 1).astype(np.float32)


def chances(*shape):
    return (rng.random(shape) * 0.98 + 0.01).astype(np.float32)


for reduction in REDUCTIONS:
    for shape in ((4, 3), (), (2, 3, 4), (33, 65)):
        case("soft_margin_loss", {"reduction": reduction}, [normal(*shape), signs(*shape)],
             lambda x, w, r=reduction: F.soft_margin_loss(x[0], x[1].detach(), reduction=r))
        for margin in (1, 0.4):
            case("hinge_embedding_loss", {"reduction": reduction, "margin": margin}, [normal(*shape), signs(*shape)],
                 lambda x, w, r=reduction, m=margin: F.hinge_embedding_loss(x[0], x[1].detach(), m, reduction=r))
            case("margin_ranking_loss", {"reduction": reduction, "margin": margin}, [normal(*shape), normal(*shape), signs(*shape)],
                 lambda x, w, r=reduction, m=margin: F.margin_ranking_loss(*x, m, reduction=r))
        for extra in (None, shape, shape[-1:], (1,) * len(shape)):
            w = [] if extra is None else [positive(*extra)]
            case("binary_cross_entropy", {"reduction": reduction}, [chances(*shape), chances(*shape)] + w,
                 lambda x, _, r=reduction: F.binary_cross_entropy(x[0], x[1], x[2].detach() if len(x) > 2 else None, reduction=r))
            case("binary_cross_entropy_with_logits", {"reduction": reduction}, [normal(*shape) * 3, chances(*shape)] + w,
                 lambda x, _, r=reduction: F.binary_cross_entropy_with_logits(x[0], x[1], x[2].detach() if len(x) > 2 else None, reduction=r))
            case("binary_cross_entropy_with_logits", {"reduction": reduction}, [normal(*shape) * 3, whole(2, *shape), None] + w,
                 lambda x, _, r=reduction: F.binary_cross_entropy_with_logits(
                     x[0], x[1].double(), pos_weight=x[3].detach() if len(x) > 3 else None, reduction=r))
    case("margin_ranking_loss", {"reduction": reduction}, [normal(4), normal(4), signs(4)],
         lambda x, w, r=reduction: F.margin_ranking_loss(*x, reduction=r))
case("soft_margin_loss", {"reduction": "none"}, [values(0, 50, -50, 1), values(1, 1, 1, -1)],
     lambda x, w: F.soft_margin_loss(x[0], x[1].detach(), reduction="none"))
# At 0 and 1 the slope is what PyTorch's bound of 1e-12 leaves; that of the target is held at 100 here and infinite there.
case("binary_cross_entropy", {"reduction": "none"}, [values(0, 1, 0, 1, 0.5), np.array([0, 1, 1, 0, 0])],
     lambda x, w: F.binary_cross_entropy(x[0], x[1].double(), reduction="none"))
case("binary_cross_entropy", {}, [chances(4, 3), whole(2, 4, 3)], lambda x, w: F.binary_cross_entropy(x[0], x[1].double()))
case("binary_cross_entropy_with_logits", {"reduction": "none"}, [values(0, 0, 100, -100, 1000, -1000), values(0, 1, 1, 1, 0, 0.5)],
     lambda x, w: F.binary_cross_entropy_with_logits(x[0], x[1], reduction="none"))
case("binary_cross_entropy_with_logits", {}, [normal(4, 3), chances(4, 3), positive(3), positive(4, 1)],
     lambda x, w: F.binary_cross_entropy_with_logits(x[0], x[1], x[2].detach(), pos_weight=x[3].detach()))

for reduction in (*REDUCTIONS, "batchmean"):
    for shape in ((4, 3), (5,), (2, 3, 4)):
        case("kl_div", {"reduction": reduction}, [normal(*shape), positive(*shape)], lambda x, w, r=reduction: F.kl_div(x[0], x[1], reduction=r))
        case("kl_div", {"reduction": reduction, "log_target": True}, [normal(*shape), normal(*shape)],
             lambda x, w, r=reduction: F.kl_div(x[0], x[1], reduction=r, log_target=True))
case("kl_div", {"reduction": "sum"}, [normal(), positive()], lambda x, w: F.kl_div(x[0], x[1], reduction="sum"))
case("kl_div", {"reduction": "none"}, [normal(3), values(0, 1, 0)], lambda x, w: F.kl_div(x[0], x[1], reduction="none"), grad=False)

for reduction in REDUCTIONS:
    for log_input in (True, False):
        for full in (True, False):
            case("poisson_nll_loss", {"reduction": reduction, "log_input": log_input, "full": full},
                 [(normal if log_input else positive)(4, 3), positive(4, 3) * 3],
                 lambda x, w, r=reduction, i=log_input, f=full: F.poisson_nll_loss(x[0], x[1].detach() if f else x[1], i, f, reduction=r)
                 if not f else poisson_full(x[0], x[1], i, r))
    for full in (True, False):
        for shape, var in (((4, 3), (4, 3)), ((4, 3), (4, 1)), ((5,), (5,))):
            case("gaussian_nll_loss", {"reduction": reduction, "full": full}, [normal(*shape), normal(*shape), positive(*var)],
                 lambda x, w, r=reduction, f=full: F.gaussian_nll_loss(*x, full=f, reduction=r))
case("poisson_nll_loss", {"eps": 0.1, "log_input": False}, [positive(4), positive(4)],
     lambda x, w: F.poisson_nll_loss(x[0], x[1], log_input=False, eps=0.1))
case("poisson_nll_loss", {"full": True}, [normal(6), whole(4, 6)], lambda x, w: F.poisson_nll_loss(x[0], x[1].double(), full=True))
case("gaussian_nll_loss", {"eps": 0.5}, [normal(4), normal(4), values(0.1, 0.7, 0.4, 2)], lambda x, w: F.gaussian_nll_loss(*x, eps=0.5))


def poisson_full(x, t, log_input, reduction):
    """The same formula with a slope along the target, which PyTorch cuts where it sets small counts to 0 in place."""
    loss = torch.exp(x) - t * x if log_input else x - t * torch.log(x + 1e-8)
    loss = loss + torch.where(t > 1, t * torch.log(t) - t + 0.5 * torch.log(2 * torch.pi * t), 0)
    check = F.poisson_nll_loss(x.detach(), t.detach(), log_input, True, reduction="none")
    assert torch.allclose(check, loss.detach(), rtol=1e-12)
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda v: v}[reduction](loss)


# ---- vectors ----

for shape, dim in (((4, 3), 1), ((4,), 0), ((4, 2, 3), -1), ((2, 3, 4, 5), 1), ((2, 1), 1), ((33, 65), 0)):
    case("cosine_similarity", {"dim": dim}, [normal(*shape), normal(*shape)], lambda x, w, d=dim: F.cosine_similarity(*x, dim=d),
         # A vector of one number has one direction: its slope is 0, and rounding is all there is.
         scale=100 if shape[dim] == 1 else 1)
case("cosine_similarity", {"eps": 3}, [normal(4, 3), normal(4, 3)], lambda x, w: F.cosine_similarity(*x, eps=3))
case("cosine_similarity", {}, [np.array([[0, 0], [3, 4]], np.float32), np.array([[1, 2], [0, 0]], np.float32)], lambda x, w: F.cosine_similarity(*x), grad=False)
for p in (1, 2, 3, 1.5):
    for shape in ((4, 3), (2, 3, 4), (5,)):
        for keepdim in (False, True):
            case("pairwise_distance", {"p": p, "keepdim": keepdim}, [normal(*shape), normal(*shape)],
                 lambda x, w, p=p, k=keepdim: F.pairwise_distance(*x, p=p, keepdim=k))
    for reduction in REDUCTIONS:
        for swap in (False, True):
            for margin in (1, 0.2):
                case("triplet_margin_loss", {"p": p, "margin": margin, "swap": swap, "reduction": reduction}, [normal(8, 5), normal(8, 5), normal(8, 5)],
                     lambda x, w, p=p, m=margin, s=swap, r=reduction: F.triplet_margin_loss(*x, margin=m, p=p, swap=s, reduction=r))
case("pairwise_distance", {"eps": 0}, [normal(4, 3), np.zeros((4, 3), np.float32)], lambda x, w: F.pairwise_distance(*x, eps=0))
case("pairwise_distance", {"eps": 0}, [np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)], lambda x, w: F.pairwise_distance(*x, eps=0))
case("triplet_margin_loss", {}, [normal(5), normal(5), normal(5)], lambda x, w: F.triplet_margin_loss(*x))
for reduction in REDUCTIONS:
    for margin in (0, 0.3, -0.5):
        case("cosine_embedding_loss", {"margin": margin, "reduction": reduction}, [normal(8, 5), normal(8, 5), signs(8).astype(np.int64)],
             lambda x, w, m=margin, r=reduction: F.cosine_embedding_loss(*x, margin=m, reduction=r))
case("cosine_embedding_loss", {}, [normal(5), normal(5), np.array(1)], lambda x, w: F.cosine_embedding_loss(*x))
case("cosine_embedding_loss", {}, [normal(5), normal(5), np.array(-1)], lambda x, w: F.cosine_embedding_loss(*x))
