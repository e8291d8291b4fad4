"""What is said of one convolution, by the settings of its call."""

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Flows, Node, Operand
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.formulas.test_catalogue import node


def convolution(shape: tuple[int, ...], *settings: str) -> Formula | None:
    """Return the formula of a module that is one convolution without a bias."""
    plain = (Operand(plain=each) for each in settings)
    operands = (Operand("x"), Operand(parameter="conv.weight"), *plain)
    step = Node("y", "operation", "y", "conv", operation="convolution", operands=operands)
    nodes = Node("x", "input", "input"), step, Node("out", "output", "output")
    flow = Flow("conv", "Conv", nodes, (Edge("x", "y"), Edge("y", "out")))
    architecture = Architecture(
        SourceInfo("preset", "stranger", "base", "none"),
        {},
        (),
        (node("", "Model"), node("conv", "Conv")),
        (TensorInfo("conv.weight", shape, "float32", True),),
    )
    traced = replace(architecture, flows=Flows({"conv": flow}))
    return formula_of(traced.modules[1], traced)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (("[1]", "[1]", "[1]", "1"), "s + u - 1"),
        (("[1]", "[4]", "[2]", "1"), "s + 2 u - 4"),
        (("3", "0", "2", "1"), "3 s + 2 u"),
    ],
)
def test_stride_padding_and_dilation_are_in_the_index(
    settings: tuple[str, ...], place: str
) -> None:
    found = convolution((6, 4, 3), *settings)
    assert found is not None
    assert found.maths == (f"y_(s) = sum_(u=0)^(2) W_(:, u) x_({place})",)


@pytest.mark.parametrize(
    ("shape", "groups", "maths"),
    [
        (
            (6, 2, 3),
            2,
            (
                "y_(c, s) = sum_(d=0)^(1) sum_(u=0)^(2) W_(c, d, u) x_(2 g(c) + d, s + u)",
                "g(c) = floor(c \\/ 3)",
            ),
        ),
        (
            (8, 1, 3),  # two features from each one
            4,
            (
                "y_(c, s) = sum_(u=0)^(2) W_(c, u) x_(g(c), s + u)",
                "g(c) = floor(c \\/ 2)",
            ),
        ),
        ((4, 1, 3), 4, ("y_(c, s) = sum_(u=0)^(2) W_(c, u) x_(c, s + u)",)),
        (
            (6, 2, 3, 3),
            2,
            (
                "y_(c, i, j) = sum_(d=0)^(1) sum_(u=0)^(2) sum_(v=0)^(2) "
                "W_(c, d, u, v) x_(2 g(c) + d, i + u, j + v)",
                "g(c) = floor(c \\/ 3)",
            ),
        ),
    ],
)
def test_a_feature_reads_its_group(
    shape: tuple[int, ...], groups: int, maths: tuple[str, ...]
) -> None:
    found = convolution(shape, "[1]", "[0]", "[1]", str(groups))
    assert found is not None
    assert found.maths == maths
    assert {term.symbol: term.value for term in found.terms}["x"] == f"[{shape[1] * groups}]"


def test_a_transposed_convolution_has_plain_steps() -> None:
    found = convolution((6, 4, 3), "[2]", "[0]", "[0]", "1", "[1]")
    assert found is not None
    assert found.title == "Conv"
