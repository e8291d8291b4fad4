"""The pages of a report: none is left empty, and nothing on them is torn apart."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import Row, Section, Table
from bertviewer.report.document import ReportDocument
from bertviewer.report.options import Paper
from bertviewer.report.paging import Extent, Layout, fill_pages
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import TypesetReport, report_pdf
from tests.report.conftest import document_of
from tests.report.inked import SIZE, inked
from tests.report.reading import Report, each, said, squeezed

MOST_EMPTY = 1 / 3
TOP, BOTTOM = 77, 71
"""The margins, in points: the heads and the numbers of the pages stand in them."""


class Printed(Struct, frozen=True):
    document: ReportDocument
    report: Report
    empty: tuple[float, ...]
    """The part of each page that is empty at its end."""


def empty_part(page: bytes) -> float:
    ink = inked(page)
    body = ink[round(TOP * SIZE) : round(len(ink) - BOTTOM * SIZE)]
    rows = np.flatnonzero(body.any(axis=1))
    return float(1 - (rows[-1] + 1) / len(body)) if rows.size else 1.0


def printed(document: ReportDocument, paper: Paper, report: Report | None = None) -> Printed:
    pages = TypesetReport(document, paper).pages()
    read = report or Report.of(report_pdf(document, paper))
    return Printed(document, read, tuple(map(empty_part, pages)))


def of_preset(name: str) -> ReportDocument:
    return document_of(Subject(open_model(parse_source(name)).with_formulas()))


@pytest.fixture(scope="module")
def all_printed(document: ReportDocument, report: Report, qapp: object) -> dict[str, Printed]:
    return {
        "demo": printed(document, "a4", report),
        "demo, Letter": printed(document, "letter"),
        "transformer-base": printed(of_preset("transformer-base"), "a4"),
        "gpt2, Letter": printed(of_preset("gpt2"), "letter"),
    }


def bodies(report: Report) -> Sequence[str]:
    """The texts of the pages after the contents, without their heads and numbers."""
    return [re.sub(r" bertviewer \S+ \d+ / \d+$", "", page) for page in report.pages[2:]]


def test_no_page_is_more_than_a_third_empty(all_printed: Mapping[str, Printed]) -> None:
    found = {
        (name, number): round(empty, 2)
        for name, one in all_printed.items()
        for number, empty in enumerate(one.empty, start=1)
        # The title, the contents, and the last page.
        if 2 < number < len(one.empty) and empty > MOST_EMPTY
    }
    assert not found


def test_no_heading_is_the_last_of_a_page(all_printed: Mapping[str, Printed]) -> None:
    for name, one in all_printed.items():
        headings = [squeezed(heading) for heading in one.report.headings()]
        assert len(headings) > 10
        for number, body in enumerate(bodies(one.report), start=3):
            for heading in headings:
                assert not squeezed(body).endswith(heading), (name, number)


def test_no_head_of_rows_is_the_last_of_a_page(all_printed: Mapping[str, Printed]) -> None:
    for name, one in all_printed.items():
        heads = {squeezed(said(row.cells)) for row in rows_of(one.document) if row.look == "head"}
        assert heads
        for number, body in enumerate(bodies(one.report), start=3):
            assert not any(squeezed(body).endswith(head) for head in heads), (name, number)


def rows_of(document: ReportDocument) -> list[Row]:
    return [
        row for chapter in document.chapters for table in each(chapter, Table) for row in table.rows
    ]


def test_a_table_has_its_head_on_each_page(all_printed: Mapping[str, Printed]) -> None:
    for name, one in all_printed.items():
        (chapter,) = (found for found in one.document.chapters if found.name == "tensors")
        paths = [said(row.cells[0]) for row in rows_of_section(chapter) if row.look == "plain"]
        with_rows = [
            page
            for page in one.report.pages
            if sum(path in page for path in paths) > len(paths) / 20
        ]
        assert len(with_rows) > 1, name
        for page in with_rows:
            assert "Name Shape Dtype Elements" in page, name


def rows_of_section(section: Section) -> list[Row]:
    return [row for table in each(section, Table) for row in table.rows]


def block(kind: str) -> dict[str, Any]:
    return {"kind": kind}


def chapter(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"blocks": list(blocks), "sections": []}


PAGE = (0.0, 100.0)


def flow(heights: Sequence[float], blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Set blocks of some heights, as the template would."""
    edges: list[Any] = []
    page, y, floating = 1, 0.0, []
    for number, (height, one) in enumerate(zip(heights, blocks, strict=True)):
        tall = height * one["scale"]
        if one["floats"] and y + tall > PAGE[1]:
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


def test_what_fits_stays_as_it_is() -> None:
    told = chapter(block("paragraph"), block("figure"), block("table"))
    fill_pages([told], partial(flow, [40, 50, 60], told["blocks"]))
    assert [(one["floats"], one["scale"], one["breaks"]) for one in told["blocks"]] == [
        (False, 1.0, "")
    ] * 3


def test_what_follows_a_figure_fills_the_page() -> None:
    told = chapter(block("paragraph"), block("figure"), block("table"))
    fill_pages([told], partial(flow, [40, 95, 50], told["blocks"]))
    assert [one["floats"] for one in told["blocks"]] == [False, True, False]


def test_a_figure_that_nearly_fits_is_made_smaller() -> None:
    edges = {0: (0.0, 400.0), 1: (0.0, 620.0)}

    def places() -> dict[str, Any]:
        fits = told["blocks"][1]["scale"] < 0.97
        second = (410.0, 1000.0, 1) if fits else (*edges[1], 2)
        return {
            "page": (0.0, 1020.0),
            "edges": [
                *((0, "start", 1, 0.0), (0, "end", 1, 400.0)),
                *((1, "start", second[2], second[0]), (1, "end", second[2], second[1])),
                *((2, "start", 2, 620.0), (2, "end", 2, 900.0)),
            ],
        }

    told = chapter(block("paragraph"), block("figure"), block("table"))
    fill_pages([told], places)
    assert 0.9 < told["blocks"][1]["scale"] < 0.97
    assert not told["blocks"][1]["floats"]


def test_where_nothing_helps_the_best_stays() -> None:
    told = chapter(block("paragraph"), block("formula-block"))
    # There is nothing after it that could fill the page.
    fill_pages([told], partial(flow, [40, 95], told["blocks"]))
    assert not told["blocks"][1]["breaks"]


def test_nothing_of_the_next_chapter_is_moved() -> None:
    first, second = chapter(block("paragraph")), chapter(block("figure"))
    fill_pages([first, second], partial(flow, [40, 95], [*first["blocks"], *second["blocks"]]))
    assert not second["blocks"][0]["floats"]


@pytest.mark.parametrize(("page", "left"), [(1, 60.0), (2, 0.0), (3, 70.0), (4, 0.0)])
def test_what_is_left_of_a_page(page: int, left: float) -> None:
    layout = Layout(0.0, 100.0, {0: Extent(1, 0.0, 1, 40.0), 1: Extent(2, 0.0, 3, 30.0)})
    assert layout.empty_space(page) == left
