"""Formulas that are written once for a kind are the ones of each of its modules."""

from dataclasses import replace

import pytest

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.formulas.catalogue import equal_modules, with_formulas
from tests.core.formulas.formula_models import all_architectures, architecture_of
from tests.core.formulas.found_formulas import maths_of

ARCHITECTURES = all_architectures()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_module_gets_the_lines_of_its_own_formula(name: str) -> None:
    architecture = ARCHITECTURES[name]
    written = with_formulas(architecture).modules
    assert {node.path: node.forward_formula for node in written} == {
        node.path: maths_of(node, architecture) for node in architecture.modules
    }


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_equal_layers_are_of_a_kind_whatever_their_numbers(family: str) -> None:
    found = equal_modules(architecture_of(family))
    first, second = ("h.0", "h.1") if family == "gpt2" else ("encoder.layer.0", "encoder.layer.1")
    assert found[first] == found[second]
    assert len({kind for path, kind in found.items() if path.startswith(first)}) > 5


def with_attribute(architecture: Architecture, path: str, value: float | bool) -> Architecture:
    return replace(
        architecture,
        modules=tuple(
            replace(node, attributes={**node.attributes, "p": value}) if node.path == path else node
            for node in architecture.modules
        ),
    )


def test_one_other_attribute_makes_another_kind_of_all_above() -> None:
    changed = with_attribute(architecture_of("bert"), "encoder.layer.1.output.dropout", 0.5)
    found = equal_modules(changed)
    assert found["encoder.layer.0.output.dropout"] != found["encoder.layer.1.output.dropout"]
    assert found["encoder.layer.0"] != found["encoder.layer.1"]
    assert found["encoder.layer.0.attention"] == found["encoder.layer.1.attention"]


def test_equal_numbers_that_are_written_otherwise_are_not_of_a_kind() -> None:
    path = "encoder.layer.1.output.dropout"
    other = with_attribute(architecture_of("bert"), "encoder.layer.0.output.dropout", value=1.0)
    found = equal_modules(with_attribute(other, path, value=True))
    assert found["encoder.layer.0.output.dropout"] != found[path]
