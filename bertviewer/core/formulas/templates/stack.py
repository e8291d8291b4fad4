"""Stacks of layers: which modules apply layers, and layers of one list applied in sequence."""

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.formulas.embedding import index_kind
from bertviewer.core.formulas.formula import GROUP, Term
from bertviewer.core.formulas.module_view import ModuleView, has_positions, rotates
from bertviewer.core.formulas.norm import Norm, is_norm
from bertviewer.core.formulas.steps.graph_analysis import OperandKey
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template, first_true
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand
from bertviewer.core.util.numbers import count_text

_IN_LAYERS = ("residual", "attention")


def layer_runs(view: ModuleView) -> tuple[Step, ...]:
    """Return the runs of layers in a module's own code, one step for each list."""
    return tuple(step for step in view.calls.steps if _is_of_layers(view, step))


def _is_of_layers(view: ModuleView, step: Step) -> bool:
    """Return whether a run consists of whole layers."""
    path = step.path
    if step.node.repeat is None:
        return False
    below = (n.path for n in view.architecture.modules if f"{n.path}.".startswith(f"{path}."))
    known = (flow for each in below if (flow := view.flows.flow(each)) is not None)
    return any(node.operation in _IN_LAYERS for flow in known for node in flow.all_nodes())


def stacks_of(view: ModuleView) -> tuple[Step, ...]:
    """Return the calls of children that apply layers."""
    steps = view.calls.steps
    children = (s for s in steps if s.is_call and s.node.repeat is None and s.node.path)
    return tuple(step for step in children if has_layers(view.at(step.path)))


def has_layers(view: ModuleView | None) -> bool:
    """Return whether a module applies layers, itself or in a child."""
    if view is None:
        return False
    if not view.calls.steps:  # not called itself
        return any(has_layers(view.at(child.path)) for child in view.children.values())
    return bool(layer_runs(view) or stacks_of(view))


def is_tower(view: ModuleView) -> bool:
    """Return whether a module is one of several stacks, or the only content of a wrapper."""
    around = None if view.node.parent is None else view.at(view.node.parent)
    if around is None:
        return False
    return len(around.calls.steps) < 2 or len(stacks_of(around)) > 1


def uncalled(view: ModuleView) -> list[str]:
    """Return the children with parameters that are not called."""
    called = [f"{path}." for path in (*view.flows.distinct, *view.flows.like)]
    return [
        name
        for name, child in view.children.items()
        if child.parameters and not any(path.startswith(f"{child.path}.") for path in called)
    ]


_CALLED = {"shared": '"Group"', "stages": '"Stage"'}
_MEANINGS = {
    "shared": {"E": "output of the embeddings"},
    "group": {"l": "index of the layer in the group, counted from 0"},
}


class PositionInput(Struct, frozen=True):
    """An input of all layers that is computed from positions.

    Attributes:
        note: its use, "" if there is none.
        symbol: its symbol, "" for the usual one.
        meaning: of the symbol.
        paper: the source.
        step: that computes it, ``None`` if it is stored.
    """

    note: str = ""
    symbol: str = ""
    meaning: str = ""
    paper: str = "Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3"
    step: Step | None = None


_POSITION_INPUTS = {
    "biases": PositionInput(
        "The table {table} has a row for each distance bucket and a column for each head. Its "
        "values are added to the scores of every layer.",
        symbol="B",
        meaning="distance bias on the scores, one per head and pair of positions",
    ),
    "angles": PositionInput(
        "Positions enter here, not in the embeddings: every layer’s attention rotates its queries "
        "and keys by these angles.",
        symbol="Theta",
        meaning="sines and cosines of all positions, for all layers",
        paper="Su et al. 2021, section 3.2",
    ),
    "distances": PositionInput(
        "Positions enter {where} the embeddings: every layer compares its tokens with the vectors "
        "of the distances between them.",
        symbol="R",
        meaning="one vector for each distance, for all layers",
        paper="He et al. 2021 (DeBERTa), section 3.1",
    ),
    "sines": PositionInput(
        "There are no position vectors: every layer is given the sines and cosines of the "
        "distances between positions, with which its attention compares the tokens."
    ),
    "other": PositionInput(
        "Positions enter here: every layer receives what is computed from them."
    ),
    "": PositionInput(),
}
"""By the use of positions."""


def position_input(run: Step, calls: ModuleGraph, view: ModuleView) -> PositionInput:
    """Return the input of all layers of a run that is computed from positions."""
    made = _from_positions(run, calls, view)
    constants = [calls.given[o.node].name for o in run.operands if o.node in calls.given]
    tables = [step for step in made if step.operation == "embedding"]
    shapes = [step.node.shape for step in tables]
    inside = [part for layer in run.parts for part in layer.parts]  # of a single layer
    vectors = [run, *inside, *(step for step in made if step not in tables)]
    widths = [view.parameter_shape(name)[1:] for name in _stored_by(view, run, *vectors)]
    kinds = {
        "biases": any(len(shape) == 3 and shape[0] == shape[1] for shape in shapes),
        "angles": bool(tables) and rotates(view),
        "distances": run.node.shape[-1:] in widths,
        "sines": "sines and cosines" in constants and not rotates(view),
        "other": bool(made),
    }
    found = _POSITION_INPUTS[first_true(kinds)]
    name = next((name for step in tables for name in step.node.reads), "")
    table = name.removesuffix(".weight").rpartition(".")[2]
    values = {
        "where": "both here and in" if has_positions(view) else "here, not in",
        "table": f"{table}, {list(view.parameter_shape(name))},",
    }
    note, step = found.note.format_map(values), next(iter(tables or made), None)
    return replace(found, note=note, step=step)


def _from_positions(run: Step, calls: ModuleGraph, view: ModuleView) -> list[Step]:
    """Return the steps that compute inputs of layers from positions only."""
    inputs, found = {node.id for node in calls.inputs}, list[Step]()
    for operand in run.tensors[1:]:
        step, steps = calls.maker(operand), calls.sources(operand).values()
        reads_input = any(o.node in inputs for each in steps for o in each.read)
        is_table = step is not None and step.operation == "embedding"
        if step is None or reads_input or not _stored_by(view, run, *steps):
            continue
        if not is_table or index_kind(step, view) == "position":
            found.append(step)
    return found


def _stored_by(view: ModuleView, run: Step, *steps: Step) -> list[str]:
    """Return the parameters of steps that are in the stack, but not in its layers."""
    start = f"{view.node.path}." if view.node.path else ""
    inside = f"{(run.node.path or '').rpartition('.')[0]}."
    names = [name for step in steps for name in step.node.reads]
    return [name for name in names if name.startswith(start) and not name.startswith(inside)]


def layer_count(run: Step) -> int:
    """Return the number of layers that a run applies."""
    return 0 if run.node.repeat is None else run.node.repeat.count


def _stored_count(run: Step) -> int:
    """Return the number of stored layers of a run, fewer than it applies if shared."""
    return int(str(run.node.details["stored"]))


def _is_reused_group(view: ModuleView) -> bool:
    """Return whether the module is a group of layers that is applied several times."""
    holder = view.node.parent or ""
    around = view.at(holder.rpartition(".")[0])
    steps = () if around is None else around.calls.steps
    runs = [s for s in steps if s.node.repeat and s.path.startswith(f"{holder}.")]
    return any(_stored_count(run) < layer_count(run) for run in runs)


def _stack(view: ModuleView) -> Match | None:
    """Layers, stages or groups of layers in sequence, with a projection and a norm."""
    calls = view.calls
    runs = [step for step in calls.steps if step.node.repeat]
    if len(runs) != 1 or not calls.results:
        return None
    (run,) = runs
    start = next(iter(run.tensors), Operand())
    before = calls.maker(start)
    if before is not None and before.operation == "linear":
        start = before.tensors[0]
    given, end = calls.given.get(start.node), calls.maker(calls.results[0][1])
    if given is None or given.kind != "input" or len(given.shape) < 3:
        return None
    norm = Norm.of(end) if is_norm(end) else None
    end = calls.maker(end.tensors[0]) if end is not None and norm else end
    follows = end is not None and end.node.kind == "module" and run in map(calls.maker, end.tensors)
    if end is None or (end is not run and not follows):
        return None
    groups, count, kind = _stored_count(run), layer_count(run), "layers"
    if groups < count:
        kind = "shared"
    elif _is_reused_group(view):
        kind = "group"
    elif before is not None:
        return None
    elif end is not run:
        kind = "stage"
    elif len({each.node.shape for each in run.parts}) > 1:
        kind = "stages"
    symbols: dict[OperandKey, str] = {} if before is None else {(start.node, ()): "E"}
    meanings = {"Y": "output, one row per position", **_MEANINGS.get(kind, {})}
    positions = position_input(run, calls, view)
    if positions.symbol and positions.step is not None:
        symbols[positions.step.node.id, ()] = positions.symbol
        meanings[positions.symbol] = positions.meaning
    projection = ('"in"', "the projection to the hidden size")
    naming = Naming(
        results=("Y",),
        symbols=symbols,
        layers={} if before is None else {before.node.id: projection},
        meanings=meanings,
        functions={run.node.id: _CALLED.get(kind, '"Layer"')},
    )
    ends_model = calls.results[0][0].name == "last hidden state"
    place = " is included" if ends_model else f", after layer {count - 1}, is not included"
    values = {
        "layers": count_text(count, "1 layer", "{0} layers"),
        "runs": f"Runs {count} layers in sequence, each with its own weights"
        if count > 1
        else "Runs its single layer",
        "after": end.node.name,
        "projects": "Projects the embeddings to the hidden size, then applies"
        if before
        else "Applies",
        "stored": count_text(groups, "1 stored group", "{0} stored groups"),
        "times": count_text(count, "once", "{0} times in total"),
        "groups": count_text(groups, "1 group", "{0} groups"),
        "uses": count_text(count, "1 application", "{0} applications"),
        "narrow": _narrow(view, before),
        "given": positions.note,
        "paper": positions.paper,
        "turned": _channels_first_width(calls.inputs[0].shape, run.node.shape),
        "states": count + 1,
        "end": count if count > 1 else None,
        "single": count == 1,
        "count": count,
        "last": f"the final {norm.name}{place}" if norm else "no norm follows it",
        "shapes": " → ".join(str(list(each.node.shape[1:])) for each in run.parts),
    }
    match = replace(write(calls, view, naming), values=values, case=kind)
    if kind != "shared":
        return match
    group = "0" if groups == 1 else f"floor(l dot {groups} / {count})"
    called = f'"Group"_({GROUP}(l)) (X_l), quad {GROUP}(l) = {group}'
    maths = (line.replace('"Group"_l (X_l)', called) for line in match.maths)
    terms = (
        *(term for term in match.terms if term.symbol != "l"),
        Term("l", "index of the group’s application, counted from 0", str(values["uses"])),
        Term(GROUP, "index of the stored group that is applied", f"{groups} stored"),
    )
    return replace(match, maths=tuple(maths), terms=terms)


def _channels_first_width(given: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """Return the number of features of layers with [B, features, S], else ``None``."""
    is_channels_first = len(shape) == 3 and shape != given and shape[1:] == given[:0:-1]
    return shape[1] if is_channels_first else None


def _narrow(view: ModuleView, before: Step | None) -> int | None:
    """Return the width of embeddings if their projection saves parameters."""
    affine, words = before and view.affine_of(before), view.config.get("vocab_size")
    if not affine or not isinstance(words, int):
        return None
    saved = words * (affine.outputs - affine.inputs)
    needed = affine.outputs * (affine.inputs + affine.bias)
    return affine.inputs if saved > needed else None


STACK = Template(
    "stack",
    _stack,
    title="Stack of layers",
    summary="{runs}.",
    notes=(
        "{given}",
        "Convolutions need the features before the positions: the input and output of each layer "
        "have shape [{turned}, S], those of the stack [S, {turned}].",
        "There are {states} hidden states: hidden_states[0] is the input, hidden_states[1] the "
        "output of layer 0, hidden_states[{end}] the output of the last layer; {last}.",
        "{single?} There are 2 hidden states: hidden_states[0] is the input, hidden_states[1] the "
        "output of layer 0; {last}.",
        "All hidden states have the same shape, so each layer refines the same vectors.",
    ),
    keys=("layers",),
    source="{paper}",
    cases={
        "shared": Template(
            title="Stack with shared layers",
            summary="{projects} {stored} of layers {times}.",
            notes=(
                "The parameters are stored once per group and reused: those of {groups} serve "
                "{uses}.",
                "The narrow embedding also saves parameters: the vocabulary table is only "
                "{narrow} wide.",
            ),
            keys=("layers", "groups", "embedding width", "width"),
            source="Lan et al. 2020, section 3.1",
        ),
        "group": Template(
            title="Group of layers",
            summary="The layers that the stack applies together, repeatedly.",
            notes=("Every application of the group uses the same parameters.",),
            keys=("groups",),
            source="Lan et al. 2020, section 3.1",
        ),
        "stage": Template(
            title="Stage",
            summary="Runs {layers} in sequence, then “{after}”, which changes the shape for the "
            "next stage.",
            notes=("All layers of a stage have the same shape.",),
            source="Liu et al. 2021, section 3.1",
        ),
        "stages": Template(
            title="Stack of stages",
            summary="Runs {count} stages in sequence, each with its own weights.",
            notes=(
                "The shape changes from stage to stage: {shapes}. Later stages have fewer "
                "positions and longer vectors.",
            ),
            source="Liu et al. 2021, section 3.1",
        ),
    },
)
