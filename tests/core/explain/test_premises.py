"""A question about values is asked exactly where the run's numbers have what it asks about.

Made-up runs on either side of each threshold; the premises are computed again here.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    head_distances,
    head_entropies,
    head_measures,
)
from bertviewer.core.analysis.predictions import Candidate, Guess, Predictions
from bertviewer.core.analysis.similarity import cosine_matrix
from bertviewer.core.explain import attention, layers, vectors
from bertviewer.core.explain.answers import (
    EXPLANATIONS,
    answers_for_module,
    answers_for_section,
    answers_for_view,
)
from bertviewer.core.explain.explanation import Answer, Context
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.source_info import Weights
from bertviewer.core.statistics.row_statistics import measure_rows
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.explain.test_runs import bert, gpt2, untrained

Maps = NDArray[np.float32]
SHARES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12)


def weighted(run: ActivationRun, weights: Weights) -> ActivationRun:
    return replace(run, source=replace(run.source, weights=weights))


def sentence(words: int, *, is_framed: bool, weights: Weights = "pretrained") -> ActivationRun:
    texts = [f"w{number}" for number in range(words)]
    framed = ["[CLS]", *texts, "[SEP]"] if is_framed else texts
    run = replace(run_of(tokens_of(*framed)), modules=bert().run.modules + gpt2().run.modules)
    return weighted(run, weights)


def maps_of(path: str, probabilities: NDArray[np.float64]) -> AttentionMaps:
    """Return maps with these probabilities [A, S, S]."""
    given, positions = probabilities.astype(np.float32), tuple(range(probabilities.shape[1]))
    entropies, distances = head_entropies(given), head_distances(given)
    return AttentionMaps(path, 0, 1, given, positions, positions, entropies, distances)


def sharing(shares: Sequence[float], tokens: int, chosen: Sequence[int]) -> NDArray[np.float64]:
    """Return maps of heads that give some tokens a share, and the others the rest."""
    maps = np.empty((len(shares), tokens, tokens))
    for head, share in enumerate(shares):
        maps[head] = (1 - share) / (tokens - len(chosen))
        maps[head][:, list(chosen)] = share / len(chosen)
    return maps


def sinking(shares: Sequence[float], tokens: int) -> NDArray[np.float64]:
    """Return causal maps of heads whose later tokens give the first one a share."""
    maps = np.zeros((len(shares), tokens, tokens))
    maps[:, 0, 0] = 1
    for head, share in enumerate(shares):
        for row in range(1, tokens):
            maps[head, row, : row + 1] = (1 - share) / row
            maps[head, row, 0] = share
    return maps


def is_focused(shares: Sequence[float], uniform: float) -> bool:
    """Return whether most of several heads give a share far above that of uniform attention."""
    limit = max(attention.MULTIPLE * uniform, attention.LEAST_SHARE)
    assume(all(abs(share - limit) > 1e-4 for share in shares))
    count = sum(share > limit for share in shares)
    return len(shares) > 1 and count / len(shares) > attention.MOST_HEADS


def found(answers: Sequence[Answer], name: str) -> Answer | None:
    return next((answer for answer in answers if answer.name == name), None)


@given(SHARES, st.integers(1, 60))
@settings(max_examples=60)
def test_heads_that_attend_to_special_tokens(shares: list[float], words: int) -> None:
    run, path = sentence(words, is_framed=True), "encoder.layer.1.attention.self"
    maps = maps_of(path, sharing(shares, words + 2, (0, words + 1)))
    answer = found(
        answers_for_view("Attention", bert().model.architecture, run, maps), "special-tokens"
    )
    assert (answer is not None) == is_focused(shares, 2 / (words + 2))
    if answer is not None:
        assert "heads of layer 1 attend" in answer.question
        shown = [int(number) for number in re.findall(r"(\d+)%", answer.measured)]
        expected = [2 / (words + 2), float(np.mean(shares)), max(shares)]
        assert shown == pytest.approx([100 * each for each in expected], abs=0.51)
        assert shown[1] > shown[0]
    # Random weights have no preference.
    random = weighted(run, "random")
    answers = answers_for_view("Attention", bert().model.architecture, random, maps)
    assert found(answers, "special-tokens") is None


@given(SHARES, st.integers(2, 60))
@settings(max_examples=60)
def test_heads_that_attend_to_the_first_token(shares: list[float], words: int) -> None:
    run = sentence(words, is_framed=False)
    maps = maps_of("h.1.attn", sinking(shares, words))
    uniform = sum(1 / row for row in range(2, words + 1)) / (words - 1)
    answer = found(
        answers_for_view("Attention", gpt2().model.architecture, run, maps), "first-token"
    )
    assert (answer is not None) == is_focused(shares, uniform)
    if answer is not None:
        assert "heads of layer 1 attend" in answer.question
        assert f"give it {np.mean(shares):.0%} of" in answer.measured


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(2, 40))
@settings(max_examples=60)
def test_heads_that_attend_uniformly(parts: list[float], tokens: int) -> None:
    """Each head mixes uniform attention with attention to oneself."""
    heads = [part * np.eye(tokens) + (1 - part) / tokens for part in parts]
    maps = maps_of("encoder.layer.0.attention.self", np.array(heads))
    least = attention.UNIFORM * np.log(tokens)
    assume(all(abs(entropy - least) > 1e-4 for entropy in maps.entropies))
    run = sentence(tokens, is_framed=False, weights="random")
    for weights in ("random", "pretrained"):
        shown = weighted(run, weights)
        answers = answers_for_view("Attention", bert().model.architecture, shown, maps)
        is_uniform = weights == "random" and min(maps.entropies) > least
        assert (found(answers, "even-attention") is not None) == is_uniform


def test_a_report_names_the_layer_with_the_strongest_effect() -> None:
    run = sentence(8, is_framed=True)
    measures = {}
    for number, shares in enumerate(([0.2, 0.3], [0.7, 0.8], [0.9, 0.95], [0.1, 1.0])):
        path = f"encoder.layer.{number}.attention.self"
        maps = maps_of(path, sharing(shares, 10, (0, 9)))
        measures[AttentionLayer(path, 0, number)] = head_measures(maps, run)
    answers = answers_for_section("attention", bert().model.architecture, run, measures)
    answer = found(answers, "special-tokens")
    assert answer is not None
    assert "heads of layer 2 attend" in answer.question
    assert answer.measured.endswith(
        "92% of the attention of layer 2 and 95% of that of its head 1."
    )
    assert answers[0] == answer


def test_heads_without_finite_values_are_focused_on_nothing() -> None:
    run = sentence(8, is_framed=True)
    probabilities = sharing([0.9, 0.9, 0.9], 10, (0, 9))
    probabilities[1] = np.nan
    maps = maps_of("encoder.layer.0.attention.self", probabilities)
    for weights in ("random", "pretrained"):
        answers = answers_for_view(
            "Attention", bert().model.architecture, weighted(run, weights), maps
        )
        assert not {answer.name for answer in answers if answer.measured} - {"mask"}


@given(st.floats(0, 1), st.integers(2, 30), st.integers(0, 3))
@settings(max_examples=60)
def test_states_with_high_cosines(part: float, tokens: int, seed: int) -> None:
    """Each vector is the same one plus noise of its own."""
    random = np.random.default_rng(seed)
    state = part * random.standard_normal(100) + (1 - part) * random.standard_normal((tokens, 100))
    cosines = cosine_matrix(state)
    mean = cosines[~np.eye(tokens, dtype=bool)].mean()
    assume(abs(mean - vectors.HIGH) > 1e-6)
    states = (np.eye(tokens, 100), state, np.eye(tokens, 100))
    run = weighted(run_of(tokens_of(*map(str, range(tokens))), *states), "pretrained")
    model = bert().model.architecture
    for shown, is_high in ((0, False), (1, mean > vectors.HIGH), (None, False)):
        answers = answers_for_view("Similarity", model, run, state=shown)
        assert (found(answers, "alike-vectors") is not None) == is_high
    answer = found(answers_for_section("similarity", model, run), "alike-vectors")
    assert (answer is not None) == (mean > vectors.HIGH)
    if answer is not None:
        assert answer.measured.startswith("In the output of layer 0 of this run, the mean cosine")
        assert re.search(rf"is {mean:.2f}(\.$|; 3 of 100 features \()", answer.measured)


@pytest.mark.parametrize(("size", "is_named"), [(1.0, False), (3.0, False), (20.0, True)])
def test_features_that_dominate_the_cosines_are_named(size: float, is_named: bool) -> None:
    state = 1 + 0.1 * np.random.default_rng(0).standard_normal((6, 100))
    state[:, [7, 8, 9]] *= size
    run = weighted(run_of(tokens_of(*"abcdef"), state), "pretrained")
    answer = found(answers_for_view("Similarity", bert().model.architecture, run), "alike-vectors")
    assert answer is not None
    assert ("; 3 of 100 features (" in answer.measured) == is_named


@given(st.integers(0, 14), st.integers(0, 6), st.floats(-1, 1))
@settings(max_examples=60)
def test_a_few_outliers_in_many_states(features: int, states: int, sign: float) -> None:
    """Some features have an extreme value in some of six states of 200 features."""
    random = np.random.default_rng(features)
    found_states = [random.uniform(-1, 1, (5, 200)) for _ in range(6)]
    for state in found_states[:states]:
        state[2, :features] = 60 if sign > 0 else -60
    run = run_of(tokens_of(*"abcde"), *found_states)
    answers = answers_for_view("Layers", bert().model.architecture, weighted(run, "pretrained"))
    answer = found(answers, "outlier-features")
    is_few = 0 < features <= vectors.FEW * 200
    assert (answer is not None) == (is_few and states >= vectors.PERSISTENT * 6)
    if answer is not None:
        assert f"in {states} of 6 hidden states" in answer.measured
        assert ("above the mean" if sign > 0 else "below the mean") in answer.measured


def predicted(ids: Sequence[int], position: int = 3) -> Predictions:
    """Return predictions with these most likely tokens after each layer."""
    guesses = [Guess((Candidate(each, f"t{each}", 0.5, 1.0),), None, None) for each in ids]
    return Predictions(position, position, guesses[-1], tuple(guesses))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=7))
@settings(max_examples=80)
def test_early_layers_that_predict_other_tokens(ids: list[int]) -> None:
    run, model = sentence(6, is_framed=True), bert().model.architecture
    shown = answers_for_view("Predictions", model, run, predictions=(predicted(ids),))
    answer = found(shown, "early-layers")
    assert (answer is not None) == (len(ids) > 2 and ids[1] != ids[-1])
    if answer is not None:
        number = re.search(r"from the output of layer (\d+) on\.$", answer.measured)
        assert number is not None
        state = int(number[1]) + 1
        assert set(ids[state:]) == {ids[-1]} != {ids[state - 1]}
        assert f"position 3, “t{ids[-1]}”" in answer.measured
    both = (predicted([5, 6, 6, 5, 5], 1), predicted(ids), predicted([5, 6, 5, 5, 5], 2))
    answer = found(answers_for_section("predictions", model, run, None, both), "early-layers")
    assert answer is not None  # of the prediction that is final last
    is_later = len(ids) > 4 and ids[1] != ids[-1] and len(set(ids[3:])) > 1
    assert f"at position {3 if is_later else 1}," in answer.measured
    random = (replace(predicted([5, 6, 6, 5, 5]), random_tensors=("head",)),)
    assert (
        found(answers_for_section("predictions", model, run, None, random), "early-layers") is None
    )


def with_stds(run: ActivationRun, stack: str, stds: Sequence[float]) -> ActivationRun:
    """Return a run in which the outputs of a stack's layers have these standard deviations."""
    new = {
        f"{stack}.{number}": measure_rows(np.array([[-std, std]]))[0]
        for number, std in enumerate(stds)
    }
    return replace(
        run,
        modules=tuple(
            replace(module, calls=(new[module.path],)) if module.path in new else module
            for module in run.modules
        ),
    )


STDS = st.lists(st.floats(0.9, 1.1), min_size=4, max_size=4)


@given(STDS)
@settings(max_examples=60)
def test_standard_deviations_of_random_layers(stds: list[float]) -> None:
    assume(all(abs(abs(std - 1) - layers.FLAT) > 1e-6 for std in stds))
    run = with_stds(bert().run, "encoder.layer", stds)
    answers = answers_for_view("Layers", bert().model.architecture, run)
    is_flat = all(abs(std - 1) < layers.FLAT for std in stds)
    assert (found(answers, "flat-lines") is not None) == is_flat

    run = with_stds(gpt2().run, "h", stds)
    answers = answers_for_view("Layers", gpt2().model.architecture, run)
    is_rising = all(before < after for before, after in pairwise(stds))
    is_visible = f"{stds[0]:.3g}" != f"{stds[-1]:.3g}"
    assert (found(answers, "growing-lines") is not None) == (is_rising and is_visible)


FAMILIES = (
    *("bert", "gpt2", "t5", "bart", "roberta", "albert", "distilbert", "electra", "llama"),
    *("modernbert", "mpnet", "xlnet", "deberta-v2", "fnet", "gemma"),
)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weights", ["random", "pretrained"])
def test_every_answer_of_a_run_is_complete(family: str, weights: Weights) -> None:
    """Also if weights as good as random are called trained."""
    one = untrained(family)
    model, run = one.model.architecture, weighted(one.run, weights)
    context = Context(model, model.root, run)
    answers = [
        *(each for node in model.modules for each in answers_for_module(model, node, run)),
        *(
            each
            for one in EXPLANATIONS
            for view in one.views
            for each in answers_for_view(view, model, run)
        ),
        *(
            each
            for one in EXPLANATIONS
            if one.section
            for each in answers_for_section(one.section, model, run)
        ),
    ]
    for answer in answers:
        assert answer.question.endswith("?")
        for text in filter(None, (answer.text, answer.measured)):
            assert not re.search(r"[{}]|\bNone\b|\bnan\b|  ", text), text
            assert text.endswith("."), text
            assert text[0] == text[0].upper(), text
    names = {answer.name for answer in answers}
    # Random weights have no structure to explain, whatever they are called.
    assert not names & {"special-tokens", "first-token", "early-layers"}
    assert not (context.is_random and names & {"alike-vectors", "outlier-features"})
