"""Modules that turn token ids into vectors, and the tables in which they look rows up."""

from dataclasses import replace

from bertviewer.core.formulas.facts import drops_out, rotates
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.templates.embedding import index_kind
from bertviewer.core.formulas.templates.norm import NORMS, Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text


@frozen
class Lookup:
    """A table in which a module looks rows up.

    Attributes:
        kind: what the index is: ``token``, ``segment``, ``position``, "" for others.
        rows: how many rows the table has.
        width: the size of a row.
        name: the table's module.
        first: the row of the first position.
        padding: the padding row if positions are counted after it, as in RoBERTa.
    """

    kind: str
    rows: int
    width: int
    name: str
    first: int = 0
    padding: int | None = None


def lookups_of(view: ModuleView) -> tuple[Lookup, ...]:
    """Return the tables in which a module's own code looks rows up, of each kind the first."""
    steps = () if view.calls is None else view.calls.steps
    found = [each for step in steps if (each := read_lookup(view, step)) is not None]
    return tuple({each.kind or each.name: each for each in reversed(found)}.values())[::-1]


def read_lookup(view: ModuleView, step: Step) -> Lookup | None:
    """Return the table that a step looks rows up in, also times a constant."""
    table = view if step.node.path in (None, view.node.path) else view.at(step.node.path or "")
    names = [name for name in step.node.reads if name.endswith("weight")]
    shape = view.parameter_shape(names[0]) if len(names) == 1 else ()
    if table is None or step.operation not in ("embedding", "look-up") or len(shape) != 2:
        return None
    kind, name = index_kind(step, view), names[0].rpartition(".")[0].rpartition(".")[2]
    tensor = view.tensor(names[0])
    if kind != "position" or tensor is None or not tensor.trainable:
        return Lookup(kind, *shape, name)
    padding, offset = table.integer("padding_idx"), table.integer("offset")
    return Lookup(kind, *shape, name, offset or 0, None if offset else padding)


def position_note(found: Lookup) -> str:
    """Return the note on how positions are counted."""
    rows, padding = found.rows, found.padding
    if padding is not None:
        return (
            f"Positions are counted from padding_idx + 1 = {padding + 1}, after the padding row "
            f"{padding}: of the {rows} rows, {rows - padding - 1} can be used for tokens. "
            f"Padding tokens use row {padding} and are not counted, so a token’s position does not "
            "depend on the amount of padding before it."
        )
    if found.first:
        return (
            f"Positions are counted from {found.first}: the first {found.first} rows of the "
            f"position table are never read, so {rows - found.first} of its {rows} rows can be "
            "used for tokens."
        )
    return f"The position table has {rows} rows, which is the maximum sequence length."


_SIMPLE = (
    *("embedding", "look-up", "index_select", "add", "residual", "mul", "div", "cat", "pad"),
    *("linear", "masked_fill", *NORMS),
)


def _embeddings(view: ModuleView) -> Match | None:
    """Rows of tables for each token, combined (Devlin et al. 2019, section 3)."""
    graph, calls = view.graph, view.calls
    if graph is None or calls is None or len(graph.steps) < 2 or len(graph.results) != 1:
        return None
    tables = [(read_lookup(view, step), step) for step in graph.steps]
    lookups = lookups_of(view)
    kinds = {each.kind: each for each in lookups}
    others = [step for table, step in tables if table is None]
    is_simple = all(step.operation in _SIMPLE for step in others)
    if "token" not in kinds or not is_simple or len(graph.results[0][0].shape) != 3:
        return None
    position, segment = kinds.get("position"), kinds.get("segment")
    norm = next((Norm.of(step) for step in graph.steps if is_norm(step)), None)
    masked = any("mask" in n.name and n.kind != "constant" for n in graph.given.values())
    rescales = any(step.operation == "masked_fill" for step in others)
    values = {
        "looked_up": _listed(lookups, others),
        "adds": _combines(lookups, others, norm),
        "sums": len(lookups) > 1 and all(step.operation != "cat" for step in others),
        "single": len(lookups) == 1 and not position,
        "segments": segment is not None and segment.rows > 1,
        "one_segment": segment is not None and segment.rows == 1,
        "no_segments": position is not None and segment is None,
        "position_note": position and position_note(position),
        "rescales": rescales,
        "masks": masked and others[-1].operation == "mul",
        "norm": norm and norm.name,
    }
    chosen = [*(["positions"] if position else []), *(["token types"] if segment else [])]
    meanings = {"T": "where mask tokens are", "c": "fraction of the tokens that are not masked"}
    naming = Naming(meanings=meanings if rescales else {}, teaches=True)
    written = write(graph, view, naming)
    return replace(written, values=values, keys=view.keys(*chosen))


def _listed(lookups: tuple[Lookup, ...], others: list[Step]) -> str:
    """Return what vectors are looked up for, in words."""
    if len(lookups) == 1 and not any(step.operation in ("add", "residual") for step in others):
        return "a vector for each token"
    kinds = [each.kind for each in lookups]
    listed = ["the token"]
    listed += ["its position"] if "position" in kinds or len(lookups) == 1 else []
    listed += ["its segment"] if "segment" in kinds else []
    if more := kinds.count(""):
        listed.append(count_text(more, "another property", "{0} other properties"))
    return f"one vector each for {', '.join(listed[:-1])} and {listed[-1]}"


def _combines(lookups: tuple[Lookup, ...], others: list[Step], norm: Norm | None) -> str:
    """Return what is done to the vectors, in words."""
    operations = {step.operation for step in others}
    if not operations & {"add", "residual", "cat"}:
        return " and normalises it" if norm else ""
    if "cat" in operations:
        return " and combines them"
    return ", adds them and normalises the sum" if norm else " and adds them"


_EMBEDDINGS = Template(
    "embeddings",
    _embeddings,
    title="Embeddings",
    summary="Maps token ids to vectors: looks up {looked_up}{adds}.",
    notes=(
        Note("The vectors are added, not concatenated, so their size stays the same.", "sums"),
        "Square brackets denote the lookup of a table row; the tables are learnt.",
        Note(
            "With a single sentence every g is 0, so the same segment vector is added at every "
            "position.",
            "segments",
        ),
        Note(
            "There is only one segment, so the same vector is added at every position; two "
            "sentences are distinguished by the separator.",
            "one_segment",
        ),
        "{position_note}",
        Note(
            "This model has no segments: two sentences are distinguished by the separator.",
            "no_segments",
        ),
        Note(
            "There are no position vectors and no segments: attention rotates queries and keys "
            "according to their positions instead.",
            lambda view: rotates(view) and len(lookups_of(view)) == 1,
        ),
        Note(
            "A masked token gives a row of zeros. In training, 15% of the tokens were chosen and "
            "80% of those masked, which made the sums smaller; the factor compensates for this.",
            "rescales",
        ),
        Note("Padding tokens give rows of zeros.", "masks"),
        Note(
            "Dropout follows the {norm} during training; in evaluation mode it has no effect.",
            drops_out,
        ),
    ),
    keys=(
        *("vocabulary", "embedding width", "width", "padding", "embedding scale", "epsilon"),
        *("dropout", "embedding dropout"),
    ),
    source="Devlin et al. 2019, section 3 and figure 2",
)
EMBEDDINGS = (_EMBEDDINGS,)
