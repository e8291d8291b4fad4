"""What notes on layers, norms, stacks and networks claim."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.claims import claims, is_normal, module_of, output_of, tensor_of
from tests.core.formulas.note_cases import Case

Groups = tuple[str, ...]


@claims(r"Post-norm: .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return is_normal(output_of(case, node)[1])


@claims(r"Pre-norm: .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    # Not even their means are 0, by a little.
    return bool((output_of(case, node)[1].mean(-1).abs() > 2e-6).any())


@claims(
    r"The first layer has no norm before its attention because the embeddings end with one\. .*"
)
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    taken, _ = output_of(case, node)
    return isinstance(module_of(case, node).attn_norm, nn.Identity) and is_normal(taken)


@claims(r"Input and output have the same shape, \[S, (\d+)\], so layers can be stacked")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    taken, given = output_of(case, node)
    return taken.shape == given.shape and given.shape[-1] == int(groups[0])


@claims(r"The residual is added by the enclosing layer, not here")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module, taken = module_of(case, node), output_of(case, node)[0]
    names = ("lin2", "c_proj", "wo", "fc2", "down_proj", "Wo")
    last = next(part for name, part in module.named_children() if name in names)
    kept = [tensor.clone() for tensor in last.parameters()]
    with torch.no_grad():
        for tensor in last.parameters():
            tensor.zero_()
        nothing = not module(taken).any()
        for tensor, old in zip(last.parameters(), kept, strict=True):
            tensor.copy_(old)
    return nothing


@claims(r"Each of the (\d+) features has its own γ( and β)?, .* ([\d,]+) parameters, .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    counted = sum(tensor.numel() for tensor in module.parameters())
    shifted = getattr(module, "bias", None) is not None
    return (module.weight.numel(), counted, shifted) == (
        int(groups[0]),
        int(groups[2].replace(",", "")),
        bool(groups[1]),
    )


@claims(r"The variance is the population variance: the sum of squares is divided by (\d+), .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module, width = module_of(case, node), int(groups[0])
    x = torch.randn(1, 3, width)
    is_turned = case.family == "squeezebert" and "encoder" in node.path  # it takes [B, D, S]
    y = module(x.transpose(1, 2)).transpose(1, 2) if is_turned else module(x)
    epsilon = getattr(module, "eps", None) or module.variance_epsilon
    variance = ((x - x.mean(-1, keepdim=True)) ** 2).sum(-1, keepdim=True) / width
    right = (x - x.mean(-1, keepdim=True)) / (variance + epsilon).sqrt()
    return torch.allclose(y, right, atol=1e-5)


@claims(r"It is layer normalisation without its two shifts: .* about √(\d+)")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module, width = module_of(case, node), int(groups[0])
    y = module(torch.randn(1, 3, width))[0]
    return bool(((y.norm(dim=-1) - math.sqrt(width)).abs() < 0.01 * width).all())


@claims(r"All positions share the same ([\d,]+) learnt parameters: .* would have ([\d,]+)")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    held, other = (int(group.replace(",", "")) for group in groups)
    width = module_of(case, node).weight.numel()
    layer_norm = nn.LayerNorm(width)
    return (held, other) == (width, sum(t.numel() for t in layer_norm.parameters()))


@claims(r"The scale is 1 \+ γ: .* weights of 0, the initial values, scale by 1")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module = module_of(case, node)
    x = torch.randn(1, 2, module.weight.numel())
    rms = x / (x.pow(2).mean(-1, keepdim=True) + module.eps).sqrt()
    return not module.weight.any() and torch.allclose(module(x), rms, atol=1e-5)


@claims(
    r"A gated network( \(\w+\))?: (?:W_)?G determines how much of each of the (\d+) features of .*"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    act = next(getattr(module, name) for name in ("act_fn", "act") if hasattr(module, name))
    x = torch.linspace(-3, 3, 50)
    known: dict[str, Callable[[Tensor], Tensor]] = {
        "(SwiGLU)": nn.functional.silu,
        "(GEGLU)": nn.functional.gelu,
    }
    named = known.get((groups[0] or "").strip())
    close = [
        torch.allclose(act(x), f(x), atol=2e-3) for f in (nn.functional.silu, nn.functional.gelu)
    ]
    if named is None:
        return not any(close)
    down = tensor_of(case, node, "down_proj.weight", "wo.weight", "Wo.weight")
    assert down is not None
    return torch.allclose(act(x), named(x), atol=2e-3) and down.shape[1] == int(groups[1])


@claims(r"It has three matrices where a plain network has two, so models use a smaller .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    down = tensor_of(case, node, "down_proj.weight", "wo.weight", "Wo.weight")
    assert down is not None
    return down.shape[1] < 4 * down.shape[0]


@claims(
    r"The tensor Wi\.weight holds both: rows 0 to (\d+) compute G, rows (\d+) to (\d+) compute U"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    last, first, end = map(int, groups)
    x = torch.randn(1, 24)
    gate, up = module.Wi.weight[: last + 1], module.Wi.weight[first : end + 1]
    return torch.allclose(module(x), module.Wo(module.act(x @ gate.T) * (x @ up.T)), atol=1e-5)


@claims(r"There are (\d+) hidden states: state 0 is the input, state (\d+) .* last layer; (.*)")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    name = "layer" if hasattr(module, "layer") else "layers"
    last = len(getattr(module, name)) - 1
    states = case.hidden_states(node.path)
    layer = output_of(case, case.node(f"{node.path}.{name}.{last}".lstrip(".")))[1]
    whole = output_of(case, node)[1]
    found = [torch.equal(states[-1], one.reshape(states[-1].shape)) for one in (layer, whole)]
    words = {
        "nothing follows it": [True, True],
        "the final layer norm is included": [False, True],
        f"the final layer norm, after layer {last}, is not included": [True, False],
    }
    return (int(groups[0]), int(groups[1])) == (len(states), last + 1) and words[groups[2]] == found


@claims(r"All hidden states have the same shape, so each layer refines the same vectors")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    taken, given = output_of(case, node)
    return taken.shape == given.shape


@claims(
    r"The parameters are stored once per group .*: those of (\d+) groups? serve (\d+) applications?"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    stored = list(module_of(case, node).albert_layer_groups)
    paths = [f"{node.path}.albert_layer_groups.{group}" for group in range(len(stored))]
    calls = [call for path in paths for call in case.calls(path)]
    return (len(stored), len(calls)) == tuple(map(int, groups))


@claims(r"Every application of the group uses the same parameters")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return node.path.count("albert_layer_groups") == 1


@claims(r"The narrow embedding also saves parameters: the vocabulary table is only (\d+) wide")
def _(case: Case, _node: ModuleNode, groups: Groups) -> bool:
    config = case.model.config
    wide = {"embedding_size": config.hidden_size}
    embedding = case.model.get_submodule(case.base).embeddings.word_embeddings
    without_mapping = config.hidden_size * (config.hidden_size + 1)
    return bool(embedding.embedding_dim == int(groups[0])) and (
        case.parameters_with() < case.parameters_with(**wide) - without_mapping
    )


@claims(r"The layers are pre-norm, so a final norm (?:\((\w+)\) )?follows the last one")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    names = (groups[0],) if groups[0] else ("final_layer_norm", "norm", "layer_norm", "final_norm")
    return any(hasattr(module, name) for name in names)


@claims(r"PyTorch adds a final layer norm after each stack, which the paper does not have")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module = module_of(case, node)
    return all(isinstance(part.norm, nn.LayerNorm) for part in (module.encoder, module.decoder))
