"""The teacher's walk: BERT's seventeen steps, and the values of the last run."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.walkthrough.build import build_walkthrough
from tests.core.opened import derived
from tests.core.walkthrough.small_walkthroughs import flowing, step

# Name, count with numbers put in, elements: S3, BERT-large with the Chinese vocabulary.
SEVENTEEN = (
    ("Token IDs", "", 0),
    ("Segment IDs", "", 0),
    ("Token embedding", "21128*1024", 21_635_072),
    ("Segment embedding", "2*1024", 2_048),
    ("Add", "", 0),
    ("Position embedding", "512*1024", 524_288),
    ("Embedding norm", "2*1024", 2_048),
    ("Embedding dropout", "", 0),
    ("Multi-head self-attention", "4*(1024*1024+1024)", 4_198_400),
    ("Dropout", "", 0),
    ("Add", "", 0),
    ("Norm", "2*1024", 2_048),
    ("Feed-forward network", "(1024*4096+4096)+(4096*1024+1024)", 8_393_728),
    ("Dropout", "", 0),
    ("Add", "", 0),
    ("Norm", "2*1024", 2_048),
    ("Layers 1–23", "23*12,596,224", 23 * 12_596_224),
)


class TestBertLargeChinese:
    def test_the_seventeen_steps(self) -> None:
        walk = build_walkthrough(derived("bert-large-chinese"))
        seen = [(s.name, s.count.numbers, s.count.parameters) for s in walk.steps]
        assert tuple(seen[:17]) == SEVENTEEN
        assert seen[17:] == [("Pooler", "1024*1024+1024", 1_049_600)]
        assert [s.number for s in walk.steps] == list(range(1, 19))

    def test_subtotals(self) -> None:
        walk = build_walkthrough(derived("bert-large-chinese"))
        assert [(part.title, part.parameters) for part in walk.sections] == [
            ("Embeddings", 22_163_456),
            ("One layer", 12_596_224),
            ("Other layers", 289_713_152),
            ("After the layers", 1_049_600),
        ]
        assert sum(s.count.parameters for s in walk.steps[:17]) == 324_472_832
        assert walk.parameters == walk.expected == 325_522_432
        assert all(part.reconciles for part in walk.sections)
        layer = walk.sections[1]
        assert (layer.times, layer.symbols) == (24, "N")

    def test_in_symbols(self) -> None:
        walk = build_walkthrough(derived("bert-large-chinese"))
        assert [s.count.symbols for s in walk.steps if s.count.parameters] == [
            "V*D",
            "T*D",
            "L*D",
            "2*D",
            "4*(D*D+D)",
            "2*D",
            "(D*I+I)+(I*D+D)",
            "2*D",
            "(N-1)*(4*D**2 + 2*D*I + 9*D + I)",
            "D*D+D",
        ]

    def test_shapes(self) -> None:
        walk = build_walkthrough(replace(derived("bert-large-chinese"), costs=None))
        attention = step(walk, "Multi-head self-attention")
        assert attention.input_shape is not None
        assert attention.input_shape.text == "[B, S, D]"
        assert attention.input_shape.numbers == "[B, S, 1024]"
        table, pooler = step(walk, "Token embedding"), step(walk, "Pooler")
        assert table.input_shape is not None
        assert table.output_shape is not None
        assert (table.input_shape.text, table.output_shape.text) == ("[B, S]", "[B, S, D]")
        assert pooler.output_shape is not None
        assert pooler.output_shape.text == "[B, D]"
        assert step(walk, "Token IDs").output_shape == table.input_shape

    def test_every_path_is_a_module(self) -> None:
        architecture = derived("bert-large-chinese")
        paths = {node.path for node in architecture.modules}
        walk = build_walkthrough(architecture)
        assert {s.path for s in walk.steps if s.path is not None} <= paths
        assert step(walk, "Feed-forward network").path == "encoder.layer.0.intermediate"
        assert step(walk, "Layers 1–23").path == "encoder.layer.1"

    def test_before_the_formulas_are_derived(self) -> None:
        walk = build_walkthrough(flowing("bert-large-chinese"))
        seen = [(s.name, s.count.numbers, s.count.parameters) for s in walk.steps]
        assert tuple(seen[:17]) == SEVENTEEN
        assert not any(s.count.symbols for s in walk.steps)
        attention = step(walk, "Multi-head self-attention")
        assert attention.input_shape is not None
        assert attention.input_shape.text == "[B, S, 1024]"


@pytest.fixture(scope="module")
def run_of_two(demo_source: ModelSource) -> tuple[Architecture, ActivationRun]:
    model = open_model(demo_source)
    run = run_sentence(model, Sentence("a test", "the cat"))
    return model.with_flows(), run


def test_the_last_runs_ids(run_of_two: tuple[Architecture, ActivationRun]) -> None:
    walk = build_walkthrough(*run_of_two)
    tokens, segments = walk.steps[:2]
    assert tokens.values == "101 1037 3231 102 1996 4937 102"
    assert segments.values == "0 0 0 0 1 1 1"
    attention = step(walk, "Multi-head self-attention")
    assert attention.output_shape is not None
    assert attention.output_shape.numbers == "[1, 7, 384]"


def test_long_ids_are_shortened(run_of_two: tuple[Architecture, ActivationRun]) -> None:
    architecture, run = run_of_two
    walk = build_walkthrough(architecture, replace(run, tokens=run.tokens * 3))
    assert walk.steps[0].values == "101 1037 3231 102 1996 4937 102 101 … 102"


def test_a_tensor_that_no_plan_knows_is_counted() -> None:
    """A class of a known name with a tensor more than usual still adds up."""
    architecture = flowing("bert-base-uncased")
    odd = replace(architecture.parameters[0], name="encoder.layer.0.extra", shape=(7,))
    node = architecture.modules[0]

    def grown(path: str) -> bool:
        return path in ("", "encoder", "encoder.layer", "encoder.layer.0")

    modules = tuple(
        replace(
            m,
            parameters=m.parameters + 7 * grown(m.path),
            own_parameters=m.own_parameters + 7 * (m.path == "encoder.layer.0"),
        )
        for m in architecture.modules
    )
    changed = replace(architecture, modules=modules, parameters=(*architecture.parameters, odd))
    walk = build_walkthrough(changed)
    assert walk.parameters == node.parameters + 7
    assert walk.reconciles
    assert any(s.path == "encoder.layer.0" and s.count.parameters == 7 for s in walk.steps)


def test_a_walk_that_misses_something_says_so() -> None:
    walk = build_walkthrough(flowing("bert-base-uncased"))
    part = walk.sections[0]
    short = replace(part, steps=part.steps[:3])
    assert not short.reconciles
    assert not replace(walk, sections=(short, *walk.sections[1:])).reconciles
