"""The formula of every module of every family compiles, and is about this module."""

import json
import re
from collections.abc import Iterator

import pytest
import typst

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.lines import TRACED, formula_of_steps
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.formula_models import MODELS, architecture_of

OTHERS = ("mixtral", "gptj", "xlnet", "mobilebert", "cohere2", "gemma2")
# They keep several weights in one tensor.
PACKED = (
    *("MultiheadAttention", "ModernBertAttention", "ModernBertMLP", "ModernBertEncoderLayer"),
    "DisentangledSelfAttention",
)
SIZED_WEIGHT = re.compile(r"limits\((W[^()]*?)(\^top)?\)_\((\d+) times (\d+)\)")
STORED = re.compile(r"stored \[(out, in|in, out)\]")


def formulas_of(architecture: Architecture) -> Iterator[tuple[ModuleNode, Formula]]:
    """Yield the modules that have a formula, as all do that are called, with it."""
    assert architecture.flows is not None
    for node in architecture.modules:
        formula = formula_of(node, architecture)
        if formula is None:
            assert architecture.flows.flow(node.path) is None, f"{node.path}: no formula"
            assert not node.forward_formula
        else:
            yield node, formula


def steps_of(architecture: Architecture) -> Iterator[tuple[ModuleNode, Formula]]:
    """Yield the formulas of plain steps, those of modules with a role too."""
    assert architecture.flows is not None
    for path in architecture.flows.distinct:
        node = architecture.module(path)
        assert node is not None
        formula = formula_of_steps(ModuleView.of(node, architecture))
        assert formula is not None
        yield node, formula


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_every_formula_is_complete_and_about_its_module(name: str) -> None:
    architecture = architecture_of(*name.split())
    again = Architecture.from_json(json.loads(json.dumps(architecture.to_json())))
    assert again.modules == architecture.modules
    for node, formula in formulas_of(architecture):
        at = f"{node.path}: {formula.title}"
        assert node.forward_formula == " \\ ".join(formula.maths), at
        assert node.formula_from == ("role" if node.role else "flow"), at
        assert node.role or formula.source == TRACED, at
        assert all(key in architecture.config for key in formula.config_keys), at
        check_texts(formula, at)
        if name not in OTHERS:  # XLNet keeps the heads apart
            check_sizes(architecture, node, formula, at)
        if "cross-attention" in formula.title:
            said = " ".join((*formula.notes, *(term.meaning for term in formula.terms)))
            assert "later positions" not in said, at
            assert "causal" not in said, at
    for node, formula in steps_of(architecture):
        check_texts(formula, f"steps of {node.path}")
        shapes = {str(list(tensor.shape)) for tensor in architecture.tensors_below(node.path)}
        weights = [term for term in formula.terms if STORED.search(term.meaning)]
        assert all(term.value in shapes for term in weights), node.path


def check_texts(formula: Formula, at: str) -> None:
    """Check that texts are whole, and that the legend is about the lines."""
    assert formula.title, at
    assert formula.maths, at
    assert formula.source, at
    assert all(text.endswith(".") for text in (formula.summary, *formula.notes)), at
    assert "  " not in " ".join((formula.title, formula.summary, *formula.notes)), at
    lines = " ".join((*formula.maths, *(term.value or "" for term in formula.terms)))
    symbols = {part for term in formula.terms for part in term.symbol.split(", ")}
    assert {symbol for symbol in symbols if symbol not in lines} == set(), at


def check_sizes(architecture: Architecture, node: ModuleNode, formula: Formula, at: str) -> None:
    """Check that the sizes of weights are those of stored tensors."""
    shapes = {t.shape for t in architecture.tensors_below(node.path)}
    # GPT-2, torch and ModernBERT keep two or three weights in one tensor.
    parts = {(s[0] // n, s[1]) for s in shapes if len(s) == 2 for n in (2, 3) if s[0] % n == 0}
    parts |= {(s[0], s[1] // n) for s in shapes if len(s) == 2 for n in (2, 3) if s[1] % n == 0}
    held = shapes if node.class_name in ("Linear", "Embedding") else shapes | parts
    for symbol, transposed, *size in SIZED_WEIGHT.findall(" ".join(formula.maths)):
        shape = tuple(map(int, size))
        assert (shape[::-1] if transposed else shape) in held, f"{at}: {symbol}"
    if node.class_name not in PACKED:
        for term in formula.terms:
            if term.meaning.endswith("stored [out, in]"):
                assert term.value in {str(list(shape)) for shape in shapes}, f"{at}: {term.symbol}"


def test_every_formula_compiles() -> None:
    lines: dict[str, None] = {}
    for name in (*MODELS, *OTHERS):
        architecture = architecture_of(*name.split())
        for node, formula in (*formulas_of(architecture), *steps_of(architecture)):
            symbols = (term.symbol for term in formula.terms)
            lines |= dict.fromkeys((*formula.maths, *symbols, node.forward_formula or ""))
    source = "\n\n".join(f"$ {line} $" for line in lines)
    assert len(lines) > 500
    assert typst.compile(source.encode(), format="svg")


def test_weights_that_are_multiplied_are_explained() -> None:
    for name in OTHERS:
        for node, formula in steps_of(architecture_of(name)):
            terms = {term.symbol for term in formula.terms}
            used = set(re.findall(r"[Wb]_[A-Z]\b|[Wb]_\"[^\"]*\"", " ".join(formula.maths)))
            assert used <= terms, (name, node.path)
