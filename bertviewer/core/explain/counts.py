"""Questions about numbers: shared parameters, differing counts, and units."""

from bertviewer.core.analysis.layers import layer_stacks
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import subtotal

_FLOAT32 = 4
_MB, _MIB = 10**6, 2**20


def _tied(context: Context) -> Numbers | None:
    tied = [tensor for tensor in context.architecture.parameters if tensor.tied_to is not None]
    matrices = [tensor for tensor in tied if len(tensor.shape) == 2]
    path = context.node.path
    inside = f"{path}." if path else ""
    below = [
        tensor
        for tensor in matrices
        if tensor.name.startswith(inside) or (tensor.tied_to or "").startswith(inside)
    ]
    if not below:
        return None
    largest = max(below, key=lambda tensor: tensor.numel)
    total = context.architecture.root.parameters
    names = [tensor.name for tensor in matrices if tensor.tied_to == largest.tied_to]
    return {
        "names": f"{', '.join(names)} and {largest.tied_to}",
        "count": f"{largest.numel:,}",
        "total": f"{total:,}",
        "more": f"{total + sum(tensor.numel for tensor in tied):,}",
    }


def _bytes(context: Context) -> Numbers | None:
    parameters = context.architecture.root.parameters
    size = parameters * _FLOAT32
    if size < _MIB:
        return None
    return {
        "parameters": f"{parameters:,}",
        "bytes": f"{size:,}",
        "mb": number_text(size / _MB, 4),
        "mib": number_text(size / _MIB, 4),
    }


def _macs(context: Context) -> Numbers | None:
    macs = None if context.activation is None else context.activation.macs
    return {"macs": f"{macs:,}", "flops": f"{2 * macs:,}"} if macs else None


def _subtotal(context: Context) -> Numbers | None:
    found = subtotal(build_walkthrough(context.architecture), context.architecture)
    if found is None:
        return None
    return {
        "total": f"{found.total:,}",
        "without": f"{found.parameters:,}",
        "difference": found.difference,
    }


def _shared_layers(context: Context) -> Numbers | None:
    config = context.architecture.config
    times, groups = config.get("num_hidden_layers"), config.get("num_hidden_groups")
    if not isinstance(times, int) or not isinstance(groups, int) or groups >= times:
        return None
    inside = f"{context.node.path}." if context.node.path else ""
    stacks = (s for s in layer_stacks(context.architecture) if s[0].path.startswith(inside))
    stack = next((stack for stack in stacks if len(stack) == groups), None)
    if stack is None or config.get("inner_group_num") != 1:
        return None
    stored = sum(layer.parameters for layer in stack)
    return {
        "stored": count_text(groups, "1 layer is", "{0} layers are"),
        "times": str(times),
        "parameters": f"{stored:,}",
        "apart": f"{stored // groups * times:,}",
    }


EXPLANATIONS = (
    Explanation(
        "subtotal",
        "Why might another count give {without} parameters?",
        "It may include the embeddings and the layers only. The class opened here has further "
        "parts ({difference}), for a total of {total}.",
        "",
        _subtotal,
        of_model=True,
        section="overview",
    ),
    Explanation(
        "tied-weights",
        "Why are tied weights counted once?",
        "The names {names} belong to a single tensor with {count} elements. It is stored once, "
        "and all its uses train it. If every name were counted, the model would have {more} "
        "parameters instead of {total}.",
        "Press & Wolf 2017; Vaswani et al. 2017, section 3.4",
        _tied,
        ("language-model head", "embeddings"),
        of_model=True,
        section="parameters",
    ),
    Explanation(
        "shared-layers",
        "Why does a model of {times} layers have so few parameters?",
        "{stored} stored, and {times} are computed with the same weights, each from the previous "
        "output. The stored weights have {parameters} parameters; {times} separate layers would "
        "have {apart}.",
        "Lan et al. 2020, section 3.1",
        _shared_layers,
        ("stack",),
        of_model=True,
        section="parameters",
    ),
    Explanation(
        "bytes",
        "MB or MiB: why two sizes?",
        "1 MB is 10⁶ bytes, and 1 MiB is 2²⁰ = 1,048,576 bytes. In float32, {parameters} "
        "parameters take {bytes} bytes: {mb} MB or {mib} MiB.",
        "IEC 80000-13:2025",
        _bytes,
        of_model=True,
        section="memory",
    ),
    Explanation(
        "flops",
        "Multiply-adds or FLOPs?",
        "A multiply-add is one multiplication and one addition, that is, two floating-point "
        "operations (FLOPs).",
        "Kaplan et al. 2020, section 2.1",
        _macs,
        of_model=True,
        measured_text="In this run, {macs} multiply-adds equal {flops} FLOPs.",
    ),
)
