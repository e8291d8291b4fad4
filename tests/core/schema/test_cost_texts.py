"""What is said of multiply-adds where no formula is known."""

from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.cost_texts import why_no_formula
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.parsing import parse_source


def test_without_a_formula_the_flow_says_how_many_there_are() -> None:
    architecture = open_model(parse_source("bert-base-uncased")).with_formulas()
    flows = architecture.flows
    assert flows is not None
    unknown = Costs((), {}, (), reason="it was not looked for")

    assert why_no_formula(architecture, "") == ""
    layer = "encoder.layer.3.attention.self.query"
    assert why_no_formula(replace(architecture, costs=unknown), layer) == (
        f"it was not looked for; its data flow has {16 * 768 * 768:,} for B = 1, S = 16"
    )
    without = replace(architecture, costs=unknown, flows=None)
    assert why_no_formula(without, layer) == "it was not looked for"
