"""A path as Python: what is written finds what is meant, whatever it is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.util.python_path import python_expression


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
