"""Modules that turn token ids into vectors, and the tables in which they look rows up."""

from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from bertviewer.core.formulas.facts import drops_out, rotates
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.templates.embedding import index_kind
from bertviewer.core.formulas.templates.norm import NORMS, Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.util.numbers import count_text

_KINDS = frozenset(("token", "segment", "position"))


def lookups_of(view: ModuleView) -> dict[str, tuple[int, str]]:
    """Return the tables in which a module's own code looks rows up, of each kind the first.

    By what the index is, ``token``, ``segment`` or ``position``, for other tables by name: how many
    rows there are, and how positions are counted, as a sentence.
    """
    found: dict[str, tuple[int, str]] = {}
    for step in () if view.calls is None else view.calls.steps:
        if (each := _lookup(view, step)) is not None:
            found.setdefault(each[0], each[1:])
    return found


def _lookup(view: ModuleView, step: Step) -> tuple[str, int, str] | None:
    """Return kind or name, rows and counting of the table that a step looks rows up in."""
    table = view if step.node.path in (None, view.node.path) else view.at(step.node.path or "")
    names = [name for name in step.node.reads if name.endswith("weight")]
    tensor = view.tensor(names[0]) if len(names) == 1 else None
    is_lookup = step.operation in ("embedding", "look-up")
    if not is_lookup or table is None or tensor is None or len(tensor.shape) != 2:
        return None
    kind, rows = index_kind(step, view), tensor.shape[0]
    counts = kind == "position" and tensor.trainable
    padding, offset = map(table.integer, ("padding_idx", "offset")) if counts else (None, None)
    return kind or tensor.owner.rpartition(".")[2], rows, _counted(rows, padding, offset or 0)


def _counted(rows: int, padding: int | None, offset: int) -> str:
    """Return how positions are counted: from an offset, or after the padding row (RoBERTa)."""
    if offset:
        return (
            f"Positions are counted from {offset}: the first {offset} rows of the position table "
            f"are never read, so {rows - offset} of its {rows} rows can be used for tokens."
        )
    if padding is None:
        return f"The position table has {rows} rows, which is the maximum sequence length."
    return (
        f"Positions are counted from padding_idx + 1 = {padding + 1}, after the padding row "
        f"{padding}: of the {rows} rows, {rows - padding - 1} can be used for tokens. Padding "
        f"tokens use row {padding} and are not counted, so a token’s position does not depend on "
        "the amount of padding before it."
    )


_SIMPLE = (
    *("embedding", "look-up", "index_select", "add", "residual", "mul", "div", "cat", "pad"),
    *("linear", "masked_fill", *NORMS),
)


def _embeddings(view: ModuleView) -> Match | None:
    """Rows of tables for each token, combined (Devlin et al. 2019, section 3)."""
    graph, calls = view.graph, view.calls
    if graph is None or calls is None or len(graph.steps) < 2 or len(graph.results) != 1:
        return None
    lookups = lookups_of(view)
    others = [step for step in graph.steps if _lookup(view, step) is None]
    is_simple = all(step.operation in _SIMPLE for step in others)
    if "token" not in lookups or not is_simple or len(graph.results[0][0].shape) != 3:
        return None
    (positions, counted), (segments, _) = (
        lookups.get(kind, (0, "")) for kind in ("position", "segment")
    )
    norm = next((Norm.of(step) for step in graph.steps if is_norm(step)), None)
    masked = any("mask" in n.name and n.kind != "constant" for n in graph.given.values())
    rescales = any(step.operation == "masked_fill" for step in others)
    values = {
        "rescales": rescales,
        "does": _does(lookups.keys(), others, norm),
        "sums": len(lookups) > 1 and all(step.operation != "cat" for step in others),
        "segments": segments > 1,
        "one_segment": segments == 1,
        "no_segments": positions and not segments,
        "rotates": len(lookups) == 1 and rotates(view),
        "position_note": counted,
        "masks": masked and others[-1].operation == "mul",
        "norm": norm and norm.name,
        "drops": drops_out(view),
    }
    chosen = [*(["positions"] if positions else []), *(["token types"] if segments else [])]
    meanings = {"Y": "output, one row per position"}
    if segments == 1:
        meanings["g"] = "segment ids: always 0"
    if rescales:
        meanings["T"] = "where mask tokens are"
        meanings["c"] = "fraction of the tokens that are not masked"
    written = write(graph, view, Naming(meanings=meanings))
    return replace(written, values=values, keys=view.keys(*chosen))


def _does(kinds: AbstractSet[str], others: list[Step], norm: Norm | None) -> str:
    """Return what vectors are looked up for, and what is done to them, in words."""
    operations = {step.operation for step in others}
    if not operations & {"add", "residual", "cat"}:
        return f"a vector for each token{' and normalises it' if norm else ''}"
    words = ["the token"]
    words += ["its position"] if "position" in kinds or len(kinds) == 1 else []
    words += ["its segment"] if "segment" in kinds else []
    if more := len(kinds - _KINDS):
        words.append(count_text(more, "another property", "{0} other properties"))
    does = ", adds them and normalises the sum" if norm else " and adds them"
    does = " and combines them" if "cat" in operations else does
    return f"one vector each for {', '.join(words[:-1])} and {words[-1]}{does}"


EMBEDDINGS = Template(
    "embeddings",
    _embeddings,
    title="Embeddings",
    summary="Maps token ids to vectors: looks up {does}.",
    notes=(
        "{sums?} The vectors are added, not concatenated, so their size stays the same.",
        "Square brackets denote the lookup of a table row; the tables are learnt.",
        "{segments?} With a single sentence every g is 0, so the same segment vector is added at "
        "every position.",
        "{one_segment?} There is only one segment, so the same vector is added at every position; "
        "two sentences are distinguished by the separator.",
        "{position_note}",
        "{no_segments?} This model has no segments: two sentences are distinguished by the "
        "separator.",
        "{rotates?} There are no position vectors and no segments: attention rotates queries and "
        "keys according to their positions instead.",
        "{rescales?} A masked token gives a row of zeros. In training, 15% of the tokens were "
        "chosen and 80% of those masked, which made the sums smaller; the factor compensates for "
        "this.",
        "{masks?} Padding tokens give rows of zeros.",
        "{drops?} Dropout follows the {norm} during training; in evaluation mode it has no effect.",
    ),
    keys=(
        *("vocabulary", "embedding width", "width", "padding", "embedding scale", "epsilon"),
        *("dropout", "embedding dropout"),
    ),
    source="Devlin et al. 2019, section 3 and figure 2",
)
