"""Stacks of layers: layers of one list, applied in sequence."""

from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import has_positions
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

_SOURCE = "Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3"


@frozen
class Extra:
    """What every layer of a stack is given besides the hidden state.

    Attributes:
        step: what computes it, ``None`` for a table that is read where it is stored.
        symbol: its symbol.
        meaning: what it is.
        notes: further facts.
        source: the paper, "" for none.
    """

    step: Step | None
    symbol: str
    meaning: str
    notes: tuple[str, ...]
    source: str = ""


def extras_of(view: ModuleView, run: Step) -> tuple[Extra, ...]:
    """Return what every layer of a run is given that the module computes."""
    graph = view.calls
    others = run.tensors[1:] if graph is not None else ()
    found = [_extra(view, graph, operand) for operand in others if graph is not None]
    found += [_distances(None)] if _reads_outer_table(view, run) else []
    return tuple({each.symbol: each for each in reversed(found) if each is not None}.values())


def _reads_outer_table(view: ModuleView, run: Step) -> bool:
    """Return whether layers read a table of vectors that their stack stores (DeBERTa)."""
    start = f"{view.node.path}." if view.node.path else ""
    inside = f"{(run.node.path or '').rpartition('.')[0]}."
    names = [n for n in run.node.reads if n.startswith(start) and not n.startswith(inside)]
    return any(view.parameter_shape(name)[1:] == run.node.shape[-1:] for name in names)


def _distances(step: Step | None) -> Extra:
    compares = "every layer compares its tokens with the vectors of the distances between them."
    return Extra(
        step,
        "R",
        "distance vectors, for all layers",
        (
            Note(f"Positions enter here, not in the embeddings: {compares}", no(has_positions)),
            Note(f"Positions enter both here and in the embeddings: {compares}", has_positions),
        ),
        "He et al. 2021 (DeBERTa), section 3.1",
    )


def _extra(view: ModuleView, graph: ModuleGraph, operand: Operand) -> Extra | None:
    step = graph.maker(operand)
    if step is None or step.is_call:
        return None
    name = next((each for each in step.node.reads if each.endswith("weight")), "")
    shape, table = view.parameter_shape(name), name.split(".")[-2:][0]
    if step.operation != "embedding":
        is_table = any(o.parameter for o in step.operands) and len(shape) > 1
        return _distances(step) if is_table else None
    if len(step.node.shape) == 3:
        return Extra(
            step,
            "B",
            "distance bias on the scores, one per head and pair of positions",
            (
                f"The table {table}, {list(shape)}, has a row for each distance bucket and a "
                "column for each head. Its values are added to the scores of every layer.",
            ),
        )
    return Extra(
        step,
        "P",
        "sines and cosines of all positions, for all layers",
        (
            "Positions enter here, not in the embeddings: every layer’s attention rotates its "
            "queries and keys by these angles.",
        ),
        "Su et al. 2021, section 3.2",
    )


def naming_of(run: Step, extras: tuple[Extra, ...], **names: str) -> Naming:
    """Return the names of a stack's results and of what its layers are given."""
    symbols: dict[Place, str] = {
        (each.step.node.id, ()): each.symbol for each in extras if each.step is not None
    }
    meanings = {each.symbol: each.meaning for each in extras}
    functions = {run.node.id: f'"{names.get("layer", "Layer")}"'}
    return Naming(("Y",), symbols, meanings=meanings, functions=functions, teaches=True)


def _sole_run(view: ModuleView) -> tuple[ModuleGraph, Step, Step | None, Norm | None] | None:
    """Return a module's calls, its only run of layers, the layer before it and the last norm."""
    calls = view.calls
    runs = [] if calls is None else [step for step in calls.steps if step.node.repeat]
    if calls is None or len(runs) != 1 or not calls.results:
        return None
    (run,) = runs
    before, start = None, next(iter(run.tensors), Operand())
    made_by = calls.maker(start)
    if made_by is not None and made_by.operation == "linear":
        before, start = made_by, made_by.tensors[0]
    given = calls.given.get(start.node)
    if given is None or given.kind != "input" or len(given.shape) < 3:
        return None
    norm, result = None, calls.maker(calls.results[0][1])
    if is_norm(result):
        norm, result = Norm.of(result), calls.maker(result.tensors[0])
    if result is None or (result is not run and run not in _read_by(calls, result)):
        return None
    return calls, run, before, norm


def _read_by(calls: ModuleGraph, step: Step) -> list[Step | None]:
    is_child = step.node.kind == "module"
    return [calls.maker(operand) for operand in step.tensors] if is_child else []


def _stack(view: ModuleView) -> Match | None:
    """Layers in sequence, with a last norm where the module has one."""
    found = _sole_run(view)
    if found is None or _is_stored_group(view) or _is_shared(found[1]):
        return None
    calls, run, before, norm = found
    repeat = run.node.repeat
    if before is not None or repeat is None or _changes_shape(found):
        return None
    count, extras, shape = repeat.count, extras_of(view, run), run.node.shape
    given = calls.given[run.tensors[0].node].shape
    is_turned = len(shape) == 3 and shape != given and shape[1:] == given[:0:-1]
    ends_model = norm and calls.results[0][0].name == "last hidden state"
    last = "nothing follows it"
    if norm:
        place = "is included" if ends_model else f"after layer {count - 1}, is not included"
        last = f"the final {norm.name}{' ' if ends_model else ', '}{place}"
    sources = [each.source for each in extras if each.source]
    match = write(calls, view, naming_of(run, extras))
    values = {
        "summary": count_text(
            count,
            "Runs its single layer.",
            "Runs {0} layers in sequence, each with its own weights.",
        ),
        "turned": shape[1] if is_turned else None,
        "states": count + 1,
        "count": count,
        "last": last,
        "source": sources[0] if sources else _SOURCE,
    }
    return replace(match, values=values, notes=tuple(n for each in extras for n in each.notes))


def _changes_shape(found: tuple[ModuleGraph, Step, Step | None, Norm | None]) -> bool:
    """Return whether layers, or a child after them, change the length or the width."""
    calls, run, _, norm = found
    result = calls.maker(calls.results[0][1])
    result = calls.maker(result.tensors[0]) if norm and result is not None else result
    return result is not run or len({each.node.shape for each in run.parts}) > 1


def _stages(view: ModuleView) -> Match | None:
    """Stages that halve the length and widen the vectors (Swin; Liu et al. 2021, section 3.1)."""
    found = _sole_run(view)
    if found is None or found[2] is not None or not _changes_shape(found):
        return None
    calls, run, _, _ = found
    shapes = [str(list(each.node.shape[1:])) for each in run.parts]
    after = calls.maker(calls.results[0][1])
    follows = "" if after is None or after is run else after.node.name
    count = 0 if run.node.repeat is None else run.node.repeat.count
    layers = count_text(count, "Runs 1 layer", "Runs {0} layers in sequence")
    stages = f"Runs {count} stages in sequence, each with its own weights."
    changes = f"{layers}, then “{follows}”, which changes the shape for the next stage."
    values = {
        "title": "Stage" if follows else "Stack of stages",
        "summary": changes if follows else stages,
        "stage": bool(follows),
        "shapes": "" if follows else " → ".join(shapes),
    }
    layer = "Layer" if follows else "Stage"
    return replace(write(calls, view, naming_of(run, (), layer=layer)), values=values)


def _is_shared(run: Step) -> bool:
    repeat = run.node.repeat
    return repeat is not None and int(str(run.node.details["stored"])) < repeat.count


def _is_stored_group(view: ModuleView) -> bool:
    """Return whether the module is a stored group of layers that is applied several times."""
    holder = view.node.parent or ""
    around = view.at(holder.rpartition(".")[0])
    steps = () if around is None or around.calls is None else around.calls.steps
    start = f"{holder}."
    return any(
        step.node.repeat and _is_shared(step) and (step.node.path or "").startswith(start)
        for step in steps
    )


def _shared(view: ModuleView) -> Match | None:
    """Stored layers that are applied again and again (ALBERT; Lan et al. 2020, section 3.1)."""
    found = _sole_run(view)
    if found is None or not _is_shared(found[1]):
        return None
    calls, run, before, _ = found
    groups, layers = int(str(run.node.details["stored"])), calls_of(run)
    uses = count_text(layers, "1 application", "{0} applications")
    group = "0" if groups == 1 else f"floor(l dot {groups} / {layers})"
    naming = naming_of(run, (), layer="Group")
    if before is not None:
        layer = {before.node.id: (INTO, "the projection to the hidden size")}
        given: dict[Place, str] = {(before.tensors[0].node, ()): "E"}
        meanings = {"E": "output of the embeddings"}
        naming = replace(naming, layers=layer, symbols=given, meanings=meanings)
    match = write(calls, view, naming)
    affine = None if before is None else view.affine_of(before)
    words = view.config.get("vocab_size")
    is_narrow = (
        affine is not None
        and isinstance(words, int)
        and words * (affine.outputs - affine.inputs)
        > affine.outputs * (affine.inputs + affine.bias)
    )
    applies = (
        f"pplies {count_text(groups, '1 stored group', '{0} stored groups')} of layers "
        f"{count_text(layers, 'once', '{0} times in total')}."
    )
    index = Term("g(l)", "index of the stored group that is applied", f"{groups} stored")
    values = {
        "summary": f"Projects the embeddings to the hidden size, then a{applies}"
        if before
        else f"A{applies}",
        "groups": count_text(groups, "1 group", "{0} groups"),
        "uses": uses,
        "narrow": affine.inputs if affine is not None and is_narrow else None,
    }
    called = '"Group"_l (X_l)'
    maths = (m.replace(called, f'"Group"_(g(l)) (X_l), quad g(l) = {group}') for m in match.maths)
    terms = tuple(
        Term("l", "index of the group’s application, counted from 0", uses)
        if t.symbol == "l"
        else t
        for t in match.terms
    )
    return replace(match, maths=tuple(maths), terms=(*terms, index), values=values)


def calls_of(run: Step) -> int:
    """Return how many layers a run applies."""
    return 0 if run.node.repeat is None else run.node.repeat.count


def _group(view: ModuleView) -> Match | None:
    """A stored group of layers of a stack with shared layers, in order."""
    found = _sole_run(view)
    if found is None or not _is_stored_group(view):
        return None
    match = write(found[0], view, naming_of(found[1], ()))
    count = f"{calls_of(found[1])} in total"
    terms = (
        Term("l", "index of the layer in the group, counted from 0", count)
        if t.symbol == "l"
        else t
        for t in match.terms
    )
    return replace(match, terms=tuple(terms))


STACK = (
    Template(
        "stack",
        _shared,
        title="Stack with shared layers",
        summary="{summary}",
        notes=(
            "The parameters are stored once per group and reused: those of {groups} serve {uses}.",
            "The narrow embedding also saves parameters: the vocabulary table is only {narrow} "
            "wide.",
        ),
        keys=("layers", "groups", "embedding width", "width"),
        source="Lan et al. 2020, section 3.1",
    ),
    Template(
        "stack",
        _group,
        title="Group of layers",
        summary="The layers that the stack applies together, repeatedly.",
        notes=("Every application of the group uses the same parameters.",),
        keys=("groups",),
        source="Lan et al. 2020, section 3.1",
    ),
    Template(
        "stack",
        _stack,
        title="Stack of layers",
        summary="{summary}",
        notes=(
            "Convolutions need the features before the positions: the input and output of each "
            "layer have shape [{turned}, S], those of the stack [S, {turned}].",
            "There are {states} hidden states: state 0 is the input, state {count} the output of "
            "the last layer; {last}.",
            "All hidden states have the same shape, so each layer refines the same vectors.",
        ),
        keys=("layers",),
        source="{source}",
    ),
    Template(
        "stack",
        _stages,
        title="{title}",
        summary="{summary}",
        notes=(
            Note("All layers of a stage have the same shape.", "stage"),
            "The shape changes from stage to stage: {shapes}. Later stages have fewer positions "
            "and longer vectors.",
        ),
        keys=("layers",),
        source="Liu et al. 2021, section 3.1",
    ),
)
