"""Attention weights are those of transformers' eager attention."""

from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.attention_modules import attention_paths, attentions_at
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.checks.small_models import FAMILIES, hook_count
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened, every_map, known, opened, ran

TRANSFORMERS = [family for family in FAMILIES if family != "transformer-base"]


def eager_attentions(it: Opened) -> dict[str, list[np.ndarray]]:
    """Return what transformers calls the attentions, by their kind."""
    used = it.network.config._attn_implementation
    it.network.set_attn_implementation("eager")
    output = it.plain(output_attentions=True)
    it.network.set_attn_implementation(used)
    kinds = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return {
        kind: [weights[0].float().numpy() for weights in output[kind]]
        for kind in kinds
        if output.get(kind) is not None
    }


def kind_of(path: str, is_encoder_decoder: bool) -> str:
    if not is_encoder_decoder:
        return "attentions"
    if path.endswith(("encoder_attn", "EncDecAttention")):
        return "cross_attentions"
    return "encoder_attentions" if path.startswith("encoder") else "decoder_attentions"


def in_sum_1(family: str, weights: np.ndarray) -> np.ndarray:
    """Return what transformers tells of a family, as probabilities."""
    if family == "squeezebert":  # it tells the scores
        return torch.from_numpy(weights).softmax(-1).numpy()
    if family == "big_bird":  # block 0 counts twice, and one share is told
        weights = weights.copy()
        weights[..., 0] += 1 - weights.sum(-1)
    return weights


@pytest.mark.parametrize("family", TRANSFORMERS)
def test_it_is_what_transformers_gives(family: str) -> None:
    it = known(family)
    expected = eager_attentions(it)
    is_encoder_decoder = bool(it.model.architecture.config.get("is_encoder_decoder"))
    maps = every_map(it)
    assert len(maps) == sum(map(len, expected.values()))
    for found in maps:
        wanted = in_sum_1(family, expected[kind_of(found.path, is_encoder_decoder)].pop(0))
        assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)
        assert found.probabilities.dtype == np.float32
        assert found.probabilities == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("family", TRANSFORMERS)
def test_what_a_mask_hides_is_told_from_a_measured_0(family: str) -> None:
    for found in every_map(known(family)):
        # Random weights give no key exactly nothing.
        nothing = found.probabilities == 0
        hidden = np.zeros_like(nothing) if found.masked is None else found.masked
        assert (hidden == nothing).all()
        assert (found.masked is None) == (not nothing.any())


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "mistral", "modernbert"])
def test_eager_and_sdpa_agree(family: str) -> None:
    it = opened(family)
    assert it.network.config._attn_implementation == "sdpa"
    sdpa = every_map(it)
    it.network.set_attn_implementation("eager")
    eager = every_map(ran(it.model))
    for one, other in zip(sdpa, eager, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)


@pytest.mark.parametrize("layers", [3, 5])
def test_a_shared_layer_has_an_attention_for_every_call(layers: int) -> None:
    it = opened("albert", num_hidden_layers=layers)
    maps = every_map(it)
    assert [found.call for found in maps] == list(range(layers))
    assert {found.calls for found in maps} == {layers}
    for found, wanted in zip(maps, eager_attentions(it)["attentions"], strict=True):
        assert found.probabilities == pytest.approx(wanted, abs=1e-5)
    with pytest.raises(IndexError):
        attention_of(it, maps[0].path, call=layers)


def test_torchs_own_attention() -> None:
    it = opened("transformer-base", sentence=Sentence("a b c d e", "f g"))
    calls: dict[str, Any] = {}

    def see(path: str) -> Any:
        def hook(attention: Any, args: Any, kwargs: Any, _output: Any) -> None:
            with torch.no_grad():
                own = {**kwargs, "need_weights": True, "average_attn_weights": False}
                calls[path] = type(attention).forward(attention, *args[:3], **own)[1][0].numpy()

        return hook

    paths = attention_paths(it.model.architecture)
    handles = [
        it.network.get_submodule(p).register_forward_hook(see(p), with_kwargs=True) for p in paths
    ]
    it.plain()
    for handle in handles:
        handle.remove()
    assert len(paths) == 6
    for path in paths:
        found = attention_of(it, path)
        assert found.probabilities == pytest.approx(calls[path], abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes(dtype: torch.dtype) -> None:
    it = opened("bert")
    it.network.to(dtype)
    again = ran(it.model)
    wanted = eager_attentions(again)["attentions"]
    for found, expected in zip(every_map(again), wanted, strict=True):
        tolerance = 1e-2 if dtype == torch.bfloat16 else 1e-5
        assert found.probabilities == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_attention_that_only_eager_shows(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened(family)
    expected = every_map(it)
    monkeypatch.setattr(
        "bertviewer.core.replay.attention._AttentionCall._observed", lambda *_, **__: None
    )
    for found, wanted in zip(every_map(it), expected, strict=True):
        assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)
    assert it.network.config._attn_implementation == "sdpa"
    # The first time transformers puts hooks of its own on the model, and leaves them there.
    hooks = hook_count(it.network)
    every_map(it)
    assert hook_count(it.network) == hooks


def test_a_pass_that_is_cancelled_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = opened("bert")
    path = "encoder.layer.1.attention.self"
    monkeypatch.setattr(
        "bertviewer.core.replay.attention._AttentionCall._observed", lambda *_, **__: None
    )
    attention_of(it, path)
    hooks = hook_count(it.network)

    def stop(done: int, total: int, label: str) -> None:
        if label == "encoder.layer.1":
            raise Cancelled

    with pytest.raises(Cancelled):
        attention_of(it, path, stop)
    assert it.network.config._attn_implementation == "sdpa"
    assert hook_count(it.network) == hooks
    monkeypatch.undo()
    with pytest.raises(Cancelled):
        attention_of(it, path, stop)
    assert hook_count(it.network) == hooks


def test_the_tokens_of_an_encoder_decoder() -> None:
    it = opened("bart", sentence=Sentence("a b c d e", "f g"))
    source = tuple(p for p, token in enumerate(it.run.tokens) if token.segment == 0)
    target = tuple(p for p, token in enumerate(it.run.tokens) if token.segment == 1)
    assert len(source) > len(target) > 1
    by_path = {found.path: found for found in every_map(it)}
    encoder, own, cross = (
        by_path[path]
        for path in (
            "encoder.layers.1.self_attn",
            "decoder.layers.1.self_attn",
            "decoder.layers.1.encoder_attn",
        )
    )
    assert (encoder.query_tokens, encoder.key_tokens) == (source, source)
    assert (own.query_tokens, own.key_tokens) == (target, target)
    assert (cross.query_tokens, cross.key_tokens) == (target, source)
    assert cross.is_cross
    assert cross.distances is None
    assert own.distances is not None


def test_which_attention_belongs_to_a_selected_module() -> None:
    bert = architecture_of("bert")
    own = ("encoder.layer.1.attention.self",)
    for path in ("", ".attention", ".attention.self", ".attention.self.query", ".output.dense"):
        assert attentions_at(bert, f"encoder.layer.1{path}") == own
    for path in ("", "encoder", "encoder.layer", "embeddings.LayerNorm", "pooler"):
        assert attentions_at(bert, path) == ()
    bart = architecture_of("bart")
    both = ("decoder.layers.0.self_attn", "decoder.layers.0.encoder_attn")
    assert attentions_at(bart, "decoder.layers.0") == both
    assert attentions_at(bart, "decoder.layers.0.fc1") == both
    assert attentions_at(bart, "decoder.layers.0.encoder_attn.q_proj") == both[1:]
    t5 = architecture_of("t5")
    both = (
        "decoder.block.1.layer.0.SelfAttention",
        "decoder.block.1.layer.1.EncDecAttention",
    )
    assert attentions_at(t5, "decoder.block.1") == both
    assert attentions_at(t5, "decoder.block.1.layer.1.layer_norm") == both[1:]
    assert attentions_at(t5, "decoder.block.1.layer.2.DenseReluDense.wi") == both
    albert = architecture_of("albert")
    layer = "encoder.albert_layer_groups.0.albert_layers.0"
    assert attentions_at(albert, f"{layer}.ffn") == (f"{layer}.attention",)


def test_what_has_none_is_told() -> None:
    it = known("bert")
    with pytest.raises(UserError, match="is not an attention module"):
        attention_of(it, "pooler")
    other = opened("bert", is_decoder=True, add_cross_attention=True)
    path = "encoder.layer.0.crossattention.self"
    assert path in attention_paths(other.model.architecture)
    with pytest.raises(UserError, match="was not called"):
        attention_of(other, path)


def test_a_check_may_have_kept_everything() -> None:
    it = known("bert")
    whole = ActivationCache("everything")
    run = run_sentence(it.model, it.run.sentence, random_weights=True, cache=whole)
    path = "encoder.layer.0.attention.self"
    found = attention_of(CachedRun(it.model, run, whole), path).probabilities
    assert found == pytest.approx(attention_of(it, path).probabilities, abs=1e-6)


def test_a_model_with_a_broken_weight_still_shows_something() -> None:
    it = opened("bert")
    with torch.no_grad():
        it.network.encoder.layer[0].attention.self.query.weight[0, 0] = torch.nan
    again = ran(it.model)
    found = attention_of(again, "encoder.layer.0.attention.self")
    # The first row of the first head's queries is broken, so that head is.
    assert np.isnan(found.entropies[0])
    assert np.isfinite(found.entropies[1:]).all()


def test_what_cannot_be_called_alone_may_yet_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")
    path = "encoder.layer.1.attention.self"
    expected = attention_of(it, path).probabilities

    def fail(*_args: object, **_kwargs: object) -> None:
        raise UserError("part of the run cannot be replayed")

    monkeypatch.setattr("bertviewer.core.replay.attention.replay_call", fail)
    found = attention_of(it, path).probabilities
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_model_that_fails_eagerly_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")
    path = "encoder.layer.1.attention.self"

    def fail(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("odd")

    monkeypatch.setattr(
        "bertviewer.core.replay.attention._AttentionCall._observed", lambda *_, **__: None
    )
    monkeypatch.setattr(it.network.get_submodule("pooler"), "forward", fail)
    said = rf"^{path}: its attention weights cannot be obtained: pooler \(BertPooler\): odd$"
    with pytest.raises(UserError, match=said):
        attention_of(it, path)
    assert it.network.config._attn_implementation == "sdpa"
