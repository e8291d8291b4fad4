"""Sentence vectors are those of transformers, and are compared with unrelated sentences."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from bertviewer.core.analysis.sentence_vectors import SentenceComparison, sentence_vectors
from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.runs.sentence_comparison import (
    CHINESE,
    ENGLISH,
    compare_sentences,
    unrelated_to,
)
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.sentence_pooling import POOLING_MODES, SentencePooling
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.presets import demo_folder
from tests.core.analysis.runs import plain_cosine
from tests.core.checks.small_models import small_model

FIRST, SECOND = "The bank raised its rates.", "The lender increased interest."
Progress = list[tuple[int, int]]
Vectors = Callable[[str], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> LoadedModel:
    return open_model(demo_source)


@pytest.fixture(scope="module")
def compared(demo: LoadedModel) -> tuple[SentenceComparison, Progress]:
    """Return a comparison, and the numbers of the sentences that it reported."""
    reported: Progress = []
    found = compare_sentences(demo, FIRST, SECOND, lambda *it: reported.append(it[:2]))
    return found, reported


@pytest.fixture(scope="module")
def theirs() -> Vectors:
    """Return a function to the vectors that transformers computes, by pooling."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_folder())
    model = transformers.AutoModel.from_pretrained(demo_folder()).eval()

    def vectors(text: str) -> dict[str, np.ndarray]:
        encoding = tokenizer(text, return_tensors="pt", padding="max_length", max_length=24)
        with torch.no_grad():
            padded, alone = model(**encoding), model(**tokenizer(text, return_tensors="pt"))
        # The mean over the mask of a padded batch.
        mask = encoding["attention_mask"][0].double()
        total = (padded.last_hidden_state[0].double() * mask[:, None]).sum(0) / mask.sum()
        return {
            "cls": alone.last_hidden_state[0, 0].numpy(),
            "pooled": alone.pooler_output[0].numpy(),
            "mean": total.numpy(),
        }

    return vectors


def test_vectors_are_those_of_transformers(demo: LoadedModel, theirs: Vectors) -> None:
    run = run_sentence(demo, Sentence(FIRST))
    found, expected = sentence_vectors(run), theirs(FIRST)
    assert found.keys() == expected.keys()
    for pooling, vectors in found.items():
        assert np.abs(vectors[-1] - expected[pooling]).max() < 1e-6
    assert np.array_equal(found["cls"][-1], run.hidden_states[-1][0])
    assert np.array_equal(found["pooled"][-1], run.outputs["pooler_output"][0])


def test_cosines_of_two_sentences_and_of_unrelated_ones(
    compared: tuple[SentenceComparison, Progress], theirs: Vectors
) -> None:
    found, reported = compared
    one, other = theirs(FIRST), theirs(SECOND)
    unrelated = [theirs(text) for text in ENGLISH]
    assert [each.label for each in found.poolings] == ["[CLS]", "pooled", "mean of all tokens"]
    # One for each hidden state, and one pooled vector.
    assert {e.pooling: len(e.cosines) for e in found.poolings} == {"cls": 7, "pooled": 1, "mean": 7}
    for each in found.poolings:
        assert len(each.cosines) == len(each.unrelated)
        cosine = plain_cosine(one[each.pooling], other[each.pooling])
        assert each.last == pytest.approx(cosine, abs=1e-6)
        pairs = combinations([vectors[each.pooling] for vectors in unrelated], 2)
        cosines = [plain_cosine(*pair) for pair in pairs]
        last = each.last_unrelated
        assert last is not None
        assert last.mean == pytest.approx(sum(cosines) / 66, abs=1e-6)
        assert (last.low, last.high) == pytest.approx((min(cosines), max(cosines)), abs=1e-6)
        assert cosine > last.high  # they mean the same
    assert {total for _, total in reported} == {14}
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)


@pytest.mark.parametrize(
    ("family", "poolings"),
    [
        ("gpt2", ["mean", "last"]),
        ("t5", ["mean"]),
        ("distilbert", ["cls", "mean"]),
        ("roberta", ["cls", "pooled", "mean"]),
    ],
)
def test_poolings_of_a_family(family: str, poolings: list[str]) -> None:
    model = small_model(family, vocab_size=200)
    found = compare_sentences(model, "the cat", "a dog", random_weights=True)
    assert [each.pooling for each in found.poolings] == poolings


def test_unrelated_sentences_have_the_script_of_the_text() -> None:
    assert unrelated_to("The bank by the river was closed.") is ENGLISH
    assert unrelated_to("河边的银行关门了。") is CHINESE
    assert unrelated_to("!") is ENGLISH
    assert len(ENGLISH) == len(CHINESE) == 12


def test_the_models_own_pooling(
    demo: LoadedModel, compared: tuple[SentenceComparison, Progress]
) -> None:
    assert demo.source.sentence_pooling == SentencePooling(("mean",), is_normalized=True)
    assert [each.pooling for each in compared[0].poolings if each.is_own] == ["mean"]
    run = run_sentence(demo, Sentence(FIRST))
    state = run.hidden_states[-1].astype(float)
    weights = np.arange(1, len(state) + 1)[:, None]
    expected = {
        "cls": state[0],
        "max": state.max(0),
        "mean": state.mean(0),
        "mean_sqrt_len": state.sum(0) / len(state) ** 0.5,
        "weightedmean": (weights * state).sum(0) / weights.sum(),
        "lasttoken": state[-1],
    }
    for mode in POOLING_MODES:
        own = SentencePooling((mode, "max"))
        vectors = sentence_vectors(replace(run, source=replace(run.source, sentence_pooling=own)))
        whole = np.concatenate([expected[mode], expected["max"]])
        assert np.abs(vectors["own"][0] - whole).max() < 1e-12
