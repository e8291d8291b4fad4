"""Stacks of layers: layers of one list, applied in sequence."""

from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import has_positions
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.text.numerals import count_text

_SOURCE = "Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3"
_CALLED = {"shared": "Group", "stages": "Stage"}
_MEANINGS = {
    "shared": {"E": "output of the embeddings"},
    "group": {"l": "index of the layer in the group, counted from 0"},
}
_EXTRAS = {
    "R": ("distance vectors, for all layers", "He et al. 2021 (DeBERTa), section 3.1"),
    "B": ("distance bias on the scores, one per head and pair of positions", ""),
    "P": ("sines and cosines of all positions, for all layers", "Su et al. 2021, section 3.2"),
}
"""What every layer of a stack is given besides the hidden state: meaning and paper by symbol."""
EXTRA_NOTES = (
    "Positions enter {distances}: every layer compares its tokens with the vectors of the "
    "distances between them.",
    "The table {table} has a row for each distance bucket and a column for each head. Its values "
    "are added to the scores of every layer.",
    Note(
        "Positions enter here, not in the embeddings: every layer’s attention rotates its queries "
        "and keys by these angles.",
        "P",
    ),
)


def extras_of(
    view: ModuleView, run: Step | None
) -> tuple[dict[Place, str], dict[str, str], dict[str, object]]:
    """Return what every layer of a run is given that the module computes.

    The symbols of the steps that compute it, their meanings, and values for the notes and source.
    """
    if run is None:
        return {}, {}, {}
    steps = [] if view.calls is None else [view.calls.maker(o) for o in run.tensors[1:]]
    found = {symbol: s for s in steps[::-1] if s is not None and (symbol := _extra(view, s))}
    has_distances = "R" in found or _reads_outer_table(view, run)
    enter = "both here and in" if has_positions(view) else "here, not in"
    tables = [n for n in found["B"].node.reads if n.endswith("weight")] if "B" in found else []
    named = [f"{n.split('.')[-2]}, {list(view.parameter_shape(n))}," for n in tables]
    papers = [_EXTRAS[symbol][1] for symbol in (*found, *"R" * has_distances)]
    values: dict[str, object] = {
        "distances": f"{enter} the embeddings" if has_distances else "",
        "table": "".join(named[:1]),
        "P": "P" in found,
        "paper": "".join(papers[:1]),
    }
    symbols: dict[Place, str] = {(step.node.id, ()): symbol for symbol, step in found.items()}
    return symbols, {symbol: _EXTRAS[symbol][0] for symbol in found}, values


def _extra(view: ModuleView, step: Step) -> str:
    """Return the symbol of what a step computes for all layers, "" for what is not known."""
    name = next((each for each in step.node.reads if each.endswith("weight")), "")
    if step.is_call:
        return ""
    if step.operation == "embedding":
        return "B" if len(step.node.shape) == 3 else "P"
    has_table = any(o.parameter for o in step.operands) and len(view.parameter_shape(name)) > 1
    return "R" if has_table else ""


def _reads_outer_table(view: ModuleView, run: Step) -> bool:
    """Return whether layers read a table of vectors that their stack stores (DeBERTa)."""
    start = f"{view.node.path}." if view.node.path else ""
    inside = f"{(run.node.path or '').rpartition('.')[0]}."
    names = [n for n in run.node.reads if n.startswith(start) and not n.startswith(inside)]
    return any(view.parameter_shape(name)[1:] == run.node.shape[-1:] for name in names)


def calls_of(run: Step) -> int:
    """Return how many layers a run applies."""
    return 0 if run.node.repeat is None else run.node.repeat.count


def _stored(run: Step) -> int:
    """Return how many layers a run has stored: fewer than it applies if they are shared."""
    return int(str(run.node.details["stored"]))


_Run = tuple[ModuleGraph, Step, Step | None, Norm | None, Step]
"""A module's graph, its layers, a linear layer before them, its last norm, and what ends before."""


def _sole_run(view: ModuleView) -> _Run | None:
    calls = view.calls
    runs = [] if calls is None else [step for step in calls.steps if step.node.repeat]
    if calls is None or len(runs) != 1 or not calls.results:
        return None
    (run,) = runs
    start = next(iter(run.tensors), Operand())
    before = calls.maker(start)
    before = before if before is not None and before.operation == "linear" else None
    given = calls.given.get((start if before is None else before.tensors[0]).node)
    if given is None or given.kind != "input" or len(given.shape) < 3:
        return None
    norm, end = None, calls.maker(calls.results[0][1])
    if is_norm(end):
        norm, end = Norm.of(end), calls.maker(end.tensors[0])
    if end is None or (
        end is not run and (end.node.kind != "module" or run not in _read(calls, end))
    ):
        return None
    return calls, run, before, norm, end


def _read(calls: ModuleGraph, step: Step) -> list[Step | None]:
    return [calls.maker(operand) for operand in step.tensors]


def _is_stored_group(view: ModuleView) -> bool:
    """Return whether the module is a stored group of layers that is applied several times."""
    holder = view.node.parent or ""
    around = view.at(holder.rpartition(".")[0])
    steps = () if around is None or around.calls is None else around.calls.steps
    runs = [s for s in steps if s.node.repeat and (s.node.path or "").startswith(f"{holder}.")]
    return any(_stored(run) < calls_of(run) for run in runs)


def _kind(view: ModuleView, found: _Run) -> str:
    """Return which template a run of layers has, "" for none."""
    _, run, before, _, end = found
    if _stored(run) < calls_of(run):
        return "shared"
    if _is_stored_group(view):
        return "group"
    if end is not run or before is not None:
        return "stage" if before is None else ""
    return "stages" if len({each.node.shape for each in run.parts}) > 1 else "layers"


def _stack(view: ModuleView) -> Match | None:
    """Layers, stages or stored groups of layers in sequence, and what is before and after them."""
    found = _sole_run(view)
    kind = "" if found is None else _kind(view, found)
    if found is None or not kind:
        return None
    calls, run, before, norm, end = found
    groups, count = _stored(run), calls_of(run)
    symbols, meanings, values = extras_of(view, run)
    if before is not None:
        symbols[before.tensors[0].node, ()] = "E"
    projection = (INTO, "the projection to the hidden size")
    naming = Naming(
        results=("Y",),
        symbols=symbols,
        layers={} if before is None else {before.node.id: projection},
        meanings={"Y": "output, one row per position", **_MEANINGS.get(kind, {}), **meanings},
        functions={run.node.id: f'"{_CALLED.get(kind, "Layer")}"'},
        teaches=True,
    )
    ends_model = calls.results[0][0].name == "last hidden state"
    place = " is included" if ends_model else f", after layer {count - 1}, is not included"
    values |= {
        "paper": values["paper"] or _SOURCE,
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
        "turned": _turned(calls.inputs[0].shape, run.node.shape),
        "states": count + 1,
        "count": count,
        "last": f"the final {norm.name}{place}" if norm else "nothing follows it",
        "shapes": " → ".join(str(list(each.node.shape[1:])) for each in run.parts),
    }
    match = replace(write(calls, view, naming), values=values, case=kind)
    if kind != "shared":
        return match
    group = "0" if groups == 1 else f"floor(l dot {groups} / {count})"
    called = f'"Group"_(g(l)) (X_l), quad g(l) = {group}'
    maths = (line.replace('"Group"_l (X_l)', called) for line in match.maths)
    terms = (
        *(term for term in match.terms if term.symbol != "l"),
        Term("l", "index of the group’s application, counted from 0", str(values["uses"])),
        Term("g(l)", "index of the stored group that is applied", f"{groups} stored"),
    )
    return replace(match, maths=tuple(maths), terms=terms)


def _turned(given: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """Return how many features layers have that take them before the positions."""
    is_turned = len(shape) == 3 and shape != given and shape[1:] == given[:0:-1]
    return shape[1] if is_turned else None


def _narrow(view: ModuleView, before: Step | None) -> int | None:
    """Return the width of embeddings where a projection to the layers' saves parameters."""
    affine, words = before and view.affine_of(before), view.config.get("vocab_size")
    if not affine or not isinstance(words, int):
        return None
    saved = words * (affine.outputs - affine.inputs)
    needed = affine.outputs * (affine.inputs + affine.bias)
    return affine.inputs if saved > needed else None


_CASES = {
    kind: Template("stack", lambda _: None, *texts)
    for kind, *texts in (
        (
            *("shared", "Stack with shared layers", "{projects} {stored} of layers {times}."),
            (
                "The parameters are stored once per group and reused: those of {groups} serve "
                "{uses}.",
                "The narrow embedding also saves parameters: the vocabulary table is only "
                "{narrow} wide.",
            ),
            ("layers", "groups", "embedding width", "width"),
            "Lan et al. 2020, section 3.1",
        ),
        (
            *("group", "Group of layers"),
            "The layers that the stack applies together, repeatedly.",
            ("Every application of the group uses the same parameters.",),
            ("groups",),
            "Lan et al. 2020, section 3.1",
        ),
        (
            *("layers", "Stack of layers", "{runs}."),
            (
                *EXTRA_NOTES,
                "Convolutions need the features before the positions: the input and output of "
                "each layer have shape [{turned}, S], those of the stack [S, {turned}].",
                "There are {states} hidden states: state 0 is the input, state {count} the output "
                "of the last layer; {last}.",
                "All hidden states have the same shape, so each layer refines the same vectors.",
            ),
            ("layers",),
            "{paper}",
        ),
        (
            *("stage", "Stage"),
            "Runs {layers} in sequence, then “{after}”, which changes the shape for the next "
            "stage.",
            ("All layers of a stage have the same shape.",),
            ("layers",),
            "Liu et al. 2021, section 3.1",
        ),
        (
            *("stages", "Stack of stages"),
            "Runs {count} stages in sequence, each with its own weights.",
            (
                "The shape changes from stage to stage: {shapes}. Later stages have fewer "
                "positions and longer vectors.",
            ),
            ("layers",),
            "Liu et al. 2021, section 3.1",
        ),
    )
}
STACK = Template(match=_stack, cases=_CASES)
