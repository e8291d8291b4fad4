"""What is said about whole models: what positions see, how their order enters, what is pooled."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import has_windows, hides_later, rotates, sees_later
from bertviewer.core.formulas.module_view import ModuleView, reads_first
from bertviewer.core.formulas.steps.loops import folded, rounds_of
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.layers import stacks_of, uncalled
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.graph.module_graph import ModuleGraph, Step, graph_of

_IMAGE, _SOUND = "pixel values", ("input features", "input values")
_ABOUT = {
    "image": (
        "Image encoder",
        "Maps an image to one vector per patch, which depends on all others.",
    ),
    "sound": (
        "Audio encoder",
        "Maps sound to one vector per time step, which depends on the whole recording.",
    ),
    "decoder": (
        "Decoder-only model",
        "Maps a sequence of token ids to one vector per token, which depends on that token and the "
        "preceding ones.",
    ),
    "encoder": (
        "Encoder model",
        "Maps a sequence of token ids to one context-dependent vector per token.",
    ),
    "": ("Sequence model", "Maps a sequence of token ids to one vector per token."),
}
_MIXING = {
    "fourier": "There is no attention: every layer mixes the positions by a Fourier transform, "
    "which has no parameters. Each output depends on all positions.",
    "recurrence": "There is no attention: every layer carries a state from position to position, "
    "so a position depends on itself and earlier ones, and the work grows linearly with the "
    "length.",
}
_BIASES = {
    "given": "There are no position vectors: every layer is given the sines and cosines of the "
    "distances between positions, with which its attention compares the tokens.",
    "first": "There are no position vectors: the first layer’s attention holds a table of distance "
    "biases, which every layer adds to its scores.",
    "every": "There are no position vectors: every layer’s attention holds a table of distance "
    "biases, which it adds to its scores.",
}


def about(view: ModuleView) -> tuple[str, str]:
    """Return title and summary of a model, by its data and by what its positions see."""
    names = _input_names(view)
    causal, mixing = is_causal(view.architecture, view.node.path), _mixing(view)
    if _IMAGE in names:
        kind = "image"
    elif names.intersection(_SOUND):
        kind = "sound"
    elif causal or (causal is None and mixing == "recurrence"):
        kind = "decoder"
    else:
        kind = "" if causal is None and not mixing else "encoder"
    return _ABOUT[kind]


def reads_data(calls: ModuleGraph) -> bool:
    """Return whether a module reads token ids, an image or sound, not vectors."""
    return any(
        len(node.shape) != 3 or node.name in (_IMAGE, "input features")
        for node in calls.inputs
        if "mask" not in node.name
    )


def is_tower(view: ModuleView) -> bool:
    """Return whether a module is one of several stacks of a model, or all that a wrapper holds."""
    around = None if view.node.parent is None else view.at(view.node.parent)
    if around is None:
        return False
    return around.calls is None or len(stacks_of(around)) > 1 or len(around.calls.steps) == 1


def embeddings_of(view: ModuleView) -> ModuleView | None:
    """Return the child that looks tokens up for the first layer."""
    steps = () if view.calls is None else view.calls.steps
    names = [step.node.path or "" for step in steps if step.is_call]
    children = (view.at(path) for path in names if "embed" in path.rpartition(".")[2])
    return next((c for c in children if c is not None and lookups_of(c)), None)


def model_values(view: ModuleView, run: Step | None, norm: Norm | None) -> dict[str, object]:
    """Return what the notes on a model are filled with; ``run`` are its own layers."""
    lookups = lookups_of(view)
    position = next((each for each in lookups if each.kind == "position"), None)
    return {
        "position_note": position and position.counted,
        "rotated": _rotated(view),
        "bias": "" if run is None else _bias(view, run),
        "mixing": _MIXING.get(_mixing(view)),
        "uncalled": next((name for name in uncalled(view) if name.endswith("_head")), ""),
        "pooling": _pooling(view),
        "source": _source(view, norm, is_text="vocab_size" in view.config and run is None),
    }


def _input_names(view: ModuleView) -> set[str]:
    return {node.name for node in view.calls.inputs} if view.calls else set()


def _mixing(view: ModuleView) -> str:
    """Return what moves information between positions in a model without attention."""
    operations = {node.operation or "" for node in view.all_nodes()}
    if operations & {"attention", "softmax"}:
        return "attention" if "attention" in operations else ""
    if any("fft" in operation for operation in operations):
        return "fourier"
    flows = view.architecture.flows
    known = () if flows is None else flows.distinct.values()
    return "recurrence" if any(rounds_of(folded(graph_of(flow))) for flow in known) else ""


def _rotated(view: ModuleView) -> str:
    """Say that positions enter as rotations only, "" for other models."""
    inner = embeddings_of(view)
    kinds = {each.kind for each in lookups_of(view if inner is None else inner)}
    if "token" not in kinds or "position" in kinds or not rotates(view):
        return ""
    names = (node.name for node in view.architecture.children(view.node.path))
    angles = next((f", by the angles of “{name}”" for name in names if "rotary" in name), "")
    return (
        "There are no position vectors: attention rotates queries and keys according to their "
        f"positions{angles}."
    )


def _bias(view: ModuleView, run: Step) -> str:
    """Say where a table of distance biases is, as in T5, or that distances are given (XLNet)."""
    given = {} if view.calls is None else view.calls.given
    names = {given[o.node].name for o in run.operands if o.node in given}
    start = (run.node.path or "").rpartition(".")[0]
    layers = [layer for number in (0, 1) if (layer := view.at(f"{start}.{number}")) is not None]
    have = [_has_bias_table(layer) for layer in layers]
    if "sines and cosines" in names and not rotates(view):
        return _BIASES["given"]
    if have[:1] != [True]:
        return ""
    return _BIASES["every" if all(have) else "first"]


def _has_bias_table(view: ModuleView) -> bool:
    """Return whether a layer looks up a bias for every pair of positions."""
    steps = () if view.graph is None else view.graph.of("embedding")
    shapes = (step.node.shape for step in steps)
    return any(len(shape) == 3 and shape[0] == shape[1] for shape in shapes)


def direction(view: ModuleView) -> str:
    """Say what positions see, "" where attention is within windows or nothing is known."""
    if not _sees_all(view) or not (hides_later(view) or sees_later(view)):
        return ""
    if view.config.get("attention_type") == "block_sparse":
        return "In a long sequence, each position attends only to some blocks before and after it."
    near = "" if not has_windows(view) else ", in layers with a window only to the nearest"
    if hides_later(view):
        causal = "Attention is causal: each position attends only to itself and earlier positions"
        return f"{causal}{near and f'{near} of them'}."
    if near:
        return f"Every position attends in both directions{near} positions."
    return "Every position attends to the whole sequence, in both directions."


def _sees_all(view: ModuleView) -> bool:
    """Return whether attention spans all positions, not windows of an image (Swin)."""
    if _IMAGE not in _input_names(view) or view.graph is None:
        return True
    lengths = [step.node.shape[-2] for step in view.graph.steps if len(step.node.shape) == 3]
    found = [node for node in view.all_nodes() if node.operation == "attention"]
    return all(max(lengths, default=0) in node.shape for node in found)


def _pooling(view: ModuleView) -> str:
    """Say what the vector for the whole sequence is, "" for a model without one."""
    calls = view.calls
    results = () if calls is None else calls.results[:2]
    if calls is None or [len(node.shape) for node, _ in results] != [3, 2]:
        return ""
    step = calls.maker(results[1][1])
    if step is not None and step.operation == "look-up":
        return "The pooled output is the row of the end-of-text token, which sees the whole text."
    if step is not None and step.operation in ("mean", "adaptive_avg_pool1d"):
        return "The pooled output is the mean over all positions."
    child = None if step is None or not step.is_call else view.at(step.node.path or "")
    if child is None or reads_first(child):
        is_text = "vocab_size" in view.config
        return (
            f"The pooler reads only the first {'token ([CLS] in BERT)' if is_text else 'position'}."
        )
    return f"“{child.node.name}” computes one vector from those of all positions."


def _source(view: ModuleView, norm: Norm | None, *, is_text: bool) -> str:
    """Return the paper that a model's structure is from."""
    mixing = _mixing(view)
    if mixing == "fourier":
        return "Lee-Thorp et al. 2022; Devlin et al. 2019, section 3"
    if mixing == "recurrence":
        return "transformers’ code, as traced"
    if is_text:
        return "Devlin et al. 2019, section 3"
    if _IMAGE in _input_names(view):
        return "Dosovitskiy et al. 2021, section 3.1"
    if is_tower(view) and any(each.kind == "position" for each in lookups_of(view)):
        return "Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1"
    if norm is not None and norm.name == "RMS norm":
        llama, t5 = "Touvron et al. 2023, section 2.2", "Raffel et al. 2020, section 2.1"
        return llama if rotates(view) else t5
    if norm is not None and hides_later(view):
        return "Radford et al. 2019, section 2.3"
    return "Vaswani et al. 2017, section 3.1"
