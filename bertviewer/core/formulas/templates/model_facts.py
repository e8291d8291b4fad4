"""What is said about whole models: what positions see, how their order enters, what is pooled."""

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.facts import DATA, IMAGE, has_windows, rotates
from bertviewer.core.formulas.module_view import ModuleView, reads_first
from bertviewer.core.formulas.steps.loops import folded, rounds_of
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.layers import is_tower
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.graph.module_graph import ModuleGraph, Step, graph_of

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
MIXING = {
    "fourier": "There is no attention: every layer mixes the positions by a Fourier transform, "
    "which has no parameters. Each output depends on all positions.",
    "recurrence": "There is no attention: every layer carries a state from position to position, "
    "so a position depends on itself and earlier ones, and the work grows linearly with the "
    "length.",
}


_POOLED = {
    "look-up": "The pooled output is the row of the end-of-text token, which sees the whole text.",
    "mean": "The pooled output is the mean over all positions.",
    "adaptive_avg_pool1d": "The pooled output is the mean over all positions.",
}


def about(view: ModuleView) -> tuple[str, str]:
    """Return title and summary of a model, by its data and by what its positions see."""
    names = {node.name for node in view.calls.inputs} if view.calls else set()
    causal, mixing, kind = is_causal(view.architecture, view.node.path), mixing_of(view), "encoder"
    if names & {*DATA}:
        kind = "image" if IMAGE in names else "sound"
    elif causal or (causal is None and mixing == "recurrence"):
        kind = "decoder"
    elif causal is None and not mixing:
        kind = ""
    return _ABOUT[kind]


def reads_data(calls: ModuleGraph) -> bool:
    """Return whether a module reads token ids, an image or sound, not vectors."""
    return any(
        len(node.shape) != 3 or node.name in DATA
        for node in calls.inputs
        if "mask" not in node.name
    )


def embeddings_of(view: ModuleView) -> ModuleView | None:
    """Return the child that looks tokens up for the first layer."""
    steps = () if view.calls is None else view.calls.steps
    names = [step.node.path or "" for step in steps if step.is_call]
    children = (view.at(path) for path in names if "embed" in path.rpartition(".")[2])
    return next((c for c in children if c is not None and lookups_of(c)), None)


def mixing_of(view: ModuleView) -> str:
    """Return what moves information between positions in a model without attention."""
    operations = {node.operation or "" for node in view.all_nodes()}
    if operations & {"attention", "softmax"}:
        return "attention" if "attention" in operations else ""
    if any("fft" in operation for operation in operations):
        return "fourier"
    flows = view.architecture.flows
    known = () if flows is None else flows.distinct.values()
    return "recurrence" if any(rounds_of(folded(graph_of(flow))) for flow in known) else ""


def rotated(view: ModuleView) -> str:
    """Say that positions enter as rotations only, "" for other models."""
    kinds = lookups_of(embeddings_of(view) or view)
    if "token" not in kinds or "position" in kinds or not rotates(view):
        return ""
    angles = next(
        (f", by the angles of “{name}”" for name in view.children if "rotary" in name), ""
    )
    return (
        "There are no position vectors: attention rotates queries and keys according to their "
        f"positions{angles}."
    )


def distance_bias(view: ModuleView, run: Step) -> str:
    """Say where a table of distance biases is (T5), "" for models without one."""
    start = (run.node.path or "").rpartition(".")[0]
    layers = [layer for number in (0, 1) if (layer := view.at(f"{start}.{number}")) is not None]
    lookups = [() if each.graph is None else each.graph.of("embedding") for each in layers]
    shapes = [[step.node.shape for step in steps] for steps in lookups]
    have = [any(len(s) == 3 and s[0] == s[1] for s in each) for each in shapes]
    if have[:1] != [True]:
        return ""
    where = "every layer’s attention holds a table of distance biases, which it"
    if not all(have):
        where = "the first layer’s attention holds a table of distance biases, which every layer"
    return f"There are no position vectors: {where} adds to its scores."


def direction(view: ModuleView) -> str:
    """Say what positions see, "" where attention is within windows or nothing is known."""
    hides = is_causal(view.architecture, view.node.path)
    if hides is None or not _sees_all(view):
        return ""
    near = "" if not has_windows(view) else ", in layers with a window only to the nearest"
    if hides:
        causal = "Attention is causal: each position attends only to itself and earlier positions"
        return f"{causal}{near and f'{near} of them'}."
    if view.config.get("attention_type") == "block_sparse":
        return "In a long sequence, each position attends only to some blocks before and after it."
    if near:
        return f"Every position attends in both directions{near} positions."
    return "Every position attends to the whole sequence, in both directions."


def _sees_all(view: ModuleView) -> bool:
    """Return whether attention spans all positions, not windows of an image (Swin)."""
    if view.graph is None or IMAGE not in {node.name for node in view.graph.inputs}:
        return True
    lengths = [step.node.shape[-2] for step in view.graph.steps if len(step.node.shape) == 3]
    found = [node for node in view.all_nodes() if node.operation == "attention"]
    return all(max(lengths, default=0) in node.shape for node in found)


def pooling(view: ModuleView, step: Step) -> str:
    """Say which positions the vector for the whole sequence is computed from."""
    child = view.at(step.node.path or "") if step.is_call else None
    if child is not None and not reads_first(child):
        return f"“{child.node.name}” computes one vector from those of all positions."
    first = "token ([CLS] in BERT)" if "vocab_size" in view.config else "position"
    return _POOLED.get(step.operation, f"The pooler reads only the first {first}.")


def source_of(view: ModuleView, norm: Norm | None, mixing: str, *, is_text: bool) -> str:
    """Return the paper that a model's structure is from."""
    is_rms = norm is not None and norm.name == "RMS norm"
    hides = is_causal(view.architecture, view.node.path)
    papers = {
        "Lee-Thorp et al. 2022; Devlin et al. 2019, section 3": mixing == "fourier",
        "transformers’ code, as traced": mixing == "recurrence",
        "Devlin et al. 2019, section 3": is_text,
        "Dosovitskiy et al. 2021, section 3.1": view.calls is not None
        and any(node.name == IMAGE for node in view.calls.inputs),
        "Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1": is_tower(view)
        and "position" in lookups_of(view),
        "Touvron et al. 2023, section 2.2": is_rms and rotates(view),
        "Raffel et al. 2020, section 2.1": is_rms,
        "Radford et al. 2019, section 2.3": norm is not None and hides is True,
    }
    return next((paper for paper, holds in papers.items() if holds), _TRANSFORMER)


_TRANSFORMER = "Vaswani et al. 2017, section 3.1"
