"""Formulas that are written once for a kind are the ones of each of its modules."""

import pytest

from bertviewer.core.formulas.catalogue import with_formulas
from tests.core.formulas.formula_models import all_architectures
from tests.core.formulas.found_formulas import maths_of

ARCHITECTURES = all_architectures()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_module_gets_the_lines_of_its_own_formula(name: str) -> None:
    architecture = ARCHITECTURES[name]
    written = with_formulas(architecture).modules
    assert {node.path: node.forward_formula for node in written} == {
        node.path: maths_of(node, architecture) for node in architecture.modules
    }
