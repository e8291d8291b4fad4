"""What each family of models satisfies: structure, graph, multiply-adds, formulas, check."""

import copy
import json
import re
import sys
from functools import cache, cached_property
from typing import Any

import pytest
import typst

from bertviewer.core.checks.check import check_run
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.lines import TRACED, formula_of_steps
from bertviewer.core.graph.inputs.signature import text_inputs
from bertviewer.core.graph.trace import macs_by_module
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows
from bertviewer.core.schema.modules import ModuleNode
from tests.core.checks.small_models import crosses, run, small_model
from tests.core.formulas.contents import contents_of_flow, contents_of_formula, pairs_in
from tests.core.formulas.formula_models import MODELS, OTHERS, architecture_of, node_at
from tests.core.graph.narrow_models import counted_by_torch, is_known_to_torch
from tests.core.graph.readers import LENGTHS, assert_in_order, meta_model

# Reformer and Switch Transformers cannot be traced without values.
FAMILIES = (*MODELS, *(name for name in OTHERS if name not in ("reformer", "switch_transformers")))

# They store several weights in one tensor.
PACKED = (
    *("MultiheadAttention", "ModernBertAttention", "ModernBertMLP", "ModernBertEncoderLayer"),
    "DisentangledSelfAttention",
)
# Convolutions and routers next to attention, biases of queries, weights that are divided first.
NOT_COMPARABLE = ("convbert", "funnel", "mixtral", "qwen3_moe", "rwkv", "xlnet")
SIZED_WEIGHT = re.compile(r"limits\((W[^()]*?)(\^top)?\)_\((\d+) times (\d+)\)")
STORED = re.compile(r"stored \[(out, in|in, out)\]")


class Family:
    """A small model of a family, built, traced, explained and run once."""

    def __init__(self, name: str, task: str = "base") -> None:
        self.name, self.task = name, task
        self.meta = meta_model(name, task)
        self.architecture = architecture_of(name, task)
        assert self.architecture.flows is not None
        self.flows: Flows = self.architecture.flows

    @cached_property
    def model(self) -> LoadedModel:
        """The model with random weights."""
        return small_model(self.name, self.task)

    @cached_property
    def formulas(self) -> list[tuple[ModuleNode, Formula]]:
        """All modules with a formula."""
        found = [(node, formula_of(node, self.architecture)) for node in self.architecture.modules]
        return [(node, formula) for node, formula in found if formula is not None]

    @cached_property
    def step_formulas(self) -> list[tuple[ModuleNode, Formula]]:
        """The formulas of plain steps, also those of modules with a role."""
        nodes = [node_at(self.architecture, path) for path in self.flows.distinct]
        found = [(it, formula_of_steps(ModuleView.of(it, self.architecture))) for it in nodes]
        return [(node, formula) for node, formula in found if formula is not None]


@cache
def family_of(name: str) -> Family:
    return Family(*name.split())


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return family_of(request.param)


def test_modules_and_counts_are_those_of_the_model(family: Family) -> None:
    architecture = family.model.architecture
    module = family.model.module(random_weights=True)
    parameters = dict(module.named_parameters())  # a shared tensor has its first name only
    assert [node.path for node in architecture.modules] == [it for it, _ in module.named_modules()]
    for node in architecture.modules:
        prefix = f"{node.path}." if node.path else ""
        below = [tensor for name, tensor in parameters.items() if name.startswith(prefix)]
        assert node.parameters == sum(tensor.numel() for tensor in below), node.path
        kind = getattr(sys.modules[node.class_module], node.class_name)
        assert type(module.get_submodule(node.path)) is kind, node.path


def test_trace_and_flows_are_consistent(family: Family) -> None:
    trace, reader, flows = family.meta.trace, family.meta.reader, family.flows
    assert_in_order(trace)
    assert Flows.from_json(json.loads(json.dumps(flows.to_json()))) == flows
    assert not flows.missing
    for flow in flows.distinct.values():
        assert flow.is_consistent, flow.path
        assert all(edge.source != edge.target for edge in flow.edges), flow.path
    patterns = {id(each): each for each in reader.patterns.outer.values()}.values()
    grouped = [number for pattern in patterns for number in pattern.operations]
    assert len(grouped) == len(set(grouped))
    # Every multiply-add of a module is in one of its nodes.
    macs = macs_by_module(trace)
    for path, numbers in trace.calls_of.items():
        if len(numbers) == 1 and trace.calls[numbers[0]].operations:
            found = flows.flow(path)
            assert found is not None
            # SqueezeBERT's head does not read the pooler.
            is_complete = path or (family.name, family.task) != ("squeezebert", "masked-lm")
            assert found.macs == macs[path] or not is_complete, path


def test_multiply_adds_are_those_that_torch_counts(family: Family) -> None:
    model: Any = copy.deepcopy(family.model.module(random_weights=True))
    if model.config.is_encoder_decoder and family.task == "sequence-classification":
        pytest.skip("its head needs a source and a target of equal lengths")
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")  # torch does not count grouped products
    arguments = text_inputs(model, LENGTHS).arguments
    model(**arguments)  # BigBird replaces its attention in the first call
    with counted_by_torch(model) as counted:
        model(**arguments)
    macs = macs_by_module(family.meta.trace)
    assert macs[""] > 0
    for path, count in macs.items():
        if is_known_to_torch(model.get_submodule(path)):
            assert 2 * count == counted.get(path, 0), path


def test_every_called_module_has_a_formula_about_it(family: Family) -> None:
    architecture = family.architecture
    again = Architecture.from_json(json.loads(json.dumps(architecture.to_json())))
    assert again.modules == architecture.modules
    explained = {node.path for node, _ in family.formulas}
    for node in architecture.modules:
        assert node.path in explained or family.flows.flow(node.path) is None, node.path
        assert bool(node.forward_formula) is (node.path in explained), node.path
    for node, formula in family.formulas:
        at = f"{node.path}: {formula.title}"
        assert node.forward_formula == " \\ ".join(formula.maths), at
        assert node.formula_from == ("role" if node.role else "flow"), at
        assert node.role or formula.source == TRACED, at
        assert all(key in architecture.config for key in formula.config_keys), at
        check_texts(formula, at)
        if family.name != "xlnet":  # its weights have an axis for the heads
            check_sizes(architecture, node, formula, at)
        if "cross-attention" in formula.title:
            texts = " ".join((*formula.notes, *(term.meaning for term in formula.terms)))
            assert "later positions" not in texts, at
            assert "causal" not in texts, at
    assert len(family.step_formulas) == len(family.flows.distinct)
    for node, formula in family.step_formulas:
        check_texts(formula, f"steps of {node.path}")
        shapes = {str(list(tensor.shape)) for tensor in architecture.tensors_below(node.path)}
        weights = [term for term in formula.terms if STORED.search(term.meaning)]
        assert all(term.value in shapes for term in weights), node.path


def check_texts(formula: Formula, at: str) -> None:
    """Check that texts are complete, and that the legend is about the lines."""
    assert formula.title, at
    assert formula.maths, at
    assert formula.source, at
    assert all(text.endswith(".") for text in (formula.summary, *formula.notes)), at
    assert "  " not in " ".join((formula.title, formula.summary, *formula.notes)), at
    lines = " ".join((*formula.maths, *(term.value or "" for term in formula.terms)))
    symbols = {part for term in formula.terms for part in term.symbol.split(", ")}
    assert {symbol for symbol in symbols if symbol not in lines} == set(), at
    used = set(re.findall(r"[Wb]_[A-Z]\b|[Wb]_\"[^\"]*\"", " ".join(formula.maths)))
    assert used <= {term.symbol for term in formula.terms}, at


def check_sizes(architecture: Architecture, node: ModuleNode, formula: Formula, at: str) -> None:
    """Check that the sizes of weights are those of stored tensors, or of parts of them."""
    shapes = {t.shape for t in architecture.tensors_below(node.path)}
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


def test_formulas_multiply_and_normalise_what_the_flows_do(family: Family) -> None:
    pairs = [pair for pair in pairs_in(family.architecture) if pair.is_comparable]
    if family.name in NOT_COMPARABLE:
        pairs = []
    assert len(pairs) >= 5 or family.name in OTHERS
    for pair in pairs:
        expected = contents_of_flow(pair.flow, family.architecture, pair.omitted)
        assert contents_of_formula(pair.formula) == expected, pair.node.path


def test_a_run_is_what_the_reference_computes(family: Family) -> None:
    cache = run(family.model)
    check = check_run(family.model, cache)
    assert crosses(check) == set()
    assert check.unchecked == ()
    assert {step.path for step in check.steps} == set(cache.calls)
    assert {step.proof for step in check.steps} >= {"reference"}


def test_every_formula_compiles() -> None:
    lines: dict[str, None] = {}
    for family in map(family_of, FAMILIES):
        for node, formula in (*family.formulas, *family.step_formulas):
            symbols = (term.symbol for term in formula.terms)
            lines |= dict.fromkeys((*formula.maths, *symbols, node.forward_formula or ""))
    source = "\n\n".join(f"$ {line} $" for line in lines)
    assert len(lines) > 500
    assert typst.compile(source.encode(), format="svg")
