"""Escaping for Markdown and Python, and isolates around right-to-left text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.util.text import (
    NO_BREAK_SPACE,
    isolated,
    markdown_cell,
    markdown_table,
    python_expression,
    without_isolates,
)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a_b*c*", r"a\_b\*c\*"),
        ("<b>|`x`|</b>", r"\<b\>\|\`x\`\|\</b\>"),
        ("&lt; ~~no~~", r"\&lt; \~\~no\~\~"),
        ("see http://x.org and www.y.org", r"see http:\//x.org and www\.y.org"),
        ("two\nlines \u202e", r"two lines \u202e"),
        (f"{NO_BREAK_SPACE}{NO_BREAK_SPACE}a{NO_BREAK_SPACE}b", "&nbsp;&nbsp;a&nbsp;b"),
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


class Part:
    """A module's likeness: parts by name, and by number where it is a list."""

    def __init__(self, path: str) -> None:
        vars(self)["."] = path  # no part is called so

    def __getattr__(self, name: str) -> "Part":
        return Part(f"{vars(self)['.']}.{name}".strip("."))

    def __getitem__(self, number: int) -> "Part":
        return Part(f"{vars(self)['.']}.{number}".strip("."))


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        ("", "model"),
        ("encoder.layer.3.attention.self", "model.encoder.layer[3].attention.self"),
        ("0.1", "model[0][1]"),
        ("h.10.attn.c_attn.weight", "model.h[10].attn.c_attn.weight"),
        ("experts.ffn-up.w", "getattr(model.experts, 'ffn-up').w"),
        ("blocks.class", "getattr(model.blocks, 'class')"),
        ("blocks.03.x", "getattr(model.blocks, '03').x"),
        ("blocks.it's", """getattr(model.blocks, "it's")"""),
        ("blocks.ﬁt", "getattr(model.blocks, 'ﬁt')"),  # Python would read "fit"
    ],
)  # fmt: skip
def test_what_is_written(path: str, expression: str) -> None:
    assert python_expression(path) == expression


def test_another_root() -> None:
    assert python_expression("a.0", "net") == "net.a[0]"


ODD = ["self", "class", "weight", "03", "-1", "²", "٣", "a b", "'", '"', "\\", "x\n"]
NAMES = st.one_of(
    st.integers(0, 999).map(str),
    st.sampled_from(ODD),
    st.text(st.characters(exclude_characters=".", exclude_categories=["Cs"]), min_size=1),
).filter(lambda name: not hasattr(Part, name))
"""Names of modules; no module may be called as what every object of Python has."""


@given(st.lists(NAMES, min_size=1, max_size=5).map(".".join))
def test_it_finds_what_the_path_names(path: str) -> None:
    found = eval(python_expression(path), {"model": Part(""), "getattr": getattr})
    assert vars(found)["."] == path


@pytest.mark.parametrize("text", ["", "bank", "##ing", "é", "注意", "😀", "▁the", "1٪", "٣"])
def test_what_runs_from_left_to_right_stays_as_it_is(text: str) -> None:
    assert isolated(text) == text


@pytest.mark.parametrize("text", ["سلام", "שלום", "a م b", "#م", "(שלום)"])
def test_what_runs_from_right_to_left_is_isolated(text: str) -> None:
    assert isolated(text) == f"\u2068{text}\u2069"


@pytest.mark.parametrize("text", ["##م", "##ום", "▁سلام", "سل@@", "שלום</w>"])
def test_the_mark_of_a_piece_stays_at_its_side(text: str) -> None:
    assert isolated(text) == f"\u2066{text}\u2069"


def test_data_are_free_of_isolates() -> None:
    name = f"B · {isolated('##م')} (3) – {isolated('שלום')} (4)"
    assert without_isolates(name) == "B · ##م (3) – שלום (4)"
    # One alone is a token's own.
    assert without_isolates("\u2068 (3)") == "\u2068 (3)"
    assert without_isolates("bank (3)") == "bank (3)"
