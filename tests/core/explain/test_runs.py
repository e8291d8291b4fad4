"""Sentences of explanations about a run: its numbers, computed again here."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.similarity import cosine_matrix
from bertviewer.core.explain.answers import (
    answers_for_module,
    answers_for_section,
    answers_for_view,
)
from bertviewer.core.explain.explanation import Answer, ViewTitle
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.checks.small_models import small_model
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened, ran

PAIR = Sentence("The river 12212121 was closed.", "She walked to the other bank.")


def with_graph(model: LoadedModel, sentence: Sentence) -> Opened:
    model.with_flows()
    return ran(model, sentence)


@cache
def demo() -> Opened:
    return with_graph(open_model(parse_source("demo")), PAIR)


@cache
def untrained(family: str, **changes: Any) -> Opened:
    return with_graph(small_model(family, **changes), Sentence("the cat sat on the mat"))


def bert() -> Opened:
    return untrained("bert", num_hidden_layers=4)


def gpt2() -> Opened:
    return untrained("gpt2", n_layer=4)


def stds(one: Opened, layers: str) -> list[float]:
    """Return the standard deviation of the outputs of four layers."""
    found = [one.run.activation(f"{layers}.{number}") for number in range(4)]
    return [each.statistics.std for each in found if each and each.statistics.std is not None]


def in_view(
    title: ViewTitle, one: Opened, maps: AttentionMaps | None = None, state: int | None = None
) -> dict[str, Answer]:
    found = answers_for_view(title, one.model.architecture, one.run, maps=maps, state=state)
    is_measured = [bool(answer.measured) for answer in found]
    assert is_measured == sorted(is_measured, reverse=True)
    return {answer.name: answer for answer in found}


def in_attention(one: Opened, path: str) -> tuple[dict[str, Answer], AttentionMaps]:
    maps = attention_of(one, path)
    return in_view("Attention", one, maps), maps


def about_module(one: Opened, path: str) -> dict[str, Answer]:
    architecture = one.model.architecture
    node = next(node for node in architecture.modules if node.path == path)
    return {a.name: a for a in answers_for_module(architecture, node, one.run)}


def test_the_attention_to_special_tokens() -> None:
    path = "encoder.layer.3.attention.self"
    answers, maps = in_attention(demo(), path)
    answer = answers["special-tokens"]
    assert answer.question == "Why do most heads of layer 3 attend so much to [CLS] and [SEP]?"
    tokens = [token.text for token in demo().run.tokens]
    special = [place for place, text in enumerate(tokens) if text in {"[CLS]", "[SEP]"}]
    shares = maps.probabilities[:, :, special].sum(2).mean(1)
    assert answer.measured == (
        f"In this run, [CLS] and [SEP] are {len(special)} of {len(tokens)} tokens "
        f"({len(special) / len(tokens):.0%}), but receive {shares.mean():.0%} of the attention of "
        f"layer 3 and {shares.max():.0%} of that of its head {shares.argmax()}."
    )
    # Without visible maps, nothing is known about them.
    assert "special-tokens" not in in_view("Attention", demo())
    layers = in_view("Layers", demo()).keys()
    assert not {"even-attention", "first-token"} & answers.keys()
    assert not {"flat-lines", "growing-lines"} & layers


def test_cosines_and_outlier_features_of_trained_weights() -> None:
    assert "alike-vectors" not in in_view("Similarity", demo())  # its mean cosine is 0.41
    measured = in_view("Layers", demo())["outlier-features"].measured
    features = outlier_features(demo().run)
    assert f"In this run, {len(features)} of 384 features deviate by more than 6 std" in (
        measured.replace("standard deviations", "std")
    )
    states, largest = len(features[0].states), features[0].largest.deviation
    assert f"Feature {features[0].index} does so in {states} of 7 hidden states" in measured
    side = "above" if largest > 0 else "below"
    assert measured.endswith(f"{abs(largest):.3g} standard deviations {side} the mean.")


def test_random_weights_of_a_post_norm_model() -> None:
    answers = in_view("Layers", bert())
    low, high = (f"{bound(stds(bert(), 'encoder.layer')):.3f}" for bound in (min, max))
    bounds = f"{low} in every layer" if low == high else f"between {low} and {high}"
    assert answers["flat-lines"].measured == f"In this run it is {bounds}."
    assert float(high) - float(low) < 0.01
    assert not {"outlier-features", "growing-lines"} & answers.keys()

    attention, maps = in_attention(bert(), "encoder.layer.1.attention.self")
    assert f"the lowest entropy of a head is {maps.entropies.min():.4g} nats" in (
        attention["even-attention"].measured
    )
    assert maps.entropies.min() > 0.95 * np.log(len(bert().run.tokens))
    assert "special-tokens" not in attention


def test_random_weights_of_a_pre_norm_decoder() -> None:
    answers, layers = in_view("Layers", gpt2()), stds(gpt2(), "h")
    assert answers["growing-lines"].measured == (
        f"In this run, the standard deviation of the layers’ outputs rises from {layers[0]:.3g} to "
        f"{layers[-1]:.3g}."
    )
    assert layers == sorted(layers)
    assert "flat-lines" not in answers

    attention, _ = in_attention(gpt2(), "h.1.attn")
    count = len(gpt2().run.tokens)
    assert attention["causal-mask"].measured == (
        f"In this run, {count * (count - 1) // 2} of {count * count} scores per head are masked."
    )
    # Attention to the first token is learned.
    assert not {"first-token", "mask", "special-tokens"} & attention.keys()


def test_the_tokens_of_a_run() -> None:
    answers = in_view("Tokens", demo())
    assert answers["segments"].measured == (
        "In this run, 11 tokens are in segment 0 and 8 in segment 1."
    )
    assert answers["start-token"].question == "What is [CLS] for?"
    assert answers["end-token"].question == "What is [SEP] for?"
    assert answers["pieces"].measured == "In this run, “12212121” was split into 122 ##12 ##12 ##1."
    assert "30,522 entries" in answers["pieces"].text
    assert answers["mask-token"].measured == ""


@pytest.mark.parametrize(
    ("texts", "name", "count"),
    [(("The", "Ġcat"), "marked-spaces", 1), (("▁The", "▁cat"), "marked-pieces", 2)],
)
def test_marks_of_other_vocabularies(texts: tuple[str, ...], name: str, count: int) -> None:
    run = run_of(tokens_of(*texts), np.eye(2))
    found = {a.name: a for a in answers_for_view("Tokens", architecture_of("gpt2"), run)}
    assert found[name].measured == f"In this run, {count} of 2 tokens begin with it."
    assert not {"pieces", "start-token", "segments"} & found.keys()


def test_modules_of_a_run() -> None:
    states = [state.astype(float) for state in demo().run.hidden_states]
    units = [state / np.linalg.norm(state, axis=1, keepdims=True) for state in states]
    means = [(before * after).sum(1).mean() for before, after in pairwise(units)]
    residual = about_module(demo(), "encoder.layer.2")["residual"].measured
    assert residual.endswith(f"before and after a layer is {means[2]:.2f} in layer 2.")
    lowest, highest = int(np.argmin(means)), int(np.argmax(means))
    assert in_view("Token", demo())["residual"].measured.endswith(
        f"ranges from {means[lowest]:.2f} in layer {lowest} to {means[highest]:.2f} in layer "
        f"{highest}."
    )


def test_the_model_of_a_run() -> None:
    answers = about_module(demo(), "")
    macs = demo().run.modules[0].macs
    assert macs is not None
    assert answers["flops"].measured == (
        f"In this run, {macs:,} multiply-adds equal {2 * macs:,} FLOPs."
    )
    assert answers["bytes"].text.endswith(
        "22,713,216 parameters take 90,852,864 bytes: 90.85 MB or 86.64 MiB."
    )
    assert {"sentence-vector", "which-layer", "subtotal"} <= answers.keys()
    # These read all hidden states, which takes long, so only a view shows them.
    assert not {"alike-vectors", "outlier-features", "early-layers"} & answers.keys()


def test_layers_of_an_encoder_decoder_read_their_own_tokens() -> None:
    one = untrained("bart")
    count = len(one.run.tokens) // 2
    mask = about_module(one, "encoder.layers.0.self_attn")["mask"]
    assert mask.measured.startswith(f"This run has a single sequence of {count} tokens")
    start, end = (state[count:].astype(float) for state in one.run.hidden_states[:2])
    cosine = np.diagonal(cosine_matrix(np.concatenate([start, end])), count).mean()
    architecture = one.model.architecture
    node = next(node for node in architecture.modules if node.path == "decoder.layers.0")
    for weights, ending in (
        ("random", ""),
        ("pretrained", f"is {cosine:.2f} in decoder.layers.0."),
    ):
        run = replace(one.run, source=replace(one.run.source, weights=weights))
        found = {answer.name: answer for answer in answers_for_module(architecture, node, run)}
        assert found["residual"].measured[-len(ending) :] == ending.replace("-", "−")


def test_nothing_is_said_of_attention_in_a_model_without_it() -> None:
    one = untrained("fnet")
    for path in ("embeddings.position_embeddings", "embeddings.token_type_embeddings"):
        assert not {"positions", "segments"} & about_module(one, path).keys()


def test_sections_of_a_report() -> None:
    architecture = demo().model.architecture

    def names(section: Any, run: ActivationRun | None = None) -> list[str]:
        return [answer.name for answer in answers_for_section(section, architecture, run)]

    assert names("formulas") == ["positions", "residual", "pooler"]
    assert names("formulas", demo().run)[0] == "residual"  # which is measured
    assert names("parameters") == ["four-times"]
    assert names("memory") == ["bytes"]
    assert names("similarity") == names("similarity", demo().run) == ["which-layer"]
    assert names("attention", demo().run) == ["heads"]
    overview = {a.name: a for a in answers_for_section("overview", architecture)}
    assert "pooler 147,840" in overview["subtotal"].text


def test_without_a_run_or_its_states_nothing_is_measured() -> None:
    architecture, run = demo().model.architecture, run_of(demo().run.tokens)
    for title in ("Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens"):
        answers_for_view(title, architecture, run)
    for node in architecture.modules:
        answers_for_module(architecture, node, run)
        assert not any(answer.measured for answer in answers_for_module(architecture, node))
