"""The maths stated for BART, T5, Llama and others is what their modules compute."""

import importlib
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.bart.modeling_bart import (
    BartLearnedPositionalEmbedding,
    BartScaledWordEmbedding,
)

from tests.core.formulas.formula_models import config_of
from tests.core.formulas.test_formula_numbers import affine, eager, layer_norm, ready, same, sample

S, D = 7, 24
CAUSAL = torch.full((S, S), -torch.inf, dtype=torch.float64).triu(1)


def module(family: str, name: str, **arguments: Any) -> Any:
    """Build a module of a family from its tiny configuration, with parameters that are not 0."""
    folder = family.replace("-", "_")
    place = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    return ready(getattr(place, name)(eager(family), **arguments))


def heads(query: Any, key: Any, value: Any, scores: Any, shared: int = 1) -> Tensor:
    """Attend head by head; ``scores`` is given a head's queries and keys, and its number."""
    outputs = [
        torch.softmax(scores(query[h], key[h // shared], h), dim=-1) @ value[h // shared]
        for h in range(len(query))
    ]
    return torch.cat(outputs, dim=-1)


def split(x: Tensor, size: int) -> tuple[Tensor, ...]:
    """Return columns 0 to size-1 as head 0, and so on."""
    return torch.split(x, size, dim=-1)


def rotated(x: Tensor, base: float) -> Tensor:
    """Turn features i and i + half of row s by s * base^(-2i / size)."""
    size = x.shape[-1]
    half = size // 2
    angle = torch.arange(len(x))[:, None] * base ** (-2 * torch.arange(half).double() / size)
    first, second = x[:, :half], x[:, half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def rms(x: Tensor, eps: float) -> Tensor:
    return x / ((x**2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt()


@pytest.mark.parametrize(
    "name",
    ["llama.Llama", "mistral.Mistral", "qwen2.Qwen2", "qwen3.Qwen3"],
)
def test_rms_norm(name: str) -> None:
    family, prefix = name.split(".")
    place = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    norm, x = ready(getattr(place, f"{prefix}RMSNorm")(D, eps=1e-5)), sample(S, D)
    same(norm(x).double(), rms(x, 1e-5) * norm.weight, tolerance=1e-6)


def test_t5_layer_norm_is_an_rms_norm() -> None:
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    norm, x = ready(T5LayerNorm(D, eps=1e-5)), sample(S, D)
    same(norm(x).double(), rms(x, 1e-5) * norm.weight, tolerance=1e-6)


def test_torchs_rms_norm() -> None:
    norm, x = ready(nn.RMSNorm(D, eps=1e-5)), sample(S, D)
    same(norm(x), rms(x, 1e-5) * norm.weight)


def test_gemmas_rms_norm_scales_by_one_plus_its_weight() -> None:
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm

    norm, x = ready(GemmaRMSNorm(D, eps=1e-5)), sample(S, D)
    same(norm(x).double(), rms(x, 1e-5) * (1 + norm.weight), tolerance=1e-6)


def test_barts_positions_are_two_rows_further_on() -> None:
    table = ready(BartLearnedPositionalEmbedding(32, D))
    same(table(torch.zeros(1, S, dtype=torch.long))[0], table.weight[2 : S + 2])


def test_scaled_embedding() -> None:
    table = ready(BartScaledWordEmbedding(97, D, 1, embed_scale=math.sqrt(D)))
    same(table(torch.tensor([5])), math.sqrt(D) * table.weight[[5]])


def test_marians_sinusoids() -> None:
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    weight = MarianSinusoidalPositionalEmbedding(16, D).create_weight()
    s, i = torch.arange(16.0)[:, None], torch.arange(D // 2)
    angle = s / 10000 ** (2 * i / D)
    same(weight, torch.cat([angle.sin(), angle.cos()], dim=-1), tolerance=1e-5)


def bart_attention(x: Tensor, other: Tensor, attention: Any, mask: Tensor | float) -> Tensor:
    query = split(affine(x, attention.q_proj), 8)
    key, value = (split(affine(other, p), 8) for p in (attention.k_proj, attention.v_proj))
    joined = heads(query, key, value, lambda q, k, _: q @ k.T / math.sqrt(8) + mask)
    return affine(joined, attention.out_proj)


def test_bart_decoder_layer() -> None:
    layer, x, other = module("bart", "BartDecoderLayer"), sample(S, D), sample(S + 2, D)
    z = layer_norm(x + bart_attention(x, x, layer.self_attn, CAUSAL), layer.self_attn_layer_norm)
    crossed = bart_attention(z, other, layer.encoder_attn, 0.0)
    z = layer_norm(z + crossed, layer.encoder_attn_layer_norm)
    network = affine(layer.activation_fn(affine(z, layer.fc1)), layer.fc2)
    y = layer_norm(z + network, layer.final_layer_norm)
    same(layer(x[None], CAUSAL[None, None], other[None], use_cache=False)[0], y)


def test_mbart_layer_is_pre_norm() -> None:
    layer, x = module("mbart", "MBartEncoderLayer"), sample(S, D)
    inner = layer_norm(x, layer.self_attn_layer_norm)
    z = x + bart_attention(inner, inner, layer.self_attn, 0.0)
    inner = layer_norm(z, layer.final_layer_norm)
    y = z + affine(layer.activation_fn(affine(inner, layer.fc1)), layer.fc2)
    same(layer(x[None], None)[0], y)


def test_t5_attention_adds_a_bias_by_distance_and_does_not_divide() -> None:
    attention = module("t5", "T5Attention", has_relative_attention_bias=True)
    x = sample(S, D)
    bias = attention.compute_bias(S, S)[0]
    query, key, value = (
        split(x @ layer.weight.T, 6) for layer in (attention.q, attention.k, attention.v)
    )
    joined = heads(query, key, value, lambda q, k, h: q @ k.T + bias[h])
    same(attention(x[None])[0][0], joined @ attention.o.weight.T)
    # 16 of the 32 buckets look back, the first 8 of them at one distance each.
    row = attention.relative_attention_bias.weight
    assert [bias[0, 6, 6 - back].item() for back in range(6)] == row[:6, 0].tolist()
    assert bias[0, 0, 3].item() == row[16 + 3, 0].item()


def test_t5_feed_forward_gated() -> None:
    network, x = module("mt5", "MT5DenseGatedActDense"), sample(S, D)
    gate = network.act(x @ network.wi_0.weight.T)
    same(network(x), (gate * (x @ network.wi_1.weight.T)) @ network.wo.weight.T)


@pytest.mark.parametrize(("family", "prefix"), [("llama", "Llama"), ("qwen3", "Qwen3")])
def test_rotated_attention_with_shared_keys(family: str, prefix: str) -> None:
    attention = module(family, f"{prefix}Attention", layer_idx=0)
    rotary = module(family, f"{prefix}RotaryEmbedding")
    x = sample(S, D)
    size = attention.head_dim
    base = config_of(family).rope_parameters["rope_theta"]
    layers = (attention.q_proj, attention.k_proj, attention.v_proj)
    biases = [0.0 if layer.bias is None else layer.bias for layer in layers]
    query, key, value = (
        split(x @ layer.weight.T + bias, size) for layer, bias in zip(layers, biases, strict=True)
    )
    if family == "qwen3":
        query = tuple(rms(q, 1e-6) * attention.q_norm.weight for q in query)
        key = tuple(rms(k, 1e-6) * attention.k_norm.weight for k in key)

    def scores(q: Tensor, k: Tensor, _: int) -> Tensor:
        return rotated(q, base) @ rotated(k, base).T / math.sqrt(size) + CAUSAL

    joined = heads(query, key, value, scores, shared=2)
    angles = rotary(x[None], torch.arange(S)[None])
    got = attention(x[None], position_embeddings=angles, attention_mask=CAUSAL[None, None])
    # Softmax, norms and angles are computed in float32 there.
    same(got[0][0], joined @ attention.o_proj.weight.T, tolerance=1e-5)


def test_llama_feed_forward() -> None:
    network, x = module("llama", "LlamaMLP"), sample(S, D)
    gate = x @ network.gate_proj.weight.T
    hidden = gate * torch.sigmoid(gate) * (x @ network.up_proj.weight.T)
    same(network(x), hidden @ network.down_proj.weight.T)


def test_mpnet_attention() -> None:
    attention, x, bias = module("mpnet", "MPNetSelfAttention"), sample(S, D), sample(3, S, S)
    query, key, value = (
        split(affine(x, layer), 8) for layer in (attention.q, attention.k, attention.v)
    )
    joined = heads(query, key, value, lambda q, k, h: q @ k.T / math.sqrt(8) + bias[h])
    same(attention(x[None], None, bias[None])[0][0], affine(joined, attention.o))


def test_disentangled_attention() -> None:
    attention, x = module("deberta-v2", "DisentangledSelfAttention"), sample(S, D)
    span = attention.pos_ebd_size
    table = sample(2 * span, D)
    query, key, value = (
        split(affine(x, layer), 8)
        for layer in (attention.query_proj, attention.key_proj, attention.value_proj)
    )
    far_key = split(affine(table, attention.key_proj), 8)
    far_query = split(affine(table, attention.query_proj), 8)
    # All distances here are short enough to have a bucket of their own.
    length = 4
    row = (torch.arange(length)[:, None] - torch.arange(length)) + span

    def scores(q: Tensor, k: Tensor, h: int) -> Tensor:
        total = q @ k.T
        for i in range(length):
            for j in range(length):
                total[i, j] += q[i] @ far_key[h][row[i, j]] + k[j] @ far_query[h][row[i, j]]
        return total / math.sqrt(3 * 8)

    joined = heads(
        [q[:length] for q in query], [k[:length] for k in key], [v[:length] for v in value], scores
    )
    mask = torch.ones(1, 1, length, length)
    # The root is taken in float32 there.
    same(attention(x[None, :length], mask, rel_embeddings=table)[0][0], joined, tolerance=1e-6)


def test_modernbert_attention_and_network() -> None:
    attention = module("modernbert", "ModernBertAttention", layer_idx=0)
    rotary = module("modernbert", "ModernBertRotaryEmbedding")
    x = sample(S, D)
    parts = (split(part, 8) for part in (x @ attention.Wqkv.weight.T).split(D, dim=-1))
    query, key, value = parts
    base = config_of("modernbert").rope_parameters["full_attention"]["rope_theta"]

    def scores(q: Tensor, k: Tensor, _: int) -> Tensor:
        return rotated(q, base) @ rotated(k, base).T / math.sqrt(8)

    joined = heads(query, key, value, scores)
    angles = rotary(x[None], torch.arange(S)[None], "full_attention")
    got = attention(x[None], position_embeddings=angles)[0][0]
    same(got, joined @ attention.Wo.weight.T, tolerance=1e-5)
    network = module("modernbert", "ModernBertMLP")
    gate, up = network.Wi.weight.split(40)
    same(network(x), (network.act(x @ gate.T) * (x @ up.T)) @ network.Wo.weight.T)
