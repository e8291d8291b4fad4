"""What explanations say of a run: its own numbers, counted again here; and nothing without one."""

from functools import cache
from typing import Any

import numpy as np
import pytest

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
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.checks.small_models import small_model
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened

PAIR = Sentence("The river 12212121 was closed.", "She walked to the other bank.")


@cache
def demo() -> Opened:
    return ran(open_model(parse_source("demo")), PAIR)


@cache
def fresh(family: str, layers: int = 4) -> Opened:
    """Return a model whose weights are as they are drawn."""
    changes: dict[str, Any] = {{"gpt2": "n_layer"}.get(family, "num_hidden_layers"): layers}
    return ran(small_model(family, **changes), Sentence("the cat sat on the mat"))


def ran(model: LoadedModel, sentence: Sentence) -> Opened:
    kept = ActivationCache("units")
    model.with_flows()
    return Opened(model, run_sentence(model, sentence, random_weights=True, cache=kept), kept)


def maps_of(one: Opened, path: str) -> AttentionMaps:
    return attention_of(one, path)


def std_of(run: ActivationRun, path: str) -> float:
    activation = run.activation(path)
    assert activation is not None
    std = activation.statistics.std
    assert std is not None
    return std


def in_view(title: ViewTitle, one: Opened, maps: AttentionMaps | None = None) -> dict[str, Answer]:
    found = answers_for_view(title, one.model.architecture, one.run, maps=maps)
    return {answer.name: answer for answer in found}


def test_attention_to_special_tokens_is_told_with_its_share() -> None:
    maps = maps_of(demo(), "encoder.layer.3.attention.self")
    answer = in_view("Attention", demo(), maps)["special-tokens"]
    assert answer.question == "Why do so many heads attend to [CLS] and [SEP]?"
    tokens = [token.text for token in demo().run.tokens]
    special = [place for place, text in enumerate(tokens) if text in {"[CLS]", "[SEP]"}]
    shares = maps.probabilities[:, :, special].sum(2).mean(1)
    assert answer.measured == (
        f"Here special tokens make up {len(special) / len(tokens):.0%} of the tokens "
        f"({len(special)} of {len(tokens)}) and receive {shares.mean():.0%} of the attention in "
        f"this layer; head {shares.argmax()} gives them {shares.max():.0%}."
    )
    assert answer.source == "Clark et al. 2019; Kovaleva et al. 2019"
    assert answer.path == "encoder.layer.3.attention.self"


def test_without_the_maps_the_answer_stands_without_numbers() -> None:
    answer = in_view("Attention", demo())["special-tokens"]
    assert answer.measured == ""


def test_cosines_are_high_for_a_reason_with_this_states_own_numbers() -> None:
    state = demo().run.hidden_states[5]
    answer = next(
        answer
        for answer in answers_for_view("Similarity", demo().model.architecture, demo().run, state=5)
        if answer.name == "alike-vectors"
    )
    cosines = cosine_matrix(state)
    mean = cosines[~np.eye(len(cosines), dtype=bool)].mean()
    assert mean >= 0.25
    assert f"a mean cosine of {mean:.2g}," in answer.measured
    assert "3 of 384 features" in answer.measured


def test_it_is_not_asked_where_cosines_are_low() -> None:
    # Orthogonal vectors, of trained weights by their name.
    run = run_of(tokens_of("a", "b", "c"), np.eye(3), np.eye(3))
    architecture = demo().model.architecture
    found = {a.name for a in answers_for_view("Similarity", architecture, run)}
    assert "alike-vectors" not in found


def test_outlier_features_are_named() -> None:
    answer = in_view("Layers", demo())["outlier-features"]
    features = outlier_features(demo().run)
    assert (
        f"Here, {len(features)} of 384 features deviate by more than 6 standard" in answer.measured
    )
    states = len(features[0].states)
    assert f"feature {features[0].index} is an outlier in {states} of 7 hidden" in answer.measured


def _range(low: str, high: str) -> str:
    return f"{low} in every layer" if low == high else f"between {low} and {high}"


def test_random_weights_give_flat_lines_behind_norms() -> None:
    one = fresh("bert")
    answer = in_view("Layers", one)["flat-lines"]
    stds = [std_of(one.run, f"encoder.layer.{n}") for n in range(4)]
    assert answer.measured == (
        "Here the standard deviation of the layers’ outputs is "
        f"{_range(f'{min(stds):.3f}', f'{max(stds):.3f}')}."
    )
    assert max(stds) - min(stds) < 0.01
    assert not {"outlier-features", "growing-lines"} & in_view("Layers", one).keys()


def test_random_weights_give_rising_lines_where_norms_come_first() -> None:
    one = fresh("gpt2")
    answers = in_view("Layers", one)
    stds = [std_of(one.run, f"h.{n}") for n in range(4)]
    assert answers["growing-lines"].measured == (
        "Here the standard deviation of the layers’ outputs rises "
        f"from {stds[0]:.3g} to {stds[-1]:.3g}."
    )
    assert stds == sorted(stds)
    assert "flat-lines" not in answers


def test_random_weights_look_at_all_alike() -> None:
    one = fresh("bert")
    maps = maps_of(one, "encoder.layer.1.attention.self")
    answers = in_view("Attention", one, maps)
    most = np.log(len(one.run.tokens))
    assert f"Here the mean entropy is {maps.entropies.mean():.4g} nats" in (
        answers["even-attention"].measured
    )
    assert maps.entropies.mean() > 0.95 * most
    assert "special-tokens" not in answers


def test_trained_weights_are_not_explained_as_random() -> None:
    maps = maps_of(demo(), "encoder.layer.1.attention.self")
    names = in_view("Attention", demo(), maps).keys() | in_view("Layers", demo()).keys()
    assert not {"even-attention", "flat-lines", "growing-lines", "first-token"} & names


def test_a_decoder_has_a_sink_and_hidden_scores() -> None:
    one = fresh("gpt2")
    maps = maps_of(one, "h.1.attn")
    answers = in_view("Attention", one, maps)
    count = len(one.run.tokens)
    assert answers["causal-mask"].measured == (
        f"In this run {count * (count - 1) // 2} of {count * count} scores per head are masked."
    )
    assert "first-token" not in answers  # its weights are random
    assert not {"mask", "special-tokens"} & answers.keys()


def test_tokens_are_explained_by_this_run() -> None:
    answers = in_view("Tokens", demo())
    assert answers["segments"].measured == ("Tokens in this run: 11 in segment 0, 8 in segment 1.")
    assert answers["start-token"].measured == "In this run it is at position 0 (of 19)."
    assert answers["end-token"].measured == "In this run it is at positions 10 and 18."
    assert answers["pieces"].measured == "In this run “12212121” was split into 122 ##12 ##12 ##1."
    assert "30,522 entries" in answers["pieces"].text
    assert answers["mask-token"].measured == ""


@pytest.mark.parametrize(
    ("texts", "name"), [(("The", "Ġcat"), "marked-spaces"), (("▁The", "▁cat"), "marked-pieces")]
)
def test_marks_of_other_vocabularies_are_explained(texts: tuple[str, ...], name: str) -> None:
    run = run_of(tokens_of(*texts), np.eye(2))
    found = {a.name: a for a in answers_for_view("Tokens", architecture_of("gpt2"), run)}
    count = sum(text[0] in "Ġ▁" for text in texts)
    assert found[name].measured == f"In this run it begins {count} of 2 tokens."
    assert not {"pieces", "start-token", "segments"} & found.keys()


def at(one: Opened, path: str) -> dict[str, Answer]:
    architecture = one.model.architecture
    node = next(node for node in architecture.modules if node.path == path)
    return {a.name: a for a in answers_for_module(architecture, node, one.run)}


def test_a_module_is_explained_with_what_the_run_gave_there() -> None:
    run = demo().run
    norm = at(demo(), "encoder.layer.2.output.LayerNorm")["gamma"]
    assert norm.measured == (
        "This run has 19 positions, each with its own mean and variance, but no additional "
        "parameters."
    )
    states = [state.astype(float) for state in run.hidden_states[2:4]]
    units = [state / np.linalg.norm(state, axis=1, keepdims=True) for state in states]
    cosine = (units[0] * units[1]).sum(1).mean()
    assert (
        f"a mean cosine of {cosine:.2f} with" in at(demo(), "encoder.layer.2")["residual"].measured
    )
    pooled = run.outputs["pooler_output"]
    assert at(demo(), "pooler")["pooler"].measured == (
        f"In this run its values lie between {pooled.min():.3g} and {pooled.max():.3g}.".replace(
            "-", "−"
        )
    )
    flops = at(demo(), "")["flops"]
    macs = run.modules[0].macs
    assert macs is not None
    assert flops.measured == f"In this run, {macs:,} multiply-adds equal {2 * macs:,} FLOPs."


@pytest.mark.parametrize(
    ("family", "norm"),
    [("xlnet", "layer.0.rel_attn.layer_norm"), ("bart", "decoder.layers.0.self_attn_layer_norm")],
)
def test_positions_are_counted_wherever_the_batch_stands(family: str, norm: str) -> None:
    one = ran(small_model(family), Sentence("the cat sat on the mat"))
    sides = 2 if family == "bart" else 1
    count = len(one.run.tokens) // sides
    assert f"This run has {count} positions," in at(one, norm)["gamma"].measured
    if family == "bart":
        mask = at(one, "encoder.layers.0.self_attn")["mask"]
        assert mask.measured.startswith(f"This run has a single sequence of {count} tokens")


def test_nothing_is_said_of_attention_where_there_is_none() -> None:
    one = ran(small_model("fnet"), Sentence("the cat sat on the mat"))
    assert one.run.tokens
    for path in ("embeddings.position_embeddings", "embeddings.token_type_embeddings"):
        assert not {"positions", "segments"} & at(one, path).keys()


def test_what_is_asked_of_a_module_is_told_without_a_look_at_all_hidden_states() -> None:
    # That takes long with many tokens, and is done where a view asks for it.
    names = at(demo(), "").keys()
    assert {"sentence-vector", "which-layer", "subtotal", "bytes", "flops"} <= names
    assert not {"alike-vectors", "outlier-features", "early-layers"} & names


def test_megabytes_and_mebibytes_are_told_apart() -> None:
    text = at(demo(), "")["bytes"].text
    assert text.endswith("22,713,216 parameters take 90,852,864 bytes: 90.85 MB or 86.64 MiB.")


def test_a_section_of_a_report_has_what_its_view_has_and_works_without_a_run() -> None:
    architecture = demo().model.architecture
    found = answers_for_section("formulas", architecture)
    assert {"heads", "scale", "gamma", "four-times", "residual", "pooler"} <= {
        answer.name for answer in found
    }
    assert [a.name for a in answers_for_section("memory", architecture)] == ["bytes"]
    assert [a.name for a in answers_for_section("similarity", architecture)] == ["which-layer"]
    assert [a.name for a in answers_for_section("similarity", architecture, demo().run)] == [
        "alike-vectors",
        "which-layer",
    ]
    named = {a.name: a for a in answers_for_section("overview", architecture)}
    assert "pooler 147,840" in named["subtotal"].text


def test_nothing_measured_is_told_of_a_run_that_was_not() -> None:
    architecture = demo().model.architecture
    for node in architecture.modules:
        for answer in answers_for_module(architecture, node):
            assert answer.measured == ""


def without_states(run: ActivationRun) -> ActivationRun:
    return run_of(run.tokens)


def test_a_run_without_hidden_states_is_no_fault() -> None:
    architecture, run = demo().model.architecture, without_states(demo().run)
    for title in ("Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens"):
        answers_for_view(title, architecture, run)
    for node in architecture.modules:
        answers_for_module(architecture, node, run)
