"""Costs as numbers, and as text where no formula is known."""

import pytest
from msgspec.structs import replace

from bertviewer.core.schema.cost_texts import why_no_formula
from bertviewer.core.schema.costs import Costs, ModuleCosts, weights_bytes
from tests.core.opened import derived

COSTS = Costs(
    symbols=(),
    modules={
        "": ModuleCosts("B*S*(D**2 + S*D)", ("B", "S"), ("B", "S", "D")),
        "rope": ModuleCosts("B*S*D//A", None, None),
        "odd": ModuleCosts(None, None, None),
    },
    peak=("B*S*D", "B*S**2*A"),
    peak_fixed={"G": 1},
)
VALUES = {"B": 2, "S": 3, "D": 4, "A": 2}


def test_numbers_of_formulas() -> None:
    assert COSTS.macs("", VALUES) == 6 * (16 + 12)
    assert COSTS.peak_elements(VALUES) == 2 * 9 * 2
    assert COSTS.peak_elements({**VALUES, "S": 1}) == 2 * 4


def test_without_a_formula_there_is_no_number() -> None:
    assert COSTS.macs("odd", VALUES) is None
    assert COSTS.macs("never.called", VALUES) is None
    assert COSTS.macs("rope", {**VALUES, "A": 5}) is None
    assert COSTS.peak_elements({**VALUES, "G": 2}) is None
    assert Costs((), {}, ()).peak_elements(VALUES) is None
    # The peak may be a moment whose formula has no value.
    assert replace(COSTS, peak=("B*S*D", "B*S*D//A")).peak_elements({**VALUES, "A": 5}) is None


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 28), ("float16", 14), ("bfloat16", 14), ("int8", 7), ("int4", 4)],
)
def test_bytes_of_weights(dtype: str, size: int) -> None:
    assert weights_bytes(7, dtype) == size


def test_an_unknown_dtype() -> None:
    with pytest.raises(KeyError):
        weights_bytes(7, "float8")


def test_without_a_formula_the_text_has_the_number_of_the_flow() -> None:
    architecture = derived("bert-base-uncased", "masked-lm")
    assert architecture.flows is not None
    unknown = replace(architecture, costs=Costs((), {}, (), reason="it was not looked for"))
    query = "bert.encoder.layer.3.attention.self.query"
    assert why_no_formula(architecture, "") == ""
    assert why_no_formula(unknown, query) == (
        f"it was not looked for; its data flow has {16 * 768 * 768:,} for B = 1, S = 16"
    )
    assert why_no_formula(replace(unknown, flows=None), query) == "it was not looked for"
