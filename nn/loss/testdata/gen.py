"""Makes golden.json: losses and their gradients as PyTorch computes them, in float64.

    python3 gen.py            # in this folder; PyTorch 2, CPU

The form of the file is that of package nn/internal/golden.
"""
import math
import sys
import torch
import torch.nn.functional as F

sys.path.insert(0, "../../internal/golden")
from golden import Golden

golden = Golden(1)
case, randn, ids = golden.case, golden.randn, golden.ids


def rand(*shape, low=0.02, high=0.98):
    return golden.rand(*shape, low=low, high=high)


def signs(*shape):
    return ids(2, *shape) * 2.0 - 1


REDUCTIONS = ["mean", "sum", "none"]

# Classes.
w5 = rand(5, low=0.2, high=2)
for r in REDUCTIONS:
    case("nll " + r, lambda x, y: F.nll_loss(x, y, reduction=r), F.log_softmax(randn(4, 5), 1).round(decimals=4), ids(5, 4))
    t = ids(5, 6)
    t[1], t[4] = -100, -100
    case("nll weight " + r, lambda x, y: F.nll_loss(x, y, w5, reduction=r), randn(6, 5), t)
    case("nll 2d " + r, lambda x, y: F.nll_loss(x, y, w5, reduction=r, ignore_index=2), randn(2, 5, 3, 2), ids(5, 2, 3, 2))
    case("ce " + r, lambda x, y: F.cross_entropy(x, y, reduction=r), randn(4, 5, scale=3), ids(5, 4))
    case("ce one " + r, lambda x, y: F.cross_entropy(x, y, reduction=r), randn(5), torch.tensor(3))
    case("ce weight ignored " + r, lambda x, y: F.cross_entropy(x, y, w5, reduction=r), randn(6, 5, scale=3), t)
    case("ce smooth " + r, lambda x, y: F.cross_entropy(x, y, reduction=r, label_smoothing=0.1), randn(6, 5, scale=3), t)
    case("ce smooth weight " + r, lambda x, y: F.cross_entropy(x, y, w5, reduction=r, label_smoothing=0.3), randn(6, 5, scale=3), t)
    case("ce 2d smooth weight " + r, lambda x, y: F.cross_entropy(x, y, w5, reduction=r, label_smoothing=0.3, ignore_index=1),
         randn(3, 5, 2, 2, scale=3), ids(5, 3, 2, 2))
    case("ce last " + r, lambda x, y: F.cross_entropy(x.movedim(-1, 1), y, w5, reduction=r, label_smoothing=0.2),
         randn(2, 3, 5, scale=3), ids(5, 2, 3))
    case("ce soft " + r, lambda x, y: F.cross_entropy(x, y, reduction=r), randn(4, 5, scale=3), rand(4, 5))
    case("ce soft smooth weight " + r, lambda x, y: F.cross_entropy(x, y, w5, reduction=r, label_smoothing=0.2),
         randn(2, 5, 3, scale=3), rand(2, 5, 3))
case("ce wide", lambda x, y: F.cross_entropy(x, y), randn(2, 700, scale=3), ids(700, 2))
case("ce saturated", lambda x, y: F.cross_entropy(x, y, reduction="none"),
     torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [3e38, 0.0, -3e38]]), torch.tensor([0, 0, 0]))
case("ce minus infinity", lambda x, y: F.cross_entropy(x, y, reduction="none"),
     torch.tensor([[1.0, -math.inf, 0.0], [-math.inf, 1.0, 2.0]]), torch.tensor([0, 1]))
case("ce all ignored", lambda x, y: F.cross_entropy(x, y), randn(2, 3), torch.tensor([-100, -100]))
case("ce all ignored sum", lambda x, y: F.cross_entropy(x, y, reduction="sum"), randn(2, 3), torch.tensor([-100, -100]))
case("ce empty", lambda x, y: F.cross_entropy(x, y), randn(0, 3), ids(3, 0))
case("ce empty none", lambda x, y: F.cross_entropy(x, y, reduction="none"), randn(0, 3), ids(3, 0))

# Elements.
for r in REDUCTIONS:
    a, b = randn(3, 4), randn(3, 4)
    case("mse " + r, lambda x, y: F.mse_loss(x, y, reduction=r), a, b)
    case("l1 " + r, lambda x, y: F.l1_loss(x, y, reduction=r), a, b)
    case("smooth l1 " + r, lambda x, y: F.smooth_l1_loss(x, y, reduction=r), a, b)
    case("smooth l1 beta " + r, lambda x, y: F.smooth_l1_loss(x, y, reduction=r, beta=0.4), a, b)
    case("huber " + r, lambda x, y: F.huber_loss(x, y, reduction=r), a, b)
    case("huber delta " + r, lambda x, y: F.huber_loss(x, y, reduction=r, delta=0.4), a, b)
    case("bce " + r, lambda x, y: F.binary_cross_entropy(x, y, reduction=r), rand(3, 4), rand(3, 4))
    w = rand(4)
    pw = rand(4, high=3)
    case("bce weight " + r, lambda x, y, w: F.binary_cross_entropy(x, y, w.detach(), reduction=r), rand(3, 4), rand(3, 4), w)
    case("bce logits " + r, lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction=r), randn(3, 4, scale=3), rand(3, 4))
    case("bce logits weights " + r, lambda x, y, w, p: F.binary_cross_entropy_with_logits(x, y, w.detach(), reduction=r, pos_weight=p.detach()),
         randn(3, 4, scale=3), rand(3, 4), w, pw)
    case("kl " + r, lambda x, y: F.kl_div(x, y, reduction=r), randn(3, 4), rand(3, 4))
    case("kl log " + r, lambda x, y: F.kl_div(x, y, reduction=r, log_target=True), randn(3, 4), randn(3, 4))
    case("poisson " + r, lambda x, y: F.poisson_nll_loss(x, y, reduction=r), randn(3, 4), ids(5, 3, 4) + 0.0)
    case("poisson rate full " + r, lambda x, y: F.poisson_nll_loss(x, y.detach(), log_input=False, full=True, reduction=r),
         rand(3, 4, high=3), ids(5, 3, 4) + 0.0)
    case("gaussian " + r, lambda x, y, v: F.gaussian_nll_loss(x, y, v, reduction=r), randn(3, 4), randn(3, 4), rand(3, 4))
    case("gaussian full " + r, lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, eps=0.3, reduction=r), randn(3, 4), randn(3, 4), rand(3, 1))
    case("hinge embedding " + r, lambda x, y: F.hinge_embedding_loss(x, y, reduction=r), randn(3, 4), signs(3, 4))
    case("margin ranking " + r, lambda x, z, y: F.margin_ranking_loss(x, z, y, margin=0.3, reduction=r), randn(6), randn(6), signs(6))
    case("cosine " + r, lambda x, z, y: F.cosine_embedding_loss(x, z, y, margin=0.1, reduction=r), randn(6, 4), randn(6, 4), signs(6))
    case("triplet " + r, lambda x, y, z: F.triplet_margin_loss(x, y, z, reduction=r), randn(4, 5), randn(4, 5), randn(4, 5))
    case("triplet p swap " + r, lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=2.5, p=3, swap=True, reduction=r),
         randn(4, 5), randn(4, 5), randn(4, 5))


def focal(x, y, alpha, gamma):  # torchvision.ops.sigmoid_focal_loss
    p = torch.sigmoid(x)
    ce = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    l = ce * (1 - (p * y + (1 - p) * (1 - y))) ** gamma
    return l if alpha < 0 else (alpha * y + (1 - alpha) * (1 - y)) * l


case("focal", lambda x, y: focal(x, y, 0.25, 2).mean(), randn(3, 4, scale=2), ids(2, 3, 4) + 0.0)
case("focal gamma", lambda x, y: focal(x, y, -1, 3), randn(3, 4, scale=2), ids(2, 3, 4) + 0.0)
case("kl batchmean", lambda x, y: F.kl_div(x, y, reduction="batchmean"), randn(3, 4), rand(3, 4))
case("bce saturated", lambda x, y: F.binary_cross_entropy(x, y.detach(), reduction="none"), torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0]))
case("bce logits saturated", lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
     torch.tensor([1e4, -1e4, 1e4, -1e4]), torch.tensor([0.0, 1.0, 1.0, 0.0]))
case("kl zeros", lambda x, y: F.kl_div(x, y.detach(), reduction="none"), torch.tensor([-1.0, -2.0]), torch.tensor([0.0, 1.0]))
case("mse empty", lambda x, y: F.mse_loss(x, y), randn(0, 3), randn(0, 3))


# CTC: of logits, as PyTorch's gradient is that of logarithms of probabilities less their sum's.
def ctc(blank, r, inf, tl, sl):
    return lambda x, y: F.ctc_loss(F.log_softmax(x, 2), y, tl, sl, blank=blank, reduction=r, zero_infinity=inf)


for r in REDUCTIONS:
    case("ctc " + r, ctc(0, r, False, [9, 7, 5], [4, 3, 0]), randn(9, 3, 6), ids(5, 3, 4) + 1)
rep = torch.tensor([[1, 1, 2, 2], [3, 3, 3, 0]])
case("ctc repeats", ctc(4, "none", False, [10, 8], [4, 3]), randn(10, 2, 5), rep)
case("ctc infinite", ctc(4, "none", True, [4, 8], [4, 3]), randn(8, 2, 5), rep)

golden.write("golden.json")
