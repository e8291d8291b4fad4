"""Notes that qualify the figures of a run."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.notes import SLOW, equal_layers_note, not_finite_note, run_notes
from tests.charts.runs import make_run

BASE = make_run()
RUN = replace(BASE, source=replace(BASE.source, weights="pretrained"), tokenizer="model")


def notes(run: ActivationRun, dtype: str = "float32") -> list[str]:
    tensor = TensorInfo("weight", (2, 2), dtype, trainable=True, tied_to=None)
    return run_notes(run, Architecture(run.source, {}, (), (), (tensor,)))


def test_an_ordinary_run_has_none() -> None:
    assert notes(RUN) == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_explained_where_it_was_slow(dtype: str) -> None:
    slow = replace(RUN, seconds_forward=2 * SLOW)
    (note,) = notes(slow, dtype)
    assert dtype in note
    assert notes(RUN, dtype) == []
    assert notes(replace(slow, device="cuda:0"), dtype) == []
    assert notes(slow) == []


def test_weights_tokenizer_and_truncation() -> None:
    random = replace(RUN, source=replace(RUN.source, weights="random"))
    tokens = tuple(Token(n, "a", 0) for n in range(7))
    cut = replace(RUN, sentence=replace(RUN.sentence, cut=True), tokens=tokens)
    for run, words in (
        (random, "Random weights"),
        (replace(RUN, tokenizer="stand-in"), "placeholder"),
        (cut, "7"),
    ):
        (note,) = notes(run)
        assert words in note
    # A banner reports missing tensors as long as the model is open.
    partly = replace(RUN, source=replace(RUN.source, random_tensors=("cls.bias", "cls.weight")))
    assert notes(partly) == []


@pytest.mark.parametrize(
    ("b", "a", "note"),
    [
        ({}, None, ""),
        ({}, {}, ""),
        ({"": (2,)}, None, "NaN or Inf in layer 2"),
        ({"": (1, 5)}, None, "NaN or Inf in layers 1, 5"),
        ({"": (3, 4, 5)}, None, "NaN or Inf in layers 3–5"),
        ({"decoder.layers": (1, 2, 3)}, None, "NaN or Inf in decoder.layers 1–3"),
        (
            {"encoder.layers": (0,), "decoder.layers": (1, 2, 3)},
            None,
            "NaN or Inf in encoder.layers 0, decoder.layers 1–3",
        ),
        ({"": (2,)}, {}, "B: NaN or Inf in layer 2"),
        ({}, {"": (2,)}, "A: NaN or Inf in layer 2"),
        (
            {"": (2,)},
            {"": (3, 4, 5)},
            "A: NaN or Inf in layers 3–5; B: NaN or Inf in layer 2",
        ),
        ({"": (1, 5)}, {"": (1, 5)}, "A and B: NaN or Inf in layers 1, 5"),
    ],
)
def test_layers_with_nan_or_inf(
    b: dict[str, tuple[int, ...]], a: dict[str, tuple[int, ...]] | None, note: str
) -> None:
    assert not_finite_note(b, a) == note


def test_equal_layers_are_explained_for_random_weights(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder / "config.json")))
    run = run_sentence(model, Sentence("the cat sat"), random_weights=True)
    note = equal_layers_note(run, model.architecture)
    assert "ends in a LayerNorm" in note
    assert "std 1 and norm √32 = 5.657" in note
    trained = replace(run, source=replace(run.source, weights="pretrained"))
    assert not equal_layers_note(trained, model.architecture)
