"""Every module that was called has a formula: it compiles, and its legend is about it."""

import re
from dataclasses import replace

import pytest
import typst

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import SOURCE, formula_of_steps
from tests.core.formulas.flow_models import traced
from tests.core.formulas.formula_models import TINY

OTHERS = ("mixtral", "gptj", "xlnet", "mobilebert", "cohere2", "gemma2")
SIZED_WEIGHT = re.compile(r"stored \[(out, in|in, out)\]")


def read_off(architecture: Architecture) -> list[tuple[str, Formula]]:
    """Return the formula that each kind of module's flow gives, those with a role too."""
    assert architecture.flows is not None
    found = []
    for path in architecture.flows.distinct:
        node = architecture.module(path)
        assert node is not None
        formula = formula_of_steps(ModuleView.of(node, architecture))
        assert formula is not None
        found.append((path, formula))
    return found


@pytest.mark.parametrize("name", [*TINY, *OTHERS])
def test_every_called_module_has_a_formula(name: str) -> None:
    architecture = traced(name)
    assert architecture.flows is not None
    called = [n for n in architecture.modules if architecture.flows.flow(n.path) is not None]
    assert len(called) > 20
    for node in called:
        assert node.forward_formula, node.path
        assert node.formula_from in ("role", "flow")
        formula = formula_of(node, architecture)
        assert formula is not None
        assert node.forward_formula == " \\ ".join(formula.maths)
        assert (node.formula_from == "role") is bool(node.role), node.path
        assert node.role or formula.source == SOURCE, node.path


@pytest.mark.parametrize("name", [*TINY, *OTHERS])
def test_all_lines_and_symbols_compile(name: str) -> None:
    lines: dict[str, None] = {}
    for _, formula in read_off(traced(name)):
        lines |= dict.fromkeys((*formula.maths, *(term.symbol for term in formula.terms)))
    source = "\n\n".join(f"$ {line} $" for line in lines)
    assert typst.compile(source.encode(), format="svg")


@pytest.mark.parametrize("name", [*TINY, *OTHERS])
def test_the_legend_is_about_the_lines(name: str) -> None:
    architecture = traced(name)
    for path, formula in read_off(architecture):
        lines = " ".join(formula.maths)
        assert [t.symbol for t in formula.terms if t.symbol not in lines] == [], path
        assert formula.summary.endswith(".")
        shapes = {str(list(tensor.shape)) for tensor in architecture.tensors_below(path)}
        weights = [t for t in formula.terms if SIZED_WEIGHT.search(t.meaning)]
        assert all(term.value in shapes for term in weights), path


def test_weights_that_are_multiplied_are_explained() -> None:
    for name in OTHERS:
        for path, formula in read_off(traced(name)):
            told = {term.symbol for term in formula.terms}
            used = set(re.findall(r"[Wb]_[A-Z]\b|[Wb]_\"[^\"]*\"", " ".join(formula.maths)))
            assert used <= told, (name, path)


def test_without_flows_a_class_without_a_role_has_none() -> None:
    architecture = traced("mixtral")
    node = next(n for n in architecture.modules if n.class_name == "MixtralDecoderLayer")
    assert node.role == "layer"
    assert formula_of(node, replace(architecture, flows=None)) is None


def test_where_a_formula_is_from_is_in_the_json() -> None:
    architecture = traced("mixtral")
    told = {it["path"]: it["formula_from"] for it in architecture.to_json()["modules"]}
    assert told["layers.0"] == "role"
    assert told["layers"] == "role"
    assert Architecture.from_json(architecture.to_json()).modules == architecture.modules
