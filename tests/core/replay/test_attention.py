"""Attention weights of one module: calls, tokens, fallbacks and refusals.

``test_families`` compares them with transformers' eager attention.
"""

from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.attention_maps import head_distances, head_entropies
from bertviewer.core.analysis.attention_modules import attention_paths, attentions_at
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import hook_count
from tests.core.formulas.formula_models import TINY, architecture_of
from tests.core.replay.model_runs import every_map, known, opened, ran

LAYER = "encoder.layer.1"
ATTENTION = f"{LAYER}.attention.self"


@pytest.fixture
def no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no module be called alone, so that only eager attention shows its weights."""

    def fail(*_args: object, **_kwargs: object) -> None:
        raise UserError("part of the run cannot be replayed")

    monkeypatch.setattr("bertviewer.core.replay.attention.replay_call", fail)


@pytest.mark.parametrize("family", ["gpt2", "t5", "mistral"])
def test_eager_and_sdpa_runs_show_the_same(family: str) -> None:
    sdpa = opened(family)
    assert sdpa.network.config._attn_implementation == "sdpa"
    expected = every_map(sdpa)
    sdpa.network.set_attn_implementation("eager")
    for found, wanted in zip(every_map(ran(sdpa.model)), expected, strict=True):
        assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 1e-2), (torch.float64, 1e-5)])
def test_other_dtypes(dtype: torch.dtype, tolerance: float) -> None:
    it = opened("bert")
    it.network.to(dtype)
    it = ran(it.model)
    maps = every_map(it)
    it.network.set_attn_implementation("eager")
    expected = it.plain(output_attentions=True).attentions
    for found, wanted in zip(maps, expected, strict=True):
        assert found.probabilities == pytest.approx(wanted[0].float().numpy(), abs=tolerance)


def test_a_shared_layer_has_attention_for_every_call() -> None:
    layers = 5
    it = opened("albert", num_hidden_layers=layers)
    maps = every_map(it)
    assert [(found.call, found.calls) for found in maps] == [(n, layers) for n in range(layers)]
    it.network.set_attn_implementation("eager")
    expected = it.plain(output_attentions=True).attentions
    for found, wanted in zip(maps, expected, strict=True):
        assert found.probabilities == pytest.approx(wanted[0].numpy(), abs=1e-5)
    with pytest.raises(IndexError):
        attention_of(it, maps[0].path, call=layers)


def test_torchs_own_attention() -> None:
    it = opened("transformer-base", sentence=Sentence("a b c d e", "f g"))
    weights: dict[str, Any] = {}

    def hook(path: str) -> Any:
        def see(attention: Any, args: Any, kwargs: Any, _output: Any) -> None:
            more = {**kwargs, "need_weights": True, "average_attn_weights": False}
            with torch.no_grad():
                weights[path] = type(attention).forward(attention, *args[:3], **more)[1][0].numpy()

        return see

    paths = attention_paths(it.model.architecture)
    assert len(paths) == 6
    handles = [
        it.network.get_submodule(p).register_forward_hook(hook(p), with_kwargs=True) for p in paths
    ]
    it.plain()
    for handle in handles:
        handle.remove()
    for path in paths:
        assert attention_of(it, path).probabilities == pytest.approx(weights[path], abs=1e-5)


def test_tokens_of_an_encoder_decoder() -> None:
    it = opened("bart", sentence=Sentence("a b c d e", "f g"))
    source = tuple(p for p, token in enumerate(it.run.tokens) if token.segment == 0)
    target = tuple(p for p, token in enumerate(it.run.tokens) if token.segment == 1)
    assert len(source) > len(target) > 1
    for path, queries, keys in (
        ("encoder.layers.1.self_attn", source, source),
        ("decoder.layers.1.self_attn", target, target),
        ("decoder.layers.1.encoder_attn", target, source),
    ):
        found = attention_of(it, path)
        assert (found.query_tokens, found.key_tokens) == (queries, keys)
        assert found.is_cross == (found.distances is None) == (queries != keys)


@pytest.mark.usefixtures("no_replay")
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_without_a_replay_the_whole_model_is_run_with_eager_attention(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = opened(family)
    found = every_map(it)
    # The first time transformers puts hooks of its own on the model, and leaves them there.
    hooks = hook_count(it.network)
    every_map(it)
    assert hook_count(it.network) == hooks
    assert it.network.config._attn_implementation == "sdpa"
    monkeypatch.undo()
    for eager, wanted in zip(found, every_map(it), strict=True):
        assert eager.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)


@pytest.mark.usefixtures("no_replay")
def test_a_model_that_fails_with_eager_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")

    def fail(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("odd")

    monkeypatch.setattr(it.network.get_submodule("pooler"), "forward", fail)
    message = (
        rf"^{ATTENTION}: its attention weights cannot be obtained: pooler \(BertPooler\): odd$"
    )
    with pytest.raises(UserError, match=message):
        attention_of(it, ATTENTION)
    assert it.network.config._attn_implementation == "sdpa"


def test_falcon_with_alibi_shows_the_weights_of_the_run(
    request: pytest.FixtureRequest,
) -> None:
    """Its eager attention computes something else than its usual implementation."""
    sizes = {"hidden_size": 32, "num_attention_heads": 4}
    it = opened("falcon", **{**TINY["bert"], **sizes, "alibi": True})
    path = attention_paths(it.model.architecture)[0]
    weights = torch.tensor(attention_of(it, path).probabilities)[None]
    attention = it.network.get_submodule(path)
    _, fused = module_tensors(it, f"{path}.query_key_value")
    value = attention._split_heads(fused["output"])[2].transpose(1, 2)
    mixed = (weights @ value).transpose(1, 2).flatten(2)
    _, outputs = module_tensors(it, path)
    assert torch.allclose(attention.dense(mixed), outputs["output.0"], atol=1e-4)
    assert not weights.triu(1).any()
    request.getfixturevalue("no_replay")
    with pytest.raises(UserError, match="gives different values than in the run"):
        attention_of(it, path)


WINDOWS = {"attention_window": [4, 4]}


@pytest.mark.parametrize(
    ("family", "values", "reason"),
    [
        ("canine", TINY["bert"], "is not token-to-token"),
        ("led", {**TINY["bart"], **WINDOWS}, "is not token-to-token"),
        ("longformer", {**TINY["bert"], **WINDOWS}, "does not return its attention weights"),
        ("yoso", TINY["bert"], "does not return its attention weights"),
    ],
)
def test_attention_that_cannot_be_shown(family: str, values: dict[str, Any], reason: str) -> None:
    it = opened(family, **values)
    layers = attention_layers(it.model.architecture, it.run)
    path = next(layer.path for layer in layers if layer.path.startswith("encoder"))
    with pytest.raises(UserError, match=rf"^.*{reason}.*$"):
        attention_of(it, path)


def test_modules_without_attention() -> None:
    it = known("bert")
    with pytest.raises(UserError, match="is not an attention module"):
        attention_of(it, "pooler")
    fnet = opened("fnet", pad_token_id=0)
    assert attention_layers(fnet.model.architecture, fnet.run) == ()
    decoder = opened("bert", is_decoder=True, add_cross_attention=True)
    path = "encoder.layer.0.crossattention.self"
    assert path in attention_paths(decoder.model.architecture)
    with pytest.raises(UserError, match="was not called"):
        attention_of(decoder, path)


def test_a_nan_weight_breaks_one_head_only() -> None:
    it = opened("bert")
    with torch.no_grad():
        it.network.encoder.layer[0].attention.self.query.weight[0, 0] = torch.nan
    found = attention_of(ran(it.model), "encoder.layer.0.attention.self")
    assert np.isnan(found.entropies[0])
    assert np.isfinite(found.entropies[1:]).all()


BART_LAYER, T5_BLOCK = "decoder.layers.0", "decoder.block.1"
ALBERT_LAYER = "encoder.albert_layer_groups.0.albert_layers.0"
BOTH = {
    "bart": (f"{BART_LAYER}.self_attn", f"{BART_LAYER}.encoder_attn"),
    "t5": (f"{T5_BLOCK}.layer.0.SelfAttention", f"{T5_BLOCK}.layer.1.EncDecAttention"),
}


@pytest.mark.parametrize(
    ("family", "path", "expected"),
    [
        *(
            ("bert", f"{LAYER}{part}", (ATTENTION,))
            for part in ("", ".attention", ".attention.self", ".attention.self.query", ".output")
        ),
        *(("bert", path, ()) for path in ("", "encoder", "encoder.layer", "embeddings", "pooler")),
        ("bart", BART_LAYER, BOTH["bart"]),
        ("bart", f"{BART_LAYER}.fc1", BOTH["bart"]),
        ("bart", f"{BART_LAYER}.encoder_attn.q_proj", BOTH["bart"][1:]),
        ("t5", T5_BLOCK, BOTH["t5"]),
        ("t5", f"{T5_BLOCK}.layer.1.layer_norm", BOTH["t5"][1:]),
        ("t5", f"{T5_BLOCK}.layer.2.DenseReluDense.wi", BOTH["t5"]),
        ("albert", f"{ALBERT_LAYER}.ffn", (f"{ALBERT_LAYER}.attention",)),
    ],
)
def test_attention_modules_of_a_selected_module(
    family: str, path: str, expected: tuple[str, ...]
) -> None:
    assert attentions_at(architecture_of(family), path) == expected


def test_entropy_and_distance_at_the_extremes() -> None:
    one_key = np.eye(8, dtype=np.float32)
    uniform = np.full((8, 8), 1 / 8, dtype=np.float32)
    nan = np.full((8, 8), np.nan, dtype=np.float32)
    nan_row = one_key.copy()
    nan_row[3] = np.nan
    heads = np.stack([one_key, uniform, nan, nan_row])
    assert head_entropies(heads) == pytest.approx([0, np.log(8), np.nan, 0], nan_ok=True)
    assert not np.signbit(head_entropies(heads)[0])
    assert head_distances(heads) == pytest.approx([0, 21 / 8, np.nan, 0], nan_ok=True)
