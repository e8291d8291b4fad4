"""Sentence vectors, compared with sums by hand and with unrelated sentences."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
import torch

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
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from tests.core.analysis.runs import plain_cosine
from tests.core.checks.small_models import small_model

FIRST, SECOND = "The bank raised its rates.", "The lender increased interest."


@cache
def demo() -> LoadedModel:
    return open_model(parse_source("demo"))


@cache
def compared() -> SentenceComparison:
    return compare_sentences(demo(), FIRST, SECOND)


def by_hand(text: str) -> dict[str, np.ndarray]:
    """Return the vectors that transformers gives, the mean as a sum over the mask."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_folder())
    model = transformers.AutoModel.from_pretrained(demo_folder()).eval()
    encoding = tokenizer(text, return_tensors="pt", padding="max_length", max_length=24)
    plain = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        padded, alone = model(**encoding), model(**plain)
    mask = encoding["attention_mask"][0].double()
    total = (padded.last_hidden_state[0].double() * mask[:, None]).sum(0) / mask.sum()
    return {
        "cls": alone.last_hidden_state[0, 0].numpy(),
        "pooled": alone.pooler_output[0].numpy(),
        "mean": total.numpy(),
    }


def test_the_vectors_are_those_of_the_sums_by_hand() -> None:
    run = run_sentence(demo(), Sentence(FIRST))
    found, theirs = sentence_vectors(run), by_hand(FIRST)
    assert found.keys() == theirs.keys()
    # The mean is over the mask of a padded batch, in which sums have another order.
    for pooling, vectors in found.items():
        assert np.abs(vectors[-1] - theirs[pooling]).max() < 1e-6
    assert np.array_equal(found["cls"][-1], run.hidden_states[-1][0])
    assert np.array_equal(found["pooled"][-1], run.outputs["pooler_output"][0])


def test_two_sentences_have_the_cosines_of_these() -> None:
    one, other = by_hand(FIRST), by_hand(SECOND)
    for each in compared().poolings:
        assert each.last == pytest.approx(
            plain_cosine(one[each.pooling], other[each.pooling]), abs=1e-6
        )
    assert [each.label for each in compared().poolings] == ["[CLS]", "pooled", "mean of all tokens"]


def test_the_baseline_is_of_all_pairs_of_unrelated_sentences() -> None:
    means = [by_hand(text)["mean"] for text in ENGLISH]
    cosines = [plain_cosine(one, other) for one, other in combinations(means, 2)]
    baseline = next(e for e in compared().poolings if e.pooling == "mean").last_unrelated
    assert baseline is not None
    assert baseline.mean == pytest.approx(sum(cosines) / 66, abs=1e-6)
    assert baseline.low == pytest.approx(min(cosines), abs=1e-6)
    assert baseline.high == pytest.approx(max(cosines), abs=1e-6)


def test_two_that_mean_the_same_are_above_all_unrelated_ones() -> None:
    for each in compared().poolings:
        assert each.last is not None
        assert each.last_unrelated is not None
        assert each.last > each.last_unrelated.high


def test_there_is_one_for_each_hidden_state_and_one_that_is_pooled() -> None:
    assert {e.pooling: len(e.cosines) for e in compared().poolings} == {
        "cls": 7,
        "pooled": 1,
        "mean": 7,
    }
    assert all(len(each.cosines) == len(each.unrelated) for each in compared().poolings)


@pytest.mark.parametrize(
    ("family", "poolings"),
    [
        ("gpt2", ["mean", "last"]),
        ("llama", ["mean", "last"]),
        ("t5", ["mean"]),
        ("distilbert", ["cls", "mean"]),
        ("roberta", ["cls", "pooled", "mean"]),
    ],
)
def test_a_family_has_the_vectors_that_it_has(family: str, poolings: list[str]) -> None:
    model = small_model(family, vocab_size=200)
    found = compare_sentences(model, "the cat", "a dog", random_weights=True)
    assert [each.pooling for each in found.poolings] == poolings


def test_it_can_be_stopped_between_two_sentences() -> None:
    told = []

    def progress(done: int, total: int, label: str) -> None:
        told.append((done, total, label))

    compare_sentences(demo(), FIRST, SECOND, progress)
    assert {total for _, total, _ in told} == {14}
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_unrelated_sentences_are_in_the_writing_of_the_text() -> None:
    assert unrelated_to("The bank by the river was closed.") is ENGLISH
    assert unrelated_to("河边的银行关门了。") is CHINESE
    assert unrelated_to("!") is ENGLISH
    assert len(ENGLISH) == len(CHINESE) == 12
