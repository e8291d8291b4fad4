"""What notes on layers, norms, feed-forward networks and convolutions claim."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from tests.core.formulas.claims import Note, claim, claims, is_normal
from tests.core.formulas.note_cases import TOKENS

DOWN = ("down_proj.weight", "wo.weight", "Wo.weight")
ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "(SwiGLU)": nn.functional.silu,
    "(GEGLU)": nn.functional.gelu,
}

claim(lambda it: is_normal(it.output), r"Post-norm: .*")
claim(
    # Not even the means are 0.
    lambda it: bool((it.output.mean(-1).abs() > 2e-6).any()),
    r"Pre-norm: .*",
)
claim(
    lambda it: isinstance(it.module.attn_norm, nn.Identity) and is_normal(it.input),
    r"The first layer has no norm before its attention because the embeddings end with one\. .*",
)
claim(
    lambda it: it.input.shape == it.output.shape and it.output.shape[-1:] == it.numbers,
    r"Input and output have the same shape, \[S, (\d+)\], so layers can be stacked",
)
claim(
    lambda it: it.input.shape == it.output.shape,
    r"All hidden states have the same shape, so each layer refines the same vectors",
)


@claims(r"The residual is added by the enclosing layer, not here")
def _(it: Note) -> bool:
    names = ("lin2", "c_proj", "wo", "fc2", "down_proj", "Wo")
    last = next(part for name, part in it.module.named_children() if name in names)
    kept = [tensor.clone() for tensor in last.parameters()]
    with torch.no_grad():
        for tensor in last.parameters():
            tensor.zero_()
        is_zero = not it.module(it.input).any()
        for tensor, old in zip(last.parameters(), kept, strict=True):
            tensor.copy_(old)
    return is_zero


claim(
    lambda it: (
        (it.module.weight.numel(), sum(tensor.numel() for tensor in it.module.parameters()))
        == it.numbers
        and (getattr(it.module, "bias", None) is not None) is bool(it.groups[1])
    ),
    r"Each of the (\d+) features has its own γ( and β)?, .* ([\d,]+) parameters, .*",
)


@claims(r"The variance is the population variance: the sum of squares is divided by (\d+), .*")
def _(it: Note) -> bool:
    (width,) = it.numbers
    x = torch.randn(1, 3, width)
    is_transposed = it.case.family == "squeezebert" and "encoder" in it.node.path  # [B, D, S]
    y = it.module(x.transpose(1, 2)).transpose(1, 2) if is_transposed else it.module(x)
    epsilon = getattr(it.module, "eps", None) or it.module.variance_epsilon
    deviations = x - x.mean(-1, keepdim=True)
    variance = (deviations**2).sum(-1, keepdim=True) / width
    return torch.allclose(y, deviations / (variance + epsilon).sqrt(), atol=1e-5)


@claims(r"It is layer normalisation without its two shifts: .* about √(\d+)")
def _(it: Note) -> bool:
    (width,) = it.numbers
    lengths = it.module(torch.randn(1, 3, width))[0].norm(dim=-1)
    return bool(((lengths - math.sqrt(width)).abs() < 0.01 * width).all())


claim(
    lambda it: it.numbers == (it.module.weight.numel(), 2 * it.module.weight.numel()),
    r"All positions share the same ([\d,]+) learnt parameters: .* would have ([\d,]+)",
)


@claims(r"The scale is 1 \+ γ: .* weights of 0, the initial values, scale by 1")
def _(it: Note) -> bool:
    x = torch.randn(1, 2, it.module.weight.numel())
    rms = x / (x.pow(2).mean(-1, keepdim=True) + it.module.eps).sqrt()
    return not it.module.weight.any() and torch.allclose(it.module(x), rms, atol=1e-5)


@claims(
    r"A gated network( \(\w+\))?: (?:W_)?G determines how much of each of the (\d+) features of .*"
)
def _(it: Note) -> bool:
    act = next(getattr(it.module, name) for name in ("act_fn", "act") if hasattr(it.module, name))
    x, down = torch.linspace(-3, 3, 50), it.tensor(*DOWN)
    name = (it.groups[0] or "").strip()
    if name not in ACTIVATIONS:
        known = ACTIVATIONS.values()
        return not any(torch.allclose(act(x), function(x), atol=2e-3) for function in known)
    assert down is not None
    is_named = torch.allclose(act(x), ACTIVATIONS[name](x), atol=2e-3)
    return is_named and down.shape[1] == it.numbers[0]


@claims(r"It has three matrices where a plain network has two, so models use a smaller .*")
def _(it: Note) -> bool:
    down = it.tensor(*DOWN)
    assert down is not None
    return down.shape[1] < 4 * down.shape[0]


@claims(
    r"The tensor Wi\.weight holds both: rows 0 to (\d+) compute G, rows (\d+) to (\d+) compute U"
)
def _(it: Note) -> bool:
    last, first, end = it.numbers
    module, x = it.module, torch.randn(1, 24)
    gate, up = module.Wi.weight[: last + 1], module.Wi.weight[first : end + 1]
    return torch.allclose(module(x), module.Wo(module.act(x @ gate.T) * (x @ up.T)), atol=1e-5)


@claims(r"Convolutions need the features .* \[(\d+), S\], those of the stack \[S, (\d+)\]")
def _(it: Note) -> bool:
    width = it.config.hidden_size
    shapes = {call.first_output.shape for call in it.case.calls(f"{it.node.path}.layers.0")}
    return it.numbers == (width, width) and shapes <= {(1, width, TOKENS)}


@claims(
    r"It is equivalent to a linear layer"
    r"(?: with a block-diagonal matrix of (\d+) blocks: (\d+) times fewer weights and products)?"
)
def _(it: Note) -> bool:
    module = it.module
    if {*it.numbers} not in (set(), {module.groups}):
        return False
    vectors = torch.randn(1, module.in_channels, 4)
    parts = vectors.transpose(1, 2).chunk(module.groups, -1)
    blocks = module.weight[..., 0].chunk(module.groups)
    products = [part @ block.T for part, block in zip(parts, blocks, strict=True)]
    expected = torch.cat(products, -1) + module.bias
    weights = module.weight.numel() * module.groups
    return weights == module.out_channels * module.in_channels and torch.allclose(
        module(vectors), expected.transpose(1, 2), atol=1e-5
    )


claim(
    lambda it: it.numbers == (it.module.groups,),
    r"The features are divided into (\d+) groups; .*",
)
