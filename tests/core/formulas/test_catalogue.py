"""The formula of a module: a template's, its steps, or its parts."""

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of, formula_of_parts
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.formulas.formula_models import architecture_of, formula_at, node_at


def node(
    path: str, class_name: str, parameters: int = 0, repeat: Repeat | None = None
) -> ModuleNode:
    depth = path.count(".") + 1 if path else 0
    return ModuleNode(
        path, class_name, depth, parameters, 0, 0, 0.0, repeat, {}, "0", None, "a.module"
    )


def architecture(*nodes: ModuleNode, tensors: tuple[TensorInfo, ...] = ()) -> Architecture:
    source = SourceInfo("preset", "unknown", "base", "none")
    return Architecture(source, {}, (), nodes, tensors)


@pytest.mark.parametrize("class_name", ["Unknown", "BertSelfAttention"])
def test_a_module_that_is_not_traced_has_no_formula(class_name: str) -> None:
    assert formula_of(node("x", class_name), architecture_of("bert")) is None


def test_a_module_that_is_never_called_has_no_formula() -> None:
    # The head multiplies by this weight without its module.
    mobilebert = architecture_of("mobilebert", "masked-lm")
    assert formula_of(node_at(mobilebert, "cls.predictions.dense"), mobilebert) is None


def test_without_flows_there_is_no_formula() -> None:
    mixtral = architecture_of("mixtral")
    layer = node_at(mixtral, "layers.0")
    assert (layer.role, layer.formula_from) == ("layer", "role")
    assert formula_of(layer, replace(mixtral, flows=None)) is None


def test_a_scaled_rotation_has_plain_steps() -> None:
    llama = architecture_of("llama")
    scaled = {**llama.config["rope_parameters"], "rope_type": "yarn"}
    other = replace(llama, config={**llama.config, "rope_parameters": scaled})
    assert formula_at(other, "rotary_emb").title == "LlamaRotaryEmbedding"


def test_parts_are_named_with_class_and_shape() -> None:
    unknown = architecture(
        node("", "Unknown", 1010),
        node("inner", "Inner", 1000),
        tensors=(
            TensorInfo("token", (1, 10), "float32", True),
            TensorInfo("inner.w", (1000,), "float32", True),
        ),
    )
    assert formula_of(unknown.root, unknown) is None
    parts = formula_of_parts(unknown.root, unknown)
    assert (parts.title, parts.source) == ("Unknown", "a.module")
    assert [(t.symbol, t.meaning, t.value) for t in parts.terms] == [
        ('"inner"', "Inner", "1,000 parameters"),
        ('"token"', "tensor of this module", "[1, 10]"),
    ]
    assert parts.maths == ('y = "Unknown"(x)',)


def test_equal_parts_are_one_entry() -> None:
    run = Repeat(0, 2, 3)
    stack = architecture(
        node("", "Stack"), *(node(str(number), "Inner", 5, run) for number in range(3))
    )
    (term,) = formula_of_parts(stack.root, stack).terms
    assert (term.symbol, term.meaning, term.value) == ('"0 … 2"', "3 × Inner", "15 parameters")


def test_a_module_without_parts() -> None:
    leaf = architecture(node("", "Leaf"))
    parts = formula_of_parts(leaf.root, leaf)
    assert parts.terms == ()
    assert "contains neither modules nor tensors" in parts.summary
