"""Pages are filled, and headings and table heads are not separated from their content."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.report.blocks import Table
from bertviewer.report.document import ReportDocument
from bertviewer.report.paging import Extent, Layout, fill_pages
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import TypesetReport
from tests.core.opened import derived
from tests.report.conftest import OPTIONS, document_of
from tests.report.reading import (
    PIXELS_PER_POINT,
    Report,
    cells,
    each,
    heads,
    inked,
    squeezed,
)

TOP, BOTTOM = 68, 63
"""The margins with headers and page numbers, in points."""


class Printed(Struct, frozen=True):
    document: ReportDocument
    report: Report
    empty: tuple[float, ...]
    """The fraction of each page that is empty at its end."""


def empty_part(page: bytes) -> float:
    ink = inked(page)
    body = ink[round(TOP * PIXELS_PER_POINT) : round(len(ink) - BOTTOM * PIXELS_PER_POINT)]
    rows = np.flatnonzero(body.any(axis=1))
    return float(1 - (rows[-1] + 1) / len(body)) if rows.size else 1.0


@pytest.fixture(scope="module", params=["demo", "transformer-base", "gpt2, Letter"])
def printed(request: pytest.FixtureRequest, demo: Subject, qapp: QApplication) -> Printed:
    name, _, paper = request.param.partition(", ")
    subject = demo if name == "demo" else Subject(derived(name))
    shown = document_of(subject, replace(OPTIONS, appendix="full"))
    typeset = TypesetReport(shown, "letter" if paper else "a4")
    return Printed(shown, Report.of(typeset.pdf()), tuple(map(empty_part, typeset.pages())))


def test_pages_are_filled(printed: Printed) -> None:
    # The title, the contents and the last page may be empty.
    empty = {n: part for n, part in enumerate(printed.empty, 1) if 2 < n < len(printed.empty)}
    assert {number: part for number, part in empty.items() if part > 0.3} == {}


def test_no_page_ends_with_a_heading(printed: Printed) -> None:
    tables = [table for chapter in printed.document.chapters for table in each(chapter, Table)]
    row_heads = ["".join(row) for table in tables for row in heads(table)]
    headings = printed.report.headings()
    assert len(headings) > 10
    assert row_heads
    ends = tuple(map(squeezed, (*headings, *row_heads)))
    for number, body in enumerate(printed.report.bodies, start=3):
        assert not squeezed(body).endswith(ends), number


def test_a_long_table_has_its_head_on_each_page(printed: Printed) -> None:
    (chapter,) = (found for found in printed.document.chapters if found.name == "tensors")
    rows = [row for table in each(chapter, Table) for row in table.rows if row.look == "plain"]
    paths = [cells(row)[0] for row in rows]
    pages = [
        page
        for page in printed.report.pages
        if sum(path in page for path in paths) > len(paths) / 20
    ]
    assert len(pages) > 1
    assert all("Name Shape Elements" in page for page in pages)


def chapter(*kinds: str) -> dict[str, Any]:
    return {"blocks": [{"kind": kind} for kind in kinds], "sections": []}


PAGE = (0.0, 100.0)


def flow(heights: Sequence[float], blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Set blocks of some heights on pages of 100 points, as the template does."""
    edges: list[Any] = []
    page, y = 1, 0.0
    floating: list[tuple[int, float]] = []
    for number, (height, one) in enumerate(zip(heights, blocks, strict=True)):
        tall = height * one["scale"]
        if one["floats"] and (floating or y + tall > PAGE[1]):
            floating.append((number, tall))
            continue
        if y + tall > PAGE[1]:
            page, y = page + 1, 0.0
            for float_number, float_height in floating:
                edges += [(float_number, "start", page, y)]
                y += float_height
                edges += [(float_number, "end", page, y)]
            floating = []
        edges += [(number, "start", page, y), (number, "end", page, y + tall)]
        y += tall
    for number, tall in floating:
        edges += [(number, "start", page + 1, 0.0), (number, "end", page + 1, tall)]
    return {"page": PAGE, "edges": edges}


@pytest.mark.parametrize(
    ("chapters", "heights", "floating"),
    [
        # All pages are full enough.
        ([("paragraph", "figure", "table")], [40, 50, 60], []),
        # The table after a figure that does not fit fills the page.
        ([("paragraph", "figure", "table")], [40, 95, 50], [1]),
        # A figure does not overtake another.
        ([("paragraph", "figure", "figure", "table")], [40, 95, 30, 50], [1, 2]),
        # Nothing after the figure could fill the page.
        ([("paragraph", "figure")], [40, 95], []),
        # A figure of the next chapter stays there.
        ([("paragraph",), ("figure",)], [40, 95], []),
        ([("paragraph",), ("figure", "table")], [40, 95, 50], []),
    ],
)
def test_blocks_float_to_the_next_page(
    chapters: list[tuple[str, ...]], heights: list[float], floating: list[int]
) -> None:
    data = [chapter(*kinds) for kinds in chapters]
    blocks = [block for each in data for block in each["blocks"]]
    fill_pages(data, partial(flow, heights, blocks))
    assert [number for number, block in enumerate(blocks) if block["floats"]] == floating
    assert {block["scale"] for block in blocks} == {1.0}


def test_a_figure_that_nearly_fits_is_made_smaller() -> None:
    data = chapter("paragraph", "figure", "table")
    figure = data["blocks"][1]

    def positions() -> dict[str, Any]:
        fits = figure["scale"] < 0.97
        top, bottom, page = (410.0, 1000.0, 1) if fits else (0.0, 620.0, 2)
        return {
            "page": (0.0, 1020.0),
            "edges": [
                *((0, "start", 1, 0.0), (0, "end", 1, 400.0)),
                *((1, "start", page, top), (1, "end", page, bottom)),
                *((2, "start", 2, 620.0), (2, "end", 2, 900.0)),
            ],
        }

    fill_pages([data], positions)
    assert 0.9 < figure["scale"] < 0.97
    assert not figure["floats"]


def test_empty_space_of_a_page() -> None:
    layout = Layout(0.0, 100.0, {0: Extent(1, 0.0, 1, 40.0), 1: Extent(2, 0.0, 3, 30.0)})
    assert [layout.empty_space(page) for page in (1, 2, 3, 4)] == [60.0, 0.0, 70.0, 0.0]
