"""What is said about a whole model: what positions see, how order enters, what is pooled."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import (
    has_two_kinds_of_layers,
    has_windows,
    hides_later,
    rotates,
    sees_later,
)
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.loops import folded
from bertviewer.core.formulas.templates.head import is_first, reads_first
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import Parts, Run, layered, parts_of
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.formulas.templates.start import (
    Start,
    title_case,
)
from bertviewer.core.formulas.templates.vector_sum import VectorSum, position_note, read_sum

_DIRECTION = (
    Note(
        "Attention is causal: each position attends only to itself and earlier positions.",
        lambda view: hides_later(view) and not has_windows(view),
    ),
    Note(
        "Attention is causal: each position attends only to itself and earlier positions, in "
        "layers with a window only to the nearest of them.",
        lambda view: hides_later(view) and has_windows(view),
    ),
    Note(
        "Every position attends to the whole sequence, in both directions.",
        lambda view: sees_later(view) and not has_windows(view),
    ),
    Note(
        "Every position attends in both directions, in layers with a window only to the nearest "
        "positions.",
        lambda view: sees_later(view) and has_windows(view),
    ),
)

KINDS_OF_LAYERS = Note(
    "Some layers attend to the whole sequence, the others to a window around each "
    "position; the configuration key layer_types lists which.",
    has_two_kinds_of_layers,
)


_FIRST_TOKEN = "The pooler reads only the first token ([CLS] in BERT)."


def texts(view: ModuleView, parts: Parts) -> tuple[str, str]:
    """Return title and summary of a model of one stack, by what its positions see."""
    causal = is_causal(view.architecture, view.node.path)
    names = {node.name for node in parts.graph.inputs}
    if "pixel values" in names:
        return (
            "Image encoder",
            "Maps an image to one vector per patch, which depends on all others.",
        )
    if names & {"input features", "input values"}:
        return "Audio encoder", (
            "Maps sound to one vector per time step, which depends on the whole recording."
        )
    mixing = mixing_of(view)
    if causal or (causal is None and mixing == "recurrence"):
        return "Decoder-only model", (
            "Maps a sequence of token ids to one vector per token, which depends on that token and "
            "the preceding ones."
        )
    if causal is None and not mixing:
        return "Sequence model", "Maps a sequence of token ids to one vector per token."
    return "Encoder model", (
        "Maps a sequence of token ids to one context-dependent vector per token."
    )


def mixing_of(view: ModuleView) -> str:
    """Return what moves information between positions in a model without attention."""
    flows = view.architecture.flows
    known = () if flows is None else tuple(flows.distinct.values())
    operations = {node.operation or "" for flow in known for node in flow.all_nodes()}
    if operations & {"attention", "softmax"}:
        return "attention" if "attention" in operations else ""
    if any("fft" in operation for operation in operations):
        return "fourier"
    return "recurrence" if any(folded(graph_of(flow)).rounds for flow in known) else ""


def mixing_notes(view: ModuleView) -> tuple[str, ...]:
    """Return the note on what mixes positions in a model without attention."""
    return {
        "fourier": (
            "There is no attention: every layer mixes the positions by a Fourier transform, which "
            "has no parameters. Each output depends on all positions.",
        ),
        "recurrence": (
            "There is no attention: every layer carries a state from position to position, so a "
            "position depends on itself and earlier ones, and the work grows linearly with the "
            "length.",
        ),
    }.get(mixing_of(view), ())


def position_notes(view: ModuleView, start: Start) -> tuple[str, ...]:
    """Return how positions enter a model."""
    vectors = start.vectors
    if vectors is None and start.embeddings is not None:
        child = view.at(start.embeddings.path)
        graph = None if child is None else child.graph
        if child is not None and graph is not None:
            vectors = read_sum(child, graph.results[0][1])
    learnt = None if vectors is None else vectors.of("position")
    if learnt is not None:
        return (position_note(learnt),) if start.vectors else ()
    notes = []
    if vectors is not None and vectors.of("sinusoids"):
        return ()
    if vectors is not None and rotates(view):
        angles = next(
            (
                node.name
                for node in view.architecture.children(view.node.path)
                if "rotary" in node.name
            ),
            "",
        )
        by = f", by the angles of “{angles}”" if angles else ""
        notes.append(
            "There are no position vectors: attention rotates queries and keys according to their "
            f"positions{by}."
        )
    return tuple(notes)


def bias_notes(parts: Parts, run: Run) -> tuple[str, ...]:
    """Say where a table of distance biases is, as in T5, or that distances are given (XLNet)."""
    given = parts.graph.given
    names = {given[o.node].name for _, o in run.parts[0].inputs if o.node in given}
    if "sines and cosines" in names and not rotates(parts.view):
        return (
            "There are no position vectors: every layer is given the sines and cosines of the "
            "distances between positions, with which its attention compares the tokens.",
        )
    first = parts.view.at(run.parts[0].path)
    if first is None or first.graph is None:
        return ()
    if not _has_bias_table(first):
        return ()
    start = "There are no position vectors: "
    later = parts.view.at(f"{run.path}.1")
    if later is not None and not _has_bias_table(later):
        return (
            f"{start}the first layer’s attention holds a table of distance biases, which every "
            "layer adds to its scores.",
        )
    return (
        f"{start}every layer’s attention holds a table of distance biases, which it adds to its "
        "scores.",
    )


def _has_bias_table(view: ModuleView) -> bool:
    """Return whether a layer looks up a bias for every pair of positions."""
    graph = view.graph
    return graph is not None and any(
        len(step.node.shape) == 3 and step.node.shape[0] == step.node.shape[1]
        for step in graph.of("embedding")
    )


def pre_norm_note(parts: Parts, run: Run, norm: Norm | None) -> tuple[str, ...]:
    """Say why a norm follows the last layer, if the layers are pre-norm."""
    layer = parts.view.at(run.parts[-1].path)
    path = None if layer is None else residual_path(layer)
    if norm is None or path is None or path.branches[-1].before is None:
        return ()
    name = next((part.name for part in reversed(parts.parts) if is_norm(part.last)), "norm")
    named = "" if "norm" in name else f" ({name})"
    return (f"The layers are pre-norm, so a final norm{named} follows the last one.",)


def tower_summary(vectors: VectorSum, norm: Norm | None) -> str:
    """Return the summary of an encoder or decoder that looks tokens up itself."""
    if len(vectors.lookups) == 1:
        end = " and normalises the result" if norm else ""
        return f"Looks up token vectors, applies the layers in sequence{end}."
    added = "adds and normalises them" if vectors.norm else "adds them"
    return f"Looks up token and position vectors, {added}, and applies the layers in sequence."


def source_of(view: ModuleView, start: Start, norm: Norm | None) -> str:
    """Return the paper that a model's structure is from."""
    mixing = mixing_of(view)
    if mixing == "fourier":
        return "Lee-Thorp et al. 2022; Devlin et al. 2019, section 3"
    if mixing == "recurrence":
        return "transformers’ code, as traced"
    if view.graph is not None and any(n.name == "pixel values" for n in view.graph.inputs):
        return "Dosovitskiy et al. 2021, section 3.1"
    if start.vectors is not None and start.vectors.of("position") and is_tower(view):
        return "Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1"
    if norm is not None and norm.name == "RMS norm":
        return (
            "Touvron et al. 2023, section 2.2"
            if rotates(view)
            else "Raffel et al. 2020, section 2.1"
        )
    if norm is not None and hides_later(view):
        return "Radford et al. 2019, section 2.3"
    return "Vaswani et al. 2017, section 3.1"


def is_tower(view: ModuleView) -> bool:
    """Return whether a module is one of several stacks of a model, or all that a wrapper holds."""
    around = None if view.node.parent is None else view.at(view.node.parent)
    if around is None:
        return False
    parts = parts_of(around)
    if parts is None:
        return True
    return len(layered(parts)) > 1 or len(parts.parts) == 1


def uncalled_notes(view: ModuleView, parts: Parts) -> tuple[str, ...]:
    """Say that a head inside of a base model is not called in a forward pass (ESM)."""
    flows = view.architecture.flows
    if flows is None:
        return ()
    called = {*flows.distinct, *flows.like}
    heads = [
        name
        for name, node in view.children.items()
        if name.endswith("_head") and node.parameters and node.path not in called
    ]
    return tuple(f"“{name}” is not part of a normal forward pass." for name in heads)


def direction_notes(view: ModuleView, parts: Parts) -> tuple[str, ...]:
    """Return the notes on what positions see, of which the true one is kept."""
    return _DIRECTION if _sees_all(view, parts) else ()


def _sees_all(view: ModuleView, parts: Parts) -> bool:
    """Return whether attention spans all positions, not windows of an image (Swin)."""
    if "pixel values" not in {node.name for node in parts.graph.inputs}:
        return True
    flows = view.architecture.flows
    lengths = [step.node.shape[-2] for step in parts.graph.steps if len(step.node.shape) == 3]
    known = () if flows is None else flows.distinct.values()
    found = [n for flow in known for n in flow.all_nodes() if n.operation == "attention"]
    return all(max(lengths, default=0) in node.shape for node in found)


def seen_in_words(view: ModuleView, parts: Parts) -> str:
    """Return what a position of the sequence sees, in words."""
    if not _sees_all(view, parts):
        return ""
    causal = is_causal(view.architecture, view.node.path)
    if causal is None:
        return ""
    if causal:
        return ". It is a decoder: each position attends only to itself and earlier positions"
    if view.config.get("attention_type") == "block_sparse":
        return "; in a long sequence, each position attends only to some blocks before and after it"
    return "; every position attends to the whole sequence, in both directions"


def pooled(parts: Parts, line: str) -> tuple[tuple[str, ...], tuple[Term, ...], tuple[str, ...]]:
    """Return the line of the hidden state with the pooler's, its terms and notes."""
    graph, view = parts.graph, parts.view
    hidden = graph.results[0][1].node
    others = [operand for node, operand in graph.results[1:] if len(node.shape) == 2]
    if not others:
        return (line,), (), ()
    last = parts.maker(others[0])
    if last is None:
        return (line,), (), ()
    is_text = "vocab_size" in view.config
    first_term = Term("y_0", f"row of Y of the first {'token' if is_text else 'position'}")
    first_note = _FIRST_TOKEN if is_text else "The pooler reads only the first position."
    vector = Term("p", "pooled output: one vector for the whole sequence")
    step = last.last
    reads_hidden = hidden in {operand.node for _, operand in last.inputs}
    if step.operation == "activation" and not reads_hidden:
        linear = graph.maker(step.tensors[0])
        layer = None if linear is None else view.affine_of(linear)
        if layer is None or linear is None or not is_first(linear.tensors[0].parts):
            return (line,), (), ()
        name = str(step.node.details.get("activation"))
        inner = layer.maths("y_0", sizes=False)
        return (line, f"p = {name}({inner})"), (first_term, vector), (first_note,)
    if not reads_hidden:
        return (line,), (), ()
    if step.operation == "look-up":
        end = Term("y_e", "row of Y of the end-of-text token")
        note = "The pooled output is the row of the end-of-text token, which sees the whole text."
        return (line, "p = y_e"), (end, vector), (note,)
    if step.operation in ("mean", "adaptive_avg_pool1d"):
        mean = Term("y_s", "row s of Y")
        return (
            (line, 'p = op("mean")_s y_s'),
            (mean, vector),
            ("The pooled output is the mean over all positions.",),
        )
    child = view.at(last.path) if last.path != view.node.path else None
    name = title_case(last.name)
    if child is not None and reads_first(child):
        return (line, f'p = "{name}"(y_0)'), (first_term, vector), (first_note,)
    return (
        (line, f'p = "{name}"(Y)'),
        (vector,),
        (f"“{last.name}” computes one vector from those of all positions.",),
    )
