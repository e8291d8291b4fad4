"""A count in symbols, in numbers, and its result."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import CountTerm, count_steps, readable, steps_of
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source

NODE = ModuleNode("", "Model", 0, 0, 0, 0, 1.0, None, {}, "0", None)


def architecture(**values: int) -> Architecture:
    symbols = tuple(Symbol(letter, letter.lower(), value, "") for letter, value in values.items())
    return Architecture(SourceInfo("preset", "x", "base", "none"), {}, symbols, (NODE,), ())


Lines = tuple[str, str, int]


def steps(formula: str, parameters: int, **values: int) -> Lines | None:
    """Return the three lines."""
    node = replace(NODE, count_formula=formula, parameters=parameters)
    found = count_steps(node, architecture(**values))
    return None if found is None else (found.symbols, found.numbers, found.result)


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("12*D**2 + 13*D", "12·D² + 13·D"),
        ("N*(4*D**2 + 2*D*I + 9*D + I)", "N·(4·D² + 2·D·I + 9·D + I)"),
        ("D**10", "D¹⁰"),
        ("A_kv*D**2//A", "A_kv·D² / A"),
        ("(N-1)*(D - 1)", "(N−1)·(D − 1)"),
        ("0", "0"),
    ],
)
def test_readable(formula: str, shown: str) -> None:
    assert readable(formula) == shown


def test_the_three_lines() -> None:
    assert steps("N*(12*D**2 + 13*D)", 85_054_464, N=12, D=768) == (
        "N·(12·D² + 13·D)",
        "12·(12·768² + 13·768)",
        85_054_464,
    )


def test_terms_stand_under_one_another() -> None:
    found = steps_of("V*D - D + N*(D**2 - 2*D)", {"V": 5, "D": 3, "N": 2})
    assert found is not None
    assert found.terms == (
        CountTerm("V·D", "5·3", 15),
        CountTerm("− D", "− 3", -3),
        CountTerm("+ N·(D² − 2·D)", "+ 2·(3² − 2·3)", 6),
    )
    assert found.result == 18


def test_letters_with_an_index_are_replaced_whole() -> None:
    found = steps("N_e*N + N_d", 4 * 3 + 5, N=3, N_e=4, N_d=5)
    assert found == ("N_e·N + N_d", "4·3 + 5", 17)


def test_a_division() -> None:
    assert steps("A_kv*D**2//A", 2 * 48**2 // 8, A_kv=2, D=48, A=8) == (
        "A_kv·D² / A",
        "2·48² / 8",
        576,
    )


@pytest.mark.parametrize(
    "formula",
    [
        "768",  # nothing to explain
        "D*Q",  # an unknown letter
        "D**2 + 1",  # not the real count
        "__import__('os')",
        "D.bit_length()",
        "D if D else D",
        "[D]",
        "",
    ],
)
def test_what_is_not_shown(formula: str) -> None:
    assert steps(formula, 768 * 768, D=768) is None


def test_every_formula_of_the_demo_model(demo_source: ModelSource) -> None:
    found = open_model(demo_source).with_formulas()
    every = {node.path: count_steps(node, found) for node in found.modules}
    for node in found.modules:
        shown = every[node.path]
        if node.parameters:
            assert shown is not None, node.path
            assert shown.result == node.parameters
            assert " ".join(term.symbols for term in shown.terms) == shown.symbols
            assert " ".join(term.numbers for term in shown.terms) == shown.numbers
            assert sum(term.value for term in shown.terms) == shown.result
        else:
            assert shown is None, node.path
    root, pooler = every[""], every["pooler"]
    assert root is not None
    assert root.result == 22_713_216
    assert pooler is not None
    assert (pooler.symbols, pooler.numbers) == ("D² + D", "384² + 384")
    layer = every["encoder.layer.3"]
    assert layer is not None
    assert layer.symbols == "4·D² + 2·D·I + 9·D + I"
    assert layer.numbers == "4·384² + 2·384·1536 + 9·384 + 1536"
    assert layer.result == 1_774_464


@pytest.mark.usefixtures("nothing_was_seen")
def test_nothing_before_the_formulas_are_derived(tiny_bert_folder: Path) -> None:
    plain = open_model(parse_source(str(tiny_bert_folder))).architecture
    assert all(count_steps(node, plain) is None for node in plain.modules)
