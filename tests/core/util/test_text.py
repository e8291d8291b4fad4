"""Escaping for Markdown and Python, and isolates around right-to-left text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.util.text import (
    NO_BREAK_SPACE,
    isolated,
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
def test_markup_in_a_table_is_escaped(text: str, cell: str) -> None:
    assert markdown_table(("A", "B"), [("1", text)]) == [
        "| A | B |",
        "| --- | --- |",
        f"| 1 | {cell} |",
    ]


class FakeModule:
    """Records the path of attributes and items that an expression reads."""

    def __init__(self, path: str) -> None:
        vars(self)["."] = path  # no attribute has this name

    def __getattr__(self, name: str) -> "FakeModule":
        return FakeModule(f"{vars(self)['.']}.{name}".strip("."))

    def __getitem__(self, number: int) -> "FakeModule":
        return FakeModule(f"{vars(self)['.']}.{number}".strip("."))


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        ("", "model"),
        ("encoder.layer.3.attention.self", "model.encoder.layer[3].attention.self"),
        ("0.1", "model[0][1]"),
        ("experts.ffn-up.w", "getattr(model.experts, 'ffn-up').w"),
        ("blocks.class", "getattr(model.blocks, 'class')"),
        ("blocks.03.x", "getattr(model.blocks, '03').x"),
        ("blocks.it's", """getattr(model.blocks, "it's")"""),
        ("blocks.ﬁt", "getattr(model.blocks, 'ﬁt')"),  # Python would read "fit"
    ],
)  # fmt: skip
def test_paths_become_python_expressions(path: str, expression: str) -> None:
    assert python_expression(path) == expression
    assert python_expression(path, "net") == expression.replace("model", "net")


UNUSUAL = ["self", "class", "weight", "03", "-1", "²", "٣", "a b", "'", '"', "\\", "x\n"]
NAMES = st.one_of(
    st.integers(0, 999).map(str),
    st.sampled_from(UNUSUAL),
    st.text(st.characters(exclude_characters=".", exclude_categories=["Cs"]), min_size=1),
).filter(lambda name: not hasattr(FakeModule, name))
"""Names of modules, without those of attributes that every Python object has."""


@given(st.lists(NAMES, min_size=1, max_size=5).map(".".join))
def test_the_expression_reads_the_module_of_the_path(path: str) -> None:
    found = eval(python_expression(path), {"model": FakeModule(""), "getattr": getattr})
    assert vars(found)["."] == path


def test_right_to_left_text_is_isolated() -> None:
    for text in ("", "bank", "##ing", "é", "注意", "😀", "▁the", "1٪", "٣"):
        assert isolated(text) == text
    for text in ("سلام", "שלום", "a م b", "#م", "(שלום)"):
        assert isolated(text) == f"\u2068{text}\u2069"
    for text in ("##م", "##ום", "▁سلام", "سل@@", "שלום</w>"):  # the mark stays at its side
        assert isolated(text) == f"\u2066{text}\u2069"


def test_isolates_are_removed_from_data() -> None:
    name = f"B · {isolated('##م')} (3) – {isolated('שלום')} (4)"
    assert without_isolates(name) == "B · ##م (3) – שלום (4)"
    # A token may consist of a single one.
    assert without_isolates("\u2068 (3)") == "\u2068 (3)"
    assert without_isolates("bank (3)") == "bank (3)"
