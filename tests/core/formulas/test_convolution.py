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
        ((6, 4, 3), ("[1]", "[1]", "[1]", "1"), "y_(s) = sum_(k=0)^(2) x_(s + k - 1) W_(k)^top"),
        ((6, 4, 3), ("[1]", "[4]", "[2]", "1"), "y_(s) = sum_(k=0)^(2) x_(s + 2 k - 4) W_(k)^top"),
        ((6, 4, 3), ("3", "0", "2", "1"), "y_(s) = sum_(k=0)^(2) x_(3 s + 2 k) W_(k)^top"),
        (
            *((6, 2, 3), ("[1]", "[0]", "[1]", "2")),
            "y_(j, s) = sum_(i=0)^(1) sum_(k=0)^(2) "
            'w_(j, i, k) x_(2 op("group")(j) + i, s + k)\n'
            'op("group")(j) = floor(j \\/ 3)',
        ),
        (  # two features from each one
            *((8, 1, 3), ("[1]", "[0]", "[1]", "4")),
            'y_(j, s) = sum_(k=0)^(2) w_(j, k) x_(op("group")(j), s + k)\n'
            'op("group")(j) = floor(j \\/ 2)',
        ),
        (
            *((4, 1, 3), ("[1]", "[0]", "[1]", "4")),
            "y_(j, s) = sum_(k=0)^(2) w_(j, k) x_(j, s + k)",
        ),
        (
            *((6, 2, 3, 3), ("[1]", "[0]", "[1]", "2")),
            "y_(j, s_1, s_2) = sum_(i=0)^(1) sum_(k_1=0)^(2) sum_(k_2=0)^(2) "
            'w_(j, i, k_1, k_2) x_(2 op("group")(j) + i, s_1 + k_1, s_2 + k_2)\n'
            'op("group")(j) = floor(j \\/ 3)',
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
