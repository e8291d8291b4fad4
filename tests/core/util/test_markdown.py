"""Cells of Markdown: whatever they say is text."""

import pytest

from bertviewer.core.util.markdown import SPACE, markdown_cell, markdown_table


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a_b*c*", r"a\_b\*c\*"),
        ("<b>|`x`|</b>", r"\<b\>\|\`x\`\|\</b\>"),
        ("&lt; ~~no~~", r"\&lt; \~\~no\~\~"),
        ("see http://x.org and www.y.org", r"see http:\//x.org and www\.y.org"),
        ("two\nlines \u202e", r"two lines \u202e"),
        (f"{SPACE}{SPACE}a{SPACE}b", "&nbsp;&nbsp;a&nbsp;b"),
    ],
)
def test_nothing_is_markup(text: str, cell: str) -> None:
    assert markdown_cell(text) == cell


def test_a_table_has_a_head_and_rows() -> None:
    assert markdown_table(("A", "B"), [("1", "a|b")]) == [
        "| A | B |",
        "| --- | --- |",
        r"| 1 | a\|b |",
    ]
