"""Operations as mathematics with brackets where they are needed, and symbols of results."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.formulas.steps.expression import Expression, operation
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import LENGTHS, trace_model
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.serialization import encode_floats
from tests.core.formulas.formula_models import formula_at
from tests.tools.small_models import configurations

A, B, C = (Expression(letter) for letter in "ABC")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (operation("mul", [operation("matmul", [A, B]), C]), "(A B) dot.o C"),
        (operation("matmul", [operation("mul", [A, B]), C]), "(A dot.o B) C"),
        (operation("mul", [operation("mul", [Expression("2"), A]), C]), "2 thin A dot.o C"),
        (operation("mul", [operation("div", [A, B]), C]), "(A) / (B) dot.o C"),
        (operation("sub", [operation("matmul", [A, B]), C]), "A B - C"),
        (operation("rsub", [operation("matmul", [A, B]), C]), "C - A B"),
        (operation("sub", [A, operation("sub", [B, C])]), "A - (B - C)"),
        (operation("rsub", [operation("add", [A, B]), C]), "C - (A + B)"),
        (
            operation("mul", [C, operation("mul", [Expression("2"), operation("matmul", [A, B])])]),
            "C dot.o (2 thin A B)",
        ),
        # The axis is not written.
        (operation("cat", [A, B, Expression("-1")]), 'op("Concat")(A, B)'),
        (operation("stack", [A, B], [("dim", "1")]), 'op("stack")(A, B)'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_brackets(expression: Expression, text: str) -> None:
    assert expression.text == text


def test_a_result_that_is_read_whole_and_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(encode_floats(configurations("vits")[0])), encoding="utf-8")
    opened = open_model(parse_source(str(path)))
    traced = trace_model(opened.source, opened.architecture.config)
    flows = FlowReader(traced.trace, opened.architecture).flows(LENGTHS)
    architecture = with_formulas(replace(opened.architecture, flows=flows))
    assert ", (H_2, H_3) = " in formula_at(architecture, "").maths[0]
