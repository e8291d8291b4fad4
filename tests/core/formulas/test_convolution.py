"""The formula of one convolution, by the settings of its call."""

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.flow import Edge, Flow, Flows, Node, Operand
from bertviewer.core.schema.modules import TensorInfo
from tests.core.formulas.test_catalogue import architecture, node


def convolution(shape: tuple[int, ...], *settings: str) -> Formula:
    """Return the formula of a module that is one convolution without a bias."""
    plain = (Operand(plain=each) for each in settings)
    operands = (Operand("x"), Operand(parameter="conv.weight"), *plain)
    step = Node("y", "operation", "y", "conv", operation="convolution", operands=operands)
    nodes = Node("x", "input", "input"), step, Node("out", "output", "output")
    flow = Flow("conv", "Conv", nodes, (Edge("x", "y"), Edge("y", "out")))
    weight = TensorInfo("conv.weight", shape, "float32", True)
    model = architecture(node("", "Model"), node("conv", "Conv"), tensors=(weight,))
    traced = replace(model, flows=Flows({"conv": flow}))
    formula = formula_of(traced.modules[1], traced)
    assert formula is not None
    return formula


@pytest.mark.parametrize(
    ("shape", "settings", "maths"),
    [
        # Stride, padding, dilation and groups.
        ((6, 4, 3), ("[1]", "[1]", "[1]", "1"), "y_(s) = sum_(u=0)^(2) W_(:, u) x_(s + u - 1)"),
        ((6, 4, 3), ("[1]", "[4]", "[2]", "1"), "y_(s) = sum_(u=0)^(2) W_(:, u) x_(s + 2 u - 4)"),
        ((6, 4, 3), ("3", "0", "2", "1"), "y_(s) = sum_(u=0)^(2) W_(:, u) x_(3 s + 2 u)"),
        (
            *((6, 2, 3), ("[1]", "[0]", "[1]", "2")),
            "y_(c, s) = sum_(d=0)^(1) sum_(u=0)^(2) W_(c, d, u) x_(2 g(c) + d, s + u)\n"
            "g(c) = floor(c \\/ 3)",
        ),
        (  # two features from each one
            *((8, 1, 3), ("[1]", "[0]", "[1]", "4")),
            "y_(c, s) = sum_(u=0)^(2) W_(c, u) x_(g(c), s + u)\ng(c) = floor(c \\/ 2)",
        ),
        (
            *((4, 1, 3), ("[1]", "[0]", "[1]", "4")),
            "y_(c, s) = sum_(u=0)^(2) W_(c, u) x_(c, s + u)",
        ),
        (
            *((6, 2, 3, 3), ("[1]", "[0]", "[1]", "2")),
            "y_(c, i, j) = sum_(d=0)^(1) sum_(u=0)^(2) sum_(v=0)^(2) "
            "W_(c, d, u, v) x_(2 g(c) + d, i + u, j + v)\ng(c) = floor(c \\/ 3)",
        ),
    ],
)
def test_a_convolution(shape: tuple[int, ...], settings: tuple[str, ...], maths: str) -> None:
    formula = convolution(shape, *settings)
    assert "\n".join(formula.maths) == maths
    inputs = shape[1] * int(settings[-1])
    assert {term.symbol: term.value for term in formula.terms}["x"] == f"[{inputs}]"


def test_a_transposed_convolution_has_plain_steps() -> None:
    assert convolution((6, 4, 3), "[2]", "[0]", "[0]", "1", "[1]").title == "Conv"
