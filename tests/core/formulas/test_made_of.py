"""A module without a formula shows its parts, and nothing that is not so."""

from bertviewer.core.formulas.catalogue import formula_of, formula_of_parts
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo
from bertviewer.core.schema.source_info import SourceInfo


def node(
    path: str, class_name: str, parameters: int = 0, repeat: Repeat | None = None
) -> ModuleNode:
    depth = path.count(".") + 1 if path else 0
    return ModuleNode(
        path, class_name, depth, parameters, 0, 0, 0.0, repeat, {}, "0", None, "a.module"
    )


def architecture(*nodes: ModuleNode, tensors: tuple[TensorInfo, ...] = ()) -> Architecture:
    source = SourceInfo("preset", "stranger", "base", "none")
    return Architecture(source, {}, (), nodes, tensors)


def test_children_and_tensors_are_named_with_class_and_shape() -> None:
    stranger = architecture(
        node("", "Stranger", 1010),
        node("inner", "Strange", 1000),
        tensors=(
            TensorInfo("token", (1, 10), "float32", True),
            TensorInfo("inner.w", (1000,), "float32", True),
        ),
    )
    assert formula_of(stranger.root, stranger) is None
    parts = formula_of_parts(stranger.root, stranger)
    assert parts.title == "Stranger"
    assert parts.source == "a.module"
    assert [(t.symbol, t.meaning, t.value) for t in parts.terms] == [
        ('"inner"', "Strange", "1,000 parameters"),
        ('"token"', "tensor of this module", "[1, 10]"),
    ]
    assert parts.maths == ('y = "Stranger"(x)',)


def test_equal_children_are_one_entry() -> None:
    run = Repeat(0, 2, 3)
    stack = architecture(
        node("", "Stack"), *(node(str(number), "Strange", 5, run) for number in range(3))
    )
    (term,) = formula_of_parts(stack.root, stack).terms
    assert (term.symbol, term.meaning, term.value) == ('"0 … 2"', "3 × Strange", "15 parameters")


def test_a_leaf_says_that_it_has_no_parts() -> None:
    leaf = architecture(node("", "Leaf"))
    parts = formula_of_parts(leaf.root, leaf)
    assert parts.terms == ()
    assert "neither" in parts.summary
