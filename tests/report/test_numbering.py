"""Numbers of chapters, tables and figures."""

import pytest

from bertviewer.report.blocks import Figure, Section, Table
from bertviewer.report.numbering import numbers_of


def a_table(name: str) -> Table:
    return Table((), (), name)


def a_figure(name: str) -> Figure:
    return Figure(name, name, (), "")


def test_each_kind_is_numbered_by_chapter_whatever_section_it_is_in() -> None:
    chapters = (
        Section(
            "a", "A", (a_table("t1"),), (Section("a1", "A1", (a_table("t2"), a_figure("f1"))),)
        ),
        Section("b", "B", (a_figure("f2"), Table((), ()), a_table("t3"))),
    )
    numbers = {name: found.text for name, found in numbers_of(chapters).items()}
    assert numbers == {
        "a": "Chapter 1",
        "a1": "Section 1.1",
        "b": "Chapter 2",
        "t1": "Table 1.1",
        "t2": "Table 1.2",
        "f1": "Figure 1.1",
        "f2": "Figure 2.1",
        "t3": "Table 2.1",
    }


def test_two_things_of_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="called t"):
        numbers_of((Section("a", "A", (a_table("t"), a_table("t"))),))
