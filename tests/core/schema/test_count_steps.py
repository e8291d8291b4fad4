"""A parameter count in symbols, in numbers, and as a result."""

import pytest
from msgspec.structs import replace

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import CountTerm, count_steps, readable, steps_of
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.opened import derived, plain

NODE = ModuleNode("", "Model", 0, 0, 0, 0, 1.0, None, {}, "0", None)


def lines_of(formula: str, parameters: int, **values: int) -> tuple[str, str, int] | None:
    node = replace(NODE, count_formula=formula, parameters=parameters)
    symbols = tuple(Symbol(name, name.lower(), value, "") for name, value in values.items())
    source = SourceInfo("preset", "x", "base", "none")
    found = count_steps(node, Architecture(source, {}, symbols, (node,), ()))
    return None if found is None else (found.symbols, found.numbers, found.result)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("12*D**2 + 13*D", "12·D² + 13·D"),
        ("N*(4*D**2 + 2*D*I + 9*D + I)", "N·(4·D² + 2·D·I + 9·D + I)"),
        ("D**10", "D¹⁰"),
        ("A_kv*D**2//A", "A_kv·D² / A"),
        ("(N-1)*(D - 1)", "(N−1)·(D − 1)"),
        ("0", "0"),
    ],
)
def test_readable(formula: str, text: str) -> None:
    assert readable(formula) == text


@pytest.mark.parametrize(
    ("formula", "values", "expected"),
    [
        (
            *("N*(12*D**2 + 13*D)", {"N": 12, "D": 768}),
            ("N·(12·D² + 13·D)", "12·(12·768² + 13·768)", 85_054_464),
        ),
        # Symbols with an index are replaced as a whole.
        ("N_e*N + N_d", {"N": 3, "N_e": 4, "N_d": 5}, ("N_e·N + N_d", "4·3 + 5", 17)),
        ("A_kv*D**2//A", {"A_kv": 2, "D": 48, "A": 8}, ("A_kv·D² / A", "2·48² / 8", 576)),
    ],
)
def test_three_lines(formula: str, values: dict[str, int], expected: tuple[str, str, int]) -> None:
    assert lines_of(formula, expected[2], **values) == expected


def test_terms_of_a_sum() -> None:
    found = steps_of("V*D - D + N*(D**2 - 2*D)", {"V": 5, "D": 3, "N": 2})
    assert found is not None
    assert found.terms == (
        CountTerm("V·D", "5·3", 15),
        CountTerm("− D", "− 3", -3),
        CountTerm("+ N·(D² − 2·D)", "+ 2·(3² − 2·3)", 6),
    )
    assert found.result == 18


@pytest.mark.parametrize(
    "formula",
    [
        "768",  # without symbols
        "D*Q",  # an unknown symbol
        "D**2 + 1",  # not the real count
        *("__import__('os')", "D.bit_length()", "D if D else D", "[D]", ""),
    ],
)
def test_no_lines(formula: str) -> None:
    assert lines_of(formula, 768 * 768, D=768) is None


def test_every_formula_of_bert_base() -> None:
    architecture = derived("bert-base-uncased", "masked-lm")
    steps = {node.path: count_steps(node, architecture) for node in architecture.modules}
    for node in architecture.modules:
        found = steps[node.path]
        assert (found is not None) is bool(node.parameters), node.path
        if found is not None:
            assert found.result == sum(term.value for term in found.terms) == node.parameters
            assert " ".join(term.symbols for term in found.terms) == found.symbols
            assert " ".join(term.numbers for term in found.terms) == found.numbers
    layer = steps["bert.encoder.layer.3"]
    assert layer is not None
    assert layer.symbols == "4·D² + 2·D·I + 9·D + I"
    assert layer.numbers == "4·768² + 2·768·3072 + 9·768 + 3072"
    assert layer.result == 7_087_872


def test_no_lines_before_formulas_are_derived() -> None:
    architecture = plain("bert-base-uncased")
    assert all(count_steps(node, architecture) is None for node in architecture.modules)
