"""What is asked of numbers: what is counted once, what counts differ by, and their units."""

from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.components import subtotal

_FLOAT32 = 4
_MB, _MIB = 10**6, 2**20


def _tied(asked: Asked) -> Numbers | None:
    architecture = asked.architecture
    tied = [t for t in architecture.parameters if t.tied_to is not None and len(t.shape) == 2]
    inside = [t for t in tied if _is_of(t.name, asked) or _is_of(t.tied_to or "", asked)]
    if not inside:
        return None
    largest = max(inside, key=lambda tensor: tensor.numel)
    every = [t for t in architecture.parameters if t.tied_to is not None]
    total = architecture.root.parameters
    names = [t.name for t in tied if t.tied_to == largest.tied_to]
    return {
        "names": f"{', '.join(names)} and {largest.tied_to}",
        "count": f"{largest.numel:,}",
        "total": f"{total:,}",
        "more": f"{total + sum(tensor.numel for tensor in every):,}",
    }


def _is_of(name: str, asked: Asked) -> bool:
    path = asked.node.path
    return not path or name.startswith(f"{path}.")


def _bytes(asked: Asked) -> Numbers | None:
    parameters = asked.architecture.root.parameters
    size = parameters * _FLOAT32
    if size < _MIB:
        return None
    return {
        "parameters": f"{parameters:,}",
        "bytes": f"{size:,}",
        "mb": number_text(size / _MB, 4),
        "mib": number_text(size / _MIB, 4),
    }


def _macs(asked: Asked) -> Numbers | None:
    activation = None if asked.run is None else asked.run.activation(asked.node.path)
    if activation is None or not activation.macs:
        return None
    return {"macs": f"{activation.macs:,}", "flops": f"{2 * activation.macs:,}"}


def _subtotal(asked: Asked) -> Numbers | None:
    found = subtotal(build_walkthrough(asked.architecture), asked.architecture)
    if found is None:
        return None
    return {
        "total": f"{found.total:,}",
        "without": f"{found.parameters:,}",
        "difference": found.difference,
    }


def _shared_layers(asked: Asked) -> Numbers | None:
    architecture = asked.architecture
    stacks = [n for n in architecture.modules if n.class_name == "AlbertTransformer"]
    times = architecture.config.get("num_hidden_layers")
    groups = architecture.config.get("num_hidden_groups")
    if not stacks or not isinstance(times, int) or not isinstance(groups, int) or groups >= times:
        return None
    inner = architecture.config.get("inner_group_num")
    if inner != 1 or asked.node.role not in ("base model", "stack"):
        return None
    layers = [
        node
        for node in architecture.modules
        if node.path.startswith(f"{stacks[0].path}.albert_layer_groups.")
        and node.class_name == "AlbertLayerGroup"
    ]
    stored = sum(layer.parameters for layer in layers)
    return {
        "stored": count_text(groups, "One layer is", "{0} layers are"),
        "times": str(times),
        "parameters": f"{stored:,}",
        "apart": f"{stored // groups * times:,}",
    }


EXPLANATIONS = (
    Explanation(
        "subtotal",
        "Why do other sources give {without} parameters?",
        "That figure covers the embeddings and layers only, as they are often counted by hand. "
        "The class opened here has further parts on top ({difference}), for a total of {total}.",
        (),
        _subtotal,
        of_model=True,
        sections=("overview", "parameters"),
    ),
    Explanation(
        "tied-weights",
        "Why are tied weights counted once?",
        "{names} are names of a single tensor with {count} elements: it is stored once and "
        "trained through all its uses, so it is counted once. Counting every name would give "
        "{more} parameters instead of {total}.",
        ("Press & Wolf 2017", "Vaswani et al. 2017"),
        _tied,
        ("language-model head", "embeddings"),
        of_model=True,
        sections=("overview", "parameters"),
    ),
    Explanation(
        "shared-layers",
        "Why does the model have so few parameters?",
        "{stored} stored and applied {times} times, each time to the previous output. This takes "
        "{parameters} parameters, whereas {times} separate layers would have {apart}.",
        ("Lan et al. 2020",),
        _shared_layers,
        ("stack",),
        of_model=True,
        sections=("overview", "parameters"),
    ),
    Explanation(
        "bytes",
        "MB or MiB: why two sizes?",
        "1 MB is 10⁶ = 1,000,000 bytes; 1 MiB is 2²⁰ = 1,048,576 bytes. In float32 each number "
        "takes 4 bytes, so {parameters} parameters take {bytes} bytes: {mb} MB or {mib} MiB.",
        ("IEC 80000-13:2008",),
        _bytes,
        of_model=True,
        sections=("memory",),
    ),
    Explanation(
        "flops",
        "Multiply-adds or FLOPs?",
        "A multiply-add is one multiplication and one addition, that is, two floating-point "
        "operations (FLOPs).",
        ("Kaplan et al. 2020",),
        _macs,
        of_model=True,
        sections=("costs",),
        measured_text="In this run, {macs} multiply-adds equal {flops} FLOPs.",
        measured=_macs,
    ),
)
"""The questions about counts, the most asked first."""
