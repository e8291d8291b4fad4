"""Stacks of layers: layers of one list, applied in sequence."""

from collections.abc import Iterator
from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import has_positions
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO, TOKENS, Affine, indices, sized
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import Parts, Run, parts_of
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

STEP = "X_(l+1)"
LAYER_TERM = Term("X_l", "hidden state l: the input of layer l, one row per position")
ENCODER = Term('X_"enc"', "the encoder’s output")
_PLACE = 'W_"pos"'
_SOURCE = "Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3"


@frozen
class Extra:
    """What every layer of a stack is given besides the hidden state.

    Attributes:
        symbol: its symbol.
        line: the line that computes it, "" if it is given.
        terms: what explains it.
        notes: further facts.
        source: the paper, "" for none.
    """

    symbol: str
    terms: tuple[Term, ...]
    line: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""


def extras_of(parts: Parts, run: Run) -> tuple[Extra, ...]:
    """Return what every layer of a run is given besides the hidden state."""
    found = [_extra(parts, operand) for operand in run.extras]
    if not any(each.symbol == "R" for each in found):
        found += _shared_tables(parts, run)
    return tuple({each.symbol: each for each in found}.values())


def _extra(parts: Parts, operand: Operand) -> Extra:
    view = parts.view
    step = parts.graph.maker(operand)
    if step is None or (len(step.node.shape) == 3 and step.operation != "embedding"):
        return Extra(ENCODER.symbol, (ENCODER,))
    names = [name for name in step.node.reads if name.endswith("weight")]
    shape = view.parameter_shape(names[0]) if names else ()
    name = names[0].rpartition(".")[0].rpartition(".")[2] if names else ""
    if step.operation == "embedding" and len(step.node.shape) == 3 and len(shape) == 2:
        return _bias_table(name, shape)
    if step.operation == "embedding" and len(shape) == 2:
        return _angles(view, name, shape)
    return _distances(view, step)


def _bias_table(name: str, shape: tuple[int, ...]) -> Extra:
    """A bias by distance, looked up once for all layers (MPNet; Song et al. 2020)."""
    rows, heads = shape
    return Extra(
        "B",
        (Term("B", "distance bias on the scores, one per head and pair of positions"),),
        notes=(
            f"The table {name}, [{rows}, {heads}], has a row for each distance bucket and a "
            "column for each head. Its values are added to the scores of every layer.",
        ),
    )


def _angles(view: ModuleView, name: str, shape: tuple[int, ...]) -> Extra:
    """One table of sines and cosines for all layers (RoFormer; Su et al. 2021, section 3.2)."""
    rows, size = shape
    return Extra(
        "P",
        (
            Term("P", "sines and cosines of all positions, for all layers", f"[S, {size}]"),
            Term('W_"pos"', "fixed, not learnt: one row per position", f"[{rows}, {size}]"),
        ),
        f"{sized('P', 'S', size)} = {sized(_PLACE, rows, size)}[0, dots, S - 1]",
        (
            "Positions enter here, not in the embeddings: every layer’s attention rotates its "
            "queries and keys by these angles.",
        ),
        "Su et al. 2021, section 3.2",
    )


def _shared_tables(parts: Parts, run: Run) -> Iterator[Extra]:
    """Yield a table of distances that is read by the layers but stored outside of them."""
    view = parts.view
    start = f"{view.node.path}." if view.node.path else ""
    inside = f"{run.path}."
    for name in run.parts[0].steps[0].node.reads:
        if name.startswith(start) and not name.startswith(inside):
            shape = view.parameter_shape(name)
            if len(shape) == 2 and shape[1] == run.last.node.shape[-1]:
                yield _distance_table(shape, None)


def _distances(view: ModuleView, step: Step) -> Extra:
    norm = Norm.of(step) if is_norm(step) else None
    return _distance_table(step.node.shape[-2:], norm)


def _distance_table(shape: tuple[int, ...], norm: Norm | None) -> Extra:
    """One table of distances for all layers (DeBERTa; He et al. 2021, section 3.1)."""
    rows, width = shape
    table = sized('W_"rel"', rows, width)
    compares = "every layer compares its tokens with the vectors of the distances between them."
    return Extra(
        "R",
        (
            Term("R", "distance vectors, for all layers", f"[{rows}, {width}]"),
            Term(
                'W_"rel"', "learnt: one row per distance or distance bucket", f"[{rows}, {width}]"
            ),
        ),
        f"R = {norm.operator}({table})" if norm else f"R = {table}",
        (
            Note(f"Positions enter here, not in the embeddings: {compares}", no(has_positions)),
            Note(f"Positions enter both here and in the embeddings: {compares}", has_positions),
        ),
        "He et al. 2021 (DeBERTa), section 3.1",
    )


def is_transposed(parts: Parts, run: Run) -> bool:
    """Return whether layers have the features before the positions, unlike the stack's input."""
    given = parts.graph.given.get(run.start.node)
    shape = run.last.node.shape
    return (
        given is not None
        and len(shape) == 3
        and shape != given.shape
        and shape[1:] == given.shape[:0:-1]
    )


def layers_line(run: Run, extras: tuple[Extra, ...], name: str = "Layer") -> str:
    """Return the line that applies a run's layers."""
    more = "".join(f", {each.symbol}" for each in extras)
    return f'{STEP} = "{name}"_l (X_l{more}), quad l = {indices(run.count)}'


def layers_term(run: Run, name: str = "layer") -> Term:
    """Return the term that says how many layers there are."""
    return Term(
        "l",
        f"index of the {name}, counted from 0",
        count_text(run.count, f"1 {name}", f"{{0}} {name}s"),
    )


@frozen
class _Stack:
    """A stack's graph: what precedes its layers, the layers, and what follows."""

    parts: Parts
    run: Run
    before: Affine | None
    norm: Norm | None
    follows: str


def _read(view: ModuleView) -> _Stack | None:
    parts = parts_of(view)
    if parts is None or len(parts.runs) != 1 or not parts.graph.results:
        return None
    run, graph = parts.runs[0], parts.graph
    if len(run.parts) > 1 and any(len(part.steps) > 1 for part in run.parts):
        return None  # the sub-layers of one layer
    before, start = None, graph.maker(run.start)
    if start is not None and start.operation == "linear":
        before = view.affine_of(start)
        start = graph.maker(start.tensors[0])
    given = graph.given.get(run.start.node)
    if start is not None or (before is None and (given is None or given.kind != "input")):
        return None
    if before is None and given is not None and len(given.shape) < 3:
        return None
    norm, follows = None, ""
    result = graph.maker(graph.results[0][1])
    if result is not None and is_norm(result) and result.node.id != run.last.node.id:
        norm, result = Norm.of(result), graph.maker(result.tensors[0])
    if result is None or result.node.id != run.last.node.id:
        part = None if result is None else parts.by_step[result.node.id]
        reads = part is not None and run.last.node.id in {o.node for _, o in part.inputs}
        if part is None or not reads or part.path == view.node.path:
            return None
        follows = part.name
    return _Stack(parts, run, before, norm, follows)


def _stack(view: ModuleView) -> Formula | None:
    """Layers in sequence, with a last norm where the module has one."""
    found = _read(view)
    if found is None:
        return None
    if found.run.stored < found.run.count:
        return _shared(view, found)
    if _is_shared(view):
        return _group(view, found)
    if found.before is not None:
        return None
    if found.follows or _changes_shape(found):
        return _stages(view, found)
    run, norm = found.run, found.norm
    extras = extras_of(found.parts, run)
    count = run.count
    result = f"{norm.operator}(X_{count})" if norm else f"X_{count}"
    shape = run.last.node.shape
    is_turned = is_transposed(found.parts, run)
    line = layers_line(run, extras)
    notes = [note for each in extras for note in each.notes]
    width = shape[1] if is_turned else shape[-1]
    if is_turned:
        line = line.replace(f"{STEP} = ", f"{STEP}^top = ").replace("(X_l", "(X_l^top")
        notes.insert(
            0,
            "Convolutions need the features before the positions: the input and output of each "
            f"layer have shape [{width}, S], those of the stack [S, {width}].",
        )
    last = "nothing follows it"
    if norm and found.parts.graph.results[0][0].name == "last hidden state":
        last = f"the final {norm.name} is included"
    elif norm:
        last = f"the final {norm.name}, after layer {count - 1}, is not included"
    sources = [each.source for each in extras if each.source]
    return Formula(
        title="Stack of layers",
        summary=count_text(
            count,
            "Runs its single layer.",
            "Runs {0} layers in sequence, each with its own weights.",
        ),
        maths=(
            *(each.line for each in extras if each.line),
            line,
            f"{sized('Y', 'S', width)} = {result}",
        ),
        terms=(
            TOKENS,
            LAYER_TERM,
            layers_term(run),
            *(term for each in extras for term in each.terms),
        ),
        notes=(
            *notes,
            f"There are {count + 1} hidden states: state 0 is the input, state {count} the "
            f"output of the last layer; {last}.",
            "All hidden states have the same shape, so each layer refines the same vectors.",
        ),
        config_keys=view.keys("layers"),
        source=sources[0] if sources else _SOURCE,
    )


def _changes_shape(found: _Stack) -> bool:
    shapes = {part.last.node.shape for part in found.run.parts}
    return len(shapes) > 1


def _stages(view: ModuleView, found: _Stack) -> Formula | None:
    """Stages that halve the length and widen the vectors (Swin; Liu et al. 2021, section 3.1)."""
    run, steps = found.run, formula_of_steps(view)
    if steps is None:
        return None
    if found.follows:
        title = "Stage"
        summary = (
            count_text(run.count, "Runs 1 layer", "Runs {0} layers in sequence")
            + f", then “{found.follows}”, which changes the shape for the next stage."
        )
        notes = ("All layers of a stage have the same shape.",)
    else:
        title = "Stack of stages"
        summary = f"Runs {run.count} stages in sequence, each with its own weights."
        shapes = " → ".join(str(list(part.last.node.shape[1:])) for part in run.parts)
        notes = (
            f"The shape changes from stage to stage: {shapes}. Later stages have fewer positions "
            "and longer vectors.",
        )
    return replace(
        steps,
        title=title,
        summary=summary,
        notes=(*notes, *steps.notes),
        config_keys=view.keys("layers"),
    )


def _is_shared(view: ModuleView) -> bool:
    """Return whether the module is a stored group of layers that is applied several times."""
    held = view.node.parent or ""
    around = view.at(held.rpartition(".")[0])
    parts = None if around is None else parts_of(around)
    runs = () if parts is None else parts.runs
    return any(run.path == held and run.stored < run.count for run in runs)


def _shared(view: ModuleView, found: _Stack) -> Formula:
    """Stored layers that are applied again and again (ALBERT; Lan et al. 2020, section 3.1)."""
    run, before = found.run, found.before
    groups, layers = run.stored, run.count
    uses = count_text(layers, "1 application", "{0} applications")
    group = "0" if groups == 1 else f"floor(l dot {groups} / {layers})"
    applies = (
        f"pplies {count_text(groups, '1 stored group', '{0} stored groups')} of layers "
        f"{count_text(layers, 'once', '{0} times in total')}."
    )
    maths = [
        f'{STEP} = "Group"_(g(l)) (X_l), quad g(l) = {group}, quad l = {indices(layers)}',
        f"Y = X_{layers}",
    ]
    terms: list[Term] = [TOKENS]
    if before is not None:
        embedded = before.maths(sized("E", "S", before.inputs), INTO)
        maths.insert(0, f"{sized('X_0', 'S', before.outputs)} = {embedded}")
        terms.append(Term("E", "output of the embeddings", f"[S, {before.inputs}]"))
        terms += before.terms("the projection to the hidden size", INTO)
    return Formula(
        title="Stack with shared layers",
        summary=f"Projects the embeddings to the hidden size, then a{applies}"
        if before
        else f"A{applies}",
        maths=tuple(maths),
        terms=(
            *terms,
            LAYER_TERM,
            Term("l", "index of the group’s application, counted from 0", uses),
            Term("g(l)", "index of the stored group that is applied", f"{groups} stored"),
        ),
        notes=(
            "The parameters are stored once per group and reused: those of "
            f"{count_text(groups, '1 group', '{0} groups')} serve {uses}.",
            *_narrow_notes(view, before),
        ),
        config_keys=view.keys("layers", "groups", "embedding width", "width"),
        source="Lan et al. 2020, section 3.1",
    )


def _narrow_notes(view: ModuleView, before: Affine | None) -> tuple[str, ...]:
    """Say that a narrow table saves parameters, where it saves more than the mapping costs."""
    words = view.config.get("vocab_size")
    if before is None or not isinstance(words, int):
        return ()
    cost = before.outputs * (before.inputs + before.bias)
    if words * (before.outputs - before.inputs) <= cost:
        return ()
    return (
        "The narrow embedding also saves parameters: the vocabulary table is only "
        f"{before.inputs} wide.",
    )


def _group(view: ModuleView, found: _Stack) -> Formula:
    """A stored group of layers of a stack with shared layers, in order."""
    count = found.run.count
    return Formula(
        title="Group of layers",
        summary="The layers that the stack applies together, repeatedly.",
        maths=(layers_line(found.run, ()), f"Y = X_{count}"),
        terms=(
            LAYER_TERM,
            Term("l", "index of the layer in the group, counted from 0", f"{count} in total"),
        ),
        notes=("Every application of the group uses the same parameters.",),
        config_keys=view.keys("groups"),
        source="Lan et al. 2020, section 3.1",
    )


STACK = Template("stack", _stack)
