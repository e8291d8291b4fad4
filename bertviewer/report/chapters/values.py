"""Chapter with excerpts of tensors: inputs and outputs of modules, and vectors of two tokens."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, visible
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.tensors.reduction import Corner, ends_of
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.run_details import ModuleExcerpts
from bertviewer.report.subject import Subject

DOTS = "…"


def values(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` for a run without hidden states and excerpts."""
    run, modules = subject.run, subject.details.excerpts
    if run is None or not (run.hidden_states or modules):
        return None
    intro = Paragraph.of(
        "All statistics of a run are computed from tensors such as these. Of each tensor, the "
        "first and last rows and columns are shown; dots mark those omitted."
    )
    sections = tuple(section for section in (_modules(modules), _tokens(run)) if section)
    return ChapterDraft(Section("values", "Tensor excerpts", (intro,), sections))


def _modules(modules: Sequence[ModuleExcerpts]) -> Section | None:
    """Show corners of tensors; those with the same columns share a table."""
    tables: dict[tuple[int, ...], list[Row]] = {}
    for titles, corner in _merged(modules):
        tables.setdefault(corner.columns, []).extend(_rows(titles, corner))
    names = [f"table:values-{number}" for number in range(len(tables))]
    blocks: list[Block] = []
    for name, (columns, rows) in zip(names, tables.items(), strict=True):
        text = " shows excerpts of the inputs and outputs of modules in this run, token by token."
        blocks.append(Paragraph.of(See(name), text))
        caption = ("Inputs and outputs of modules; columns are features.",)
        blocks.append(Table(_columns("Token", columns), tuple(rows), name, caption))
    return (
        Section("values-modules", "Inputs and outputs of modules", tuple(blocks))
        if blocks
        else None
    )


def _merged(modules: Sequence[ModuleExcerpts]) -> list[tuple[Text, Corner]]:
    """Return corners with their titles; equal neighbours, an output and an input, share one."""
    found: list[tuple[dict[Text, None], Corner]] = []
    for module in modules:
        corners = module.corners
        if len(corners) > 1 and _are_same(corners[0][1], corners[1][1]):
            corners = corners[1:]  # of a dropout, for example
        for key, corner in corners:
            named: Text = () if key.name == "output" else (" (", Code(key.name), ")")
            side = "input" if key.side == "input" else "output"
            if not found or not _are_same(found[-1][1], corner):
                found.append(({}, corner))
                side = side.capitalize()
            found[-1][0].setdefault((f"{side} of {module.title}", *named))
    return [(_joined(titles), corner) for titles, corner in found]


def _joined(titles: Iterable[Text]) -> Text:
    """Return titles separated by commas, with a space at the end."""
    spans = [span for title in titles for span in (*title, ", ")]
    return (*spans[:-1], " ")


def _are_same(one: Corner, other: Corner) -> bool:
    return one.shape == other.shape and np.array_equal(one.values, other.values, equal_nan=True)


def _rows(title: Text, corner: Corner) -> Iterator[Row]:
    yield Row.of((*title, Muted(f"{shape_text(corner.shape)} {corner.dtype}")), look="head")
    before = -1
    for place, row in enumerate(corner.rows):
        if row != before + 1:
            yield Row.of(DOTS, *(DOTS for _ in _with_dots(corner.columns, corner.columns)))
        before = row
        token = corner.tokens[place]
        name = f"{row} {shortened(visible(token), MAX_TOKEN)}" if token else str(row)
        yield _numbers(name, corner.values[place].tolist(), corner.columns)


def _tokens(run: ActivationRun) -> Section | None:
    """Show the vectors of two tokens in every hidden state."""
    if not run.hidden_states:
        return None
    size = run.hidden_states[0].shape[1]
    features, names = ends_of(size), names_of_states(run)
    tables = []
    for token in _shown_tokens(run):
        rows = tuple(
            _numbers(names[state], vectors[token, list(features)].tolist(), features)
            for state, vectors in enumerate(run.hidden_states)
        )
        text = shortened(visible(run.tokens[token].text), MAX_TOKEN)
        caption = (f"The vector of token {token} ({text}) in each hidden state.",)
        name = f"table:values-token-{token}"
        tables.append(Table(_columns("Hidden state", features), rows, name, caption))
    seen = [See(table.name) for table in tables]
    show = "shows" if len(seen) < 2 else "show"
    words = (
        *(seen[:1] if len(seen) < 2 else (seen[0], " and ", seen[1])),
        f" {show} {len(features)} of the {size:,} components of a token’s vector, from the "
        "embeddings to the last layer.",
    )
    return Section("values-tokens", "Token vectors", (Paragraph(words), *tables))


def _shown_tokens(run: ActivationRun) -> tuple[int, ...]:
    """Return the first token, such as [CLS], and the longest word."""
    words = [place for place, token in enumerate(run.tokens) if place and not token.is_special]
    longest = max(words, key=lambda place: len(run.tokens[place].text), default=None)
    return (0,) if longest is None else (0, longest)


def _numbers(name: str, found: Sequence[float], places: Sequence[int]) -> Row:
    cells = _with_dots([cell_text(value) for value in found], places)
    return Row.of(name, *(str(cell) for cell in cells))


def _columns(title: str, places: Sequence[int]) -> tuple[Column, ...]:
    heads = _with_dots(places, places)
    return (
        Column(title, share=1),
        *(Column(str(head), "center" if head == DOTS else "decimal") for head in heads),
    )


def _with_dots(cells: Sequence[str | int], places: Sequence[int]) -> list[str | int]:
    """Return cells with dots between places that are not adjacent."""
    found: list[str | int] = list(cells[:1])
    for cell, (before, place) in zip(cells[1:], pairwise(places), strict=True):
        found += [cell] if place == before + 1 else [DOTS, cell]
    return found
