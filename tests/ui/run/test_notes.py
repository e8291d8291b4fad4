"""What has to be known before a run's figures are believed."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.notes import SLOW, equal_layers_note, not_finite_note, run_notes

RUN = ActivationRun(
    source=SourceInfo("demo", "demo", "base", "pretrained"),
    sentence=Sentence("a"),
    tokenizer="model",
    tokens=(),
    modules=(),
    token_norms=(),
    seconds_forward=0.1,
    seconds_total=0.2,
)


def architecture(dtype: str) -> Architecture:
    node = ModuleNode(
        path="",
        class_name="Linear",
        depth=0,
        parameters=4,
        own_parameters=4,
        trainable=4,
        share=1.0,
        repeat=None,
        attributes={},
        count_formula="4",
        forward_formula=None,
        class_module="torch.nn",
    )
    tensor = TensorInfo("weight", (2, 2), dtype, trainable=True, tied_to=None)
    return Architecture(RUN.source, {}, (), (node,), (tensor,))


def test_nothing_is_said_of_an_ordinary_run() -> None:
    assert run_notes(RUN, architecture("float32")) == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_explained_where_it_was_slow(dtype: str) -> None:
    slow = replace(RUN, seconds_forward=2 * SLOW)
    (note,) = run_notes(slow, architecture(dtype))
    assert dtype in note
    assert run_notes(RUN, architecture(dtype)) == []
    assert run_notes(replace(slow, device="cuda:0"), architecture(dtype)) == []
    assert run_notes(slow, architecture("float32")) == []


def test_random_weights_and_stand_ins_are_told() -> None:
    random = replace(RUN, source=replace(RUN.source, weights="random"), tokenizer="stand-in")
    first, second = run_notes(random, architecture("float32"))
    assert "Random weights" in first
    assert "placeholder" in second
    partly = replace(RUN, source=replace(RUN.source, random_tensors=("cls.bias", "cls.weight")))
    assert run_notes(partly, architecture("float32")) == [], "the banner lasts, and says it"


def test_layers_with_what_is_not_finite() -> None:
    assert not_finite_note({}) == not_finite_note({}, {}) == ""
    assert not_finite_note({"": (2,)}) == "NaN or Inf in layer 2"
    assert not_finite_note({"": (1, 5)}) == "NaN or Inf in layers 1, 5"
    assert not_finite_note({"": (3, 4, 5)}) == "NaN or Inf in layers 3–5"


def test_of_several_stacks_each_is_named() -> None:
    decoder = {"decoder.layers": (1, 2, 3)}
    assert not_finite_note(decoder) == "NaN or Inf in decoder.layers 1–3"
    both = not_finite_note({"encoder.layers": (0,), **decoder})
    assert both == "NaN or Inf in encoder.layers 0, decoder.layers 1–3"


def test_of_two_runs_each_is_named() -> None:
    two = {"": (2,)}
    assert not_finite_note(two, {}) == "B: NaN or Inf in layer 2"
    assert not_finite_note({}, two) == "A: NaN or Inf in layer 2"
    both = not_finite_note(two, {"": (3, 4, 5)})
    assert both == "A: NaN or Inf in layers 3–5; B: NaN or Inf in layer 2"
    assert not_finite_note({"": [1, 5]}, {"": [1, 5]}) == "A and B: NaN or Inf in layers 1, 5"


def test_equal_layers_are_explained_for_random_weights_only() -> None:
    model = open_model(parse_source("bert-base-uncased"))
    run = run_sentence(model, Sentence("the cat sat"), random_weights=True)
    note = equal_layers_note(run, model.architecture)
    assert "ends in a LayerNorm" in note
    assert "std 1 and norm √768 = 27.71" in note
    trained = replace(run, source=replace(run.source, weights="pretrained"))
    assert not equal_layers_note(trained, model.architecture)
