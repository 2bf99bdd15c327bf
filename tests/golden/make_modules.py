#!/usr/bin/env python3
"""Writes tests/golden/modules.txt: what torch's modules answer, for tests/training/modules/golden.cpp to compare with.

    pip install torch numpy && python3 tests/golden/make_modules.py

One case a block of lines:

    case NAME train|eval
    repr TEXT                        what torch prints
    samples DTYPE SHAPE x ...        random numbers that the module is given
    state NAME DTYPE SHAPE x ...     each entry of state_dict(), in order
    input DTYPE SHAPE x ...          each argument
    fixed DTYPE SHAPE x ...          an argument that has no gradient
    output DTYPE SHAPE x ...
    cotangent DTYPE SHAPE x ...      backward() begins with it
    grad NAME DTYPE SHAPE x ...      by the arguments (0, 1, ...) and the parameters, where torch has one
    after NAME DTYPE SHAPE x ...     buffers that changed
    end

A shape is 2,3, or "-" for 0-d. Elements are decimal, shortest to be exact.
"""
import os

import numpy as np
import torch
from torch import nn

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules.txt")
torch.set_num_threads(1)
rng = np.random.default_rng(20261122)
NAMES = {torch.float32: "float32", torch.int64: "int64", torch.bool: "bool"}
lines = []


def text(t):
    t = t.detach()
    shape = ",".join(map(str, t.shape)) or "-"
    flat = t.reshape(-1)
    numbers = [np.format_float_positional(np.float32(v), trim="-") if 1e-4 <= abs(v) < 1e6 or v == 0 else str(np.float32(v))
               for v in flat.tolist()] if t.dtype == torch.float32 else [str(int(v)) for v in flat.tolist()]
    return " ".join([NAMES[t.dtype], shape] + numbers)


def values(*shape, scale=1.0):
    """Random values with few digits."""
    return torch.tensor(np.round(rng.normal(size=shape) * scale * 16) / 16, dtype=torch.float32)


def distinct(*shape):
    """Values that differ from each other, for maxima."""
    n = int(np.prod(shape))
    return torch.tensor((rng.permutation(n) - n // 2) / 8, dtype=torch.float32).reshape(shape)


def probabilities(*shape):
    return torch.tensor((1 + np.floor(rng.random(size=shape) * 62)) / 64, dtype=torch.float32)


def ints(*rows):
    return torch.tensor(rows[0] if len(rows) == 1 else rows)


def case(name, module, *inputs, train=False, fixed=(), prepare=lambda x: x):
    """Calls the module, with weights of few digits, and differentiates by all arguments but the fixed ones. The first one is prepared."""
    module.train(train)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(distinct(*p.shape) if isinstance(module, nn.EmbeddingBag) else values(*p.shape, scale=0.5))
        for n, b in module.named_buffers():
            if n.endswith("running_mean"):
                b.copy_(values(*b.shape))
            if n.endswith("running_var"):
                b.copy_(probabilities(*b.shape) + 0.5)
    lines.append(f"case {name} {'train' if train else 'eval'}")
    for row in repr(module).split("\n"):
        lines.append("repr " + row)
    before = {n: t.clone() for n, t in module.state_dict().items()}
    if getattr(module, "_random_samples", None) is not None:
        before.pop("_random_samples")
        lines.append("samples " + text(module._random_samples))
    for n, t in before.items():
        lines.append(f"state {n} {text(t)}")
    inputs = [x.clone().requires_grad_(x.is_floating_point() and i not in fixed) for i, x in enumerate(inputs)]
    for x in inputs:
        lines.append(("input " if x.requires_grad else "fixed ") + text(x))
    y = module(prepare(inputs[0]), *inputs[1:])
    y = y if isinstance(y, torch.Tensor) else y.loss
    lines.append("output " + text(y))
    if y.requires_grad:
        g = values(*y.shape)
        lines.append("cotangent " + text(g))
        y.backward(g)
        for i, x in enumerate(inputs):
            if x.grad is not None:
                lines.append(f"grad {i} {text(x.grad)}")
        for n, p in module.named_parameters():
            if p.grad is not None:
                lines.append(f"grad {n} {text(p.grad)}")
    for n, t in module.state_dict().items():
        if n in before and not torch.equal(t, before[n]):
            lines.append(f"after {n} {text(t)}")
    lines.append("end")


def shapes_and_weights():
    case("linear", nn.Linear(5, 3), values(2, 5))
    case("linear_no_bias", nn.Linear(5, 1, bias=False), values(2, 3, 5))
    case("linear_vector", nn.Linear(5, 3), values(5))
    case("bilinear", nn.Bilinear(3, 2, 4), values(5, 3), values(5, 2))
    case("identity", nn.Identity(), values(3))
    case("flatten", nn.Flatten(), values(2, 3, 2))
    case("flatten_some", nn.Flatten(0, 1), values(2, 3, 2))
    case("unflatten", nn.Unflatten(1, (2, 3)), values(2, 6))


def convolutions():
    case("conv1d", nn.Conv1d(2, 3, 3, padding=1), values(2, 2, 7))
    case("conv2d", nn.Conv2d(2, 4, 3), values(2, 2, 6, 5))
    case("conv2d_options", nn.Conv2d(4, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2, bias=False),
         values(2, 4, 7, 6))
    case("conv2d_same", nn.Conv2d(1, 2, 3, padding="same"), values(1, 1, 5, 4))
    case("conv2d_reflect", nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), values(1, 1, 5, 4))
    case("conv2d_circular", nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), values(1, 1, 5, 4))
    case("conv2d_single", nn.Conv2d(2, 2, 2), values(2, 3, 3))
    case("conv3d", nn.Conv3d(1, 2, 2), values(1, 1, 3, 4, 3))
    case("conv_transpose1d", nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), values(2, 2, 4))
    case("conv_transpose2d", nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, groups=2, bias=False), values(1, 4, 3, 4))
    case("conv_transpose2d_single", nn.ConvTranspose2d(2, 1, 2, dilation=2), values(2, 3, 2))
    case("conv_transpose3d", nn.ConvTranspose3d(1, 1, 2), values(1, 1, 2, 3, 2))


def norms():
    case("batch_norm1d", nn.BatchNorm1d(3), values(4, 3), train=True)
    case("batch_norm1d_eval", nn.BatchNorm1d(3), values(4, 3))
    case("batch_norm1d_sequence", nn.BatchNorm1d(3, momentum=None), values(2, 3, 5), train=True)
    case("batch_norm2d", nn.BatchNorm2d(2, eps=0.001, momentum=0.25), values(2, 2, 3, 2), train=True)
    case("batch_norm2d_plain", nn.BatchNorm2d(2, affine=False), values(2, 2, 3, 2), train=True)
    case("batch_norm2d_stateless", nn.BatchNorm2d(2, track_running_stats=False), values(2, 2, 3, 2))
    case("batch_norm3d", nn.BatchNorm3d(2), values(2, 2, 2, 3, 2))
    case("instance_norm1d", nn.InstanceNorm1d(3), values(2, 3, 5), train=True)
    case("instance_norm2d", nn.InstanceNorm2d(2, affine=True, track_running_stats=True), values(3, 2, 3, 2), train=True)
    case("instance_norm2d_eval", nn.InstanceNorm2d(2, affine=True, track_running_stats=True), values(3, 2, 3, 2))
    case("instance_norm2d_single", nn.InstanceNorm2d(2), values(2, 3, 2))
    case("instance_norm3d", nn.InstanceNorm3d(2, affine=True), values(1, 2, 2, 3, 2))
    case("layer_norm", nn.LayerNorm(5), values(3, 5))
    case("layer_norm_two", nn.LayerNorm((2, 3), bias=False), values(4, 2, 3))
    case("layer_norm_plain", nn.LayerNorm(5, eps=0.01, elementwise_affine=False), values(3, 5))
    case("group_norm", nn.GroupNorm(2, 4), values(2, 4, 3))
    case("group_norm_plain", nn.GroupNorm(2, 4, affine=False), values(2, 4, 3))
    case("rms_norm", nn.RMSNorm(5), values(3, 5))
    case("rms_norm_plain", nn.RMSNorm((5,), eps=0.01, elementwise_affine=False), values(3, 5))
    case("local_response_norm", nn.LocalResponseNorm(3, alpha=0.5), values(2, 4, 3))


def embeddings():
    case("embedding", nn.Embedding(5, 3), ints([1, 4, 1], [0, 2, 2]))
    case("embedding_padding", nn.Embedding(5, 3, padding_idx=1), ints([1, 4, 1], [0, 2, 2]))
    case("embedding_padding_last", nn.Embedding(5, 3, padding_idx=-1), ints([1, 4, 1, 0]))
    case("embedding_bag", nn.EmbeddingBag(5, 3), ints([1, 4, 1], [0, 2, 2]))
    case("embedding_bag_sum", nn.EmbeddingBag(5, 3, mode="sum"), ints([1, 4, 1, 0, 2]), ints([0, 2, 2]))
    case("embedding_bag_max", nn.EmbeddingBag(5, 3, mode="max", padding_idx=4), ints([1, 4, 0], [0, 2, 3]))


def activations():
    for name, module in (("relu", nn.ReLU()), ("relu6", nn.ReLU6()), ("selu", nn.SELU()), ("silu", nn.SiLU()), ("mish", nn.Mish()),
                         ("softsign", nn.Softsign()), ("sigmoid", nn.Sigmoid()), ("logsigmoid", nn.LogSigmoid()), ("tanh", nn.Tanh()),
                         ("tanhshrink", nn.Tanhshrink()), ("hardsigmoid", nn.Hardsigmoid()), ("hardswish", nn.Hardswish()),
                         ("leaky_relu", nn.LeakyReLU(0.25)), ("elu", nn.ELU()), ("celu", nn.CELU(2.0)), ("softshrink", nn.Softshrink()),
                         ("hardshrink", nn.Hardshrink(0.25)), ("gelu", nn.GELU()), ("gelu_tanh", nn.GELU("tanh")),
                         ("softplus", nn.Softplus(2.0)), ("hardtanh", nn.Hardtanh(-0.7, 0.9)), ("threshold", nn.Threshold(0.3, -3.0)),
                         ("rrelu", nn.RReLU())):
        case(name, module, values(2, 6, scale=2) + 1 / 32)
    case("softmax", nn.Softmax(1), values(2, 5))
    case("softmin", nn.Softmin(-1), values(2, 5))
    case("log_softmax", nn.LogSoftmax(0), values(2, 5))
    case("softmax2d", nn.Softmax2d(), values(2, 3, 2, 2))
    case("glu", nn.GLU(), values(2, 6))
    case("prelu", nn.PReLU(), values(2, 5) + 1 / 32)
    case("prelu_channels", nn.PReLU(3), values(2, 3, 2) + 1 / 32)
    case("dropout", nn.Dropout(0.1), values(3))
    case("dropout1d", nn.Dropout1d(), values(2, 3))
    case("dropout2d", nn.Dropout2d(), values(2, 3, 1, 2))
    case("dropout3d", nn.Dropout3d(), values(2, 3, 1, 1, 2))
    case("alpha_dropout", nn.AlphaDropout(), values(3))
    case("feature_alpha_dropout", nn.FeatureAlphaDropout(0.25), values(2, 3))


def pools():
    case("max_pool1d", nn.MaxPool1d(2), distinct(2, 2, 5))
    case("max_pool2d", nn.MaxPool2d(3, stride=2, padding=1), distinct(1, 2, 5, 6))
    case("max_pool2d_ceil", nn.MaxPool2d((2, 3), ceil_mode=True), distinct(1, 2, 5, 5))
    case("max_pool2d_single", nn.MaxPool2d(2, dilation=2, stride=1), distinct(2, 5, 4))
    case("max_pool3d", nn.MaxPool3d(2), distinct(1, 1, 2, 4, 3))
    case("avg_pool1d", nn.AvgPool1d(3, 1, 1), values(2, 2, 5))
    case("avg_pool2d", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), values(1, 2, 5, 6))
    case("avg_pool3d", nn.AvgPool3d(2, divisor_override=5), values(1, 1, 2, 4, 3))
    case("lp_pool1d", nn.LPPool1d(2.0, 2), probabilities(1, 2, 6))
    case("lp_pool2d", nn.LPPool2d(3.0, 2, stride=1), probabilities(1, 2, 3, 4))
    case("lp_pool3d", nn.LPPool3d(2.0, 2), probabilities(1, 1, 2, 2, 4))
    case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), values(1, 2, 7))
    case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((1, 1)), values(1, 2, 4, 3))
    case("adaptive_avg_pool3d", nn.AdaptiveAvgPool3d(2), values(1, 1, 3, 2, 4))
    case("adaptive_max_pool1d", nn.AdaptiveMaxPool1d(3), distinct(1, 2, 7))
    case("adaptive_max_pool2d", nn.AdaptiveMaxPool2d((2, 3)), distinct(2, 4, 5))
    case("adaptive_max_pool3d", nn.AdaptiveMaxPool3d(2), distinct(1, 1, 3, 2, 4))
    samples = probabilities(2, 2, 2)
    case("fractional_max_pool2d", nn.FractionalMaxPool2d((2, 3), output_size=(3, 2), _random_samples=samples), distinct(2, 2, 6, 7))
    samples = probabilities(1, 2, 3)
    case("fractional_max_pool3d", nn.FractionalMaxPool3d(2, output_ratio=0.6, _random_samples=samples), distinct(1, 2, 5, 4, 6))
    case("max_unpool1d", nn.MaxUnpool1d(2), values(1, 2, 2), ints([[0, 3], [1, 2]]).reshape(1, 2, 2))
    case("max_unpool2d", nn.MaxUnpool2d(2), values(1, 1, 2, 2), ints([[0, 3], [9, 14]]).reshape(1, 1, 2, 2))
    case("max_unpool3d", nn.MaxUnpool3d(2), values(1, 1, 1, 1, 2), ints([5, 14]).reshape(1, 1, 1, 1, 2))


def images():
    for d, shape in ((1, (1, 2, 4)), (2, (1, 1, 4, 3)), (3, (1, 1, 2, 3, 4))):
        for name, kind in (("zero", "Zero"), ("reflection", "Reflection"), ("replication", "Replication"), ("circular", "Circular")):
            case(f"{name}_pad{d}d", getattr(nn, f"{kind}Pad{d}d")(1), values(*shape))
        case(f"constant_pad{d}d", getattr(nn, f"ConstantPad{d}d")(tuple(range(2 * d)), 1.5), values(*shape))
    case("pixel_shuffle", nn.PixelShuffle(2), values(1, 4, 2, 3))
    case("pixel_unshuffle", nn.PixelUnshuffle(2), values(1, 1, 4, 2))
    case("channel_shuffle", nn.ChannelShuffle(2), values(1, 4, 1, 2))
    case("upsample", nn.Upsample(scale_factor=2.0), values(1, 1, 2, 3))
    case("upsample_bilinear", nn.Upsample(size=(3, 5), mode="bilinear"), values(1, 1, 2, 3))
    case("upsample_linear", nn.Upsample(size=5, mode="linear", align_corners=True), values(1, 2, 3))
    case("upsampling_nearest2d", nn.UpsamplingNearest2d(size=(3, 4)), values(1, 1, 2, 3))
    case("upsampling_bilinear2d", nn.UpsamplingBilinear2d(scale_factor=2.0), values(1, 1, 2, 3))
    case("unfold", nn.Unfold(2), values(1, 2, 3, 3))
    case("fold", nn.Fold((3, 3), 2, padding=0, stride=1), values(1, 4, 4))
    case("cosine_similarity", nn.CosineSimilarity(), values(3, 4), values(3, 4))
    case("pairwise_distance", nn.PairwiseDistance(keepdim=True), values(3, 4), values(3, 4))


def losses():
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0])
    for name, module in (("mse", nn.MSELoss()), ("mse_sum", nn.MSELoss(reduction="sum")), ("mse_none", nn.MSELoss(reduction="none")),
                         ("l1", nn.L1Loss()), ("huber", nn.HuberLoss(delta=0.5)), ("smooth_l1", nn.SmoothL1Loss(beta=0.5))):
        case(name, module, values(3, 4) + 1 / 32, values(3, 4))
    case("bce", nn.BCELoss(probabilities(4)), probabilities(3, 4), probabilities(3, 4))
    case("bce_with_logits", nn.BCEWithLogitsLoss(pos_weight=probabilities(4)), values(3, 4), probabilities(3, 4))
    case("kl_div", nn.KLDivLoss(reduction="batchmean"), values(3, 4), probabilities(3, 4))
    case("poisson_nll", nn.PoissonNLLLoss(), values(3, 4), probabilities(3, 4))
    case("gaussian_nll", nn.GaussianNLLLoss(full=True), values(3, 4), values(3, 4), probabilities(3, 4))
    case("margin_ranking", nn.MarginRankingLoss(0.25), values(4) + 1 / 32, values(4), sign)
    case("hinge_embedding", nn.HingeEmbeddingLoss(), values(4) + 1 / 32, sign)
    case("cosine_embedding", nn.CosineEmbeddingLoss(0.125), values(4, 3), values(4, 3), sign)
    case("triplet_margin", nn.TripletMarginLoss(swap=True), values(4, 3), values(4, 3), values(4, 3))
    case("triplet_distance", nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.5),
         values(4, 3), values(4, 3), values(4, 3))
    case("soft_margin", nn.SoftMarginLoss(), values(4), sign, fixed=(1,))
    case("multi_margin", nn.MultiMarginLoss(p=2, weight=probabilities(5)), values(3, 5), ints([1, 4, 0]))
    case("multilabel_margin", nn.MultiLabelMarginLoss(), values(2, 4) + 1 / 32, ints([1, 3, -1, 0], [0, -1, 1, 2]))
    case("multilabel_soft_margin", nn.MultiLabelSoftMarginLoss(), values(2, 4), ints([1, 0, 1, 0], [0, 1, 1, 1]).float(), fixed=(1,))
    case("nll", nn.NLLLoss(ignore_index=1), values(3, 5), ints([1, 4, 0]))
    case("cross_entropy", nn.CrossEntropyLoss(probabilities(5), label_smoothing=0.25), values(3, 5), ints([1, 4, 0]))
    case("cross_entropy_images", nn.CrossEntropyLoss(), values(2, 3, 2), ints([1, 2], [0, 0]))
    case("adaptive_softmax", nn.AdaptiveLogSoftmaxWithLoss(6, 9, [3, 5], div_value=2.0, head_bias=True), values(4, 6),
         ints([1, 4, 8, 2]))
    # What torch returns is the gradient by what log_softmax was of.
    case("ctc", nn.CTCLoss(), values(5, 2, 4), ints([1, 2], [3, 3]), ints([5, 4]), ints([2, 1]),
         prepare=lambda x: torch.log_softmax(x, -1))


def containers():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, bias=False), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Sequential(nn.Flatten(), nn.Linear(8, 3)), nn.LogSoftmax(1))
    case("sequential", net, values(3, 1, 4, 4), train=True)


for group in (shapes_and_weights, convolutions, norms, embeddings, activations, pools, images, losses, containers):
    group()
with open(OUT, "w") as f:
    f.write("\n".join(lines) + "\n")
print(sum(1 for row in lines if row.startswith("case ")), "cases,", os.path.getsize(OUT), "bytes")
