"""Stacks of layers: layers of one list, applied in sequence."""

from msgspec.structs import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.text.numerals import count_text

_CALLED = {"shared": '"Group"', "stages": '"Stage"'}
_MEANINGS = {
    "shared": {"E": "output of the embeddings"},
    "group": {"l": "index of the layer in the group, counted from 0"},
}


def _gives_positions(calls: ModuleGraph, run: Step) -> bool:
    """Return whether a run's layers are given what is computed from positions, not from inputs."""
    inputs = {node.id for node in calls.inputs}
    made = (calls.sources(operand).values() for operand in run.tensors[1:])
    return any(
        any(step.node.reads for step in steps)
        and not any(o.node in inputs for step in steps for o in step.read)
        for steps in made
    )


def calls_of(run: Step) -> int:
    """Return how many layers a run applies."""
    return 0 if run.node.repeat is None else run.node.repeat.count


def _stored(run: Step) -> int:
    """Return how many layers a run has stored: fewer than it applies if they are shared."""
    return int(str(run.node.details["stored"]))


def _is_stored_group(view: ModuleView) -> bool:
    """Return whether the module is a stored group of layers that is applied several times."""
    holder = view.node.parent or ""
    around = view.at(holder.rpartition(".")[0])
    steps = () if around is None or around.calls is None else around.calls.steps
    runs = [s for s in steps if s.node.repeat and (s.node.path or "").startswith(f"{holder}.")]
    return any(_stored(run) < calls_of(run) for run in runs)


def _stack(view: ModuleView) -> Match | None:
    """Layers, stages or stored groups of layers in sequence, and what is before and after them."""
    calls = view.calls
    runs = [] if calls is None else [step for step in calls.steps if step.node.repeat]
    if calls is None or len(runs) != 1 or not calls.results:
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
    if end is None or (end is not run and not _follows(calls, run, end)):
        return None
    groups, count, kind = _stored(run), calls_of(run), "layers"
    if groups < count:
        kind = "shared"
    elif _is_stored_group(view):
        kind = "group"
    elif before is not None:
        return None
    elif end is not run:
        kind = "stage"
    elif len({each.node.shape for each in run.parts}) > 1:
        kind = "stages"
    projection = (INTO, "the projection to the hidden size")
    naming = Naming(
        results=("Y",),
        symbols={} if before is None else {(start.node, ()): "E"},
        layers={} if before is None else {before.node.id: projection},
        meanings={"Y": "output, one row per position", **_MEANINGS.get(kind, {})},
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
        "given": _gives_positions(calls, run),
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


def _follows(calls: ModuleGraph, run: Step, end: Step) -> bool:
    return end.node.kind == "module" and run in [calls.maker(operand) for operand in end.tensors]


def _narrow(view: ModuleView, before: Step | None) -> int | None:
    """Return the width of embeddings where a projection to the layers' saves parameters."""
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
        "{given?} Positions enter here: what is computed from them is given to every layer.",
        "There are {states} hidden states: state 0 is the input, state {count} the output "
        "of the last layer; {last}.",
        "All hidden states have the same shape, so each layer refines the same vectors.",
    ),
    keys=("layers",),
    source="Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3",
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
