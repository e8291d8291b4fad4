"""The maths stated for DeBERTa v1, RoFormer, ESM, BigBird and SqueezeBERT is what they compute."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from tests.core.formulas.test_family_numbers import heads, module, rotated, split
from tests.core.formulas.test_formula_numbers import affine, layer_norm, ready, same, sample

S, D = 10, 24


def turned(x: Tensor) -> Tensor:
    """Turn features 2i and 2i + 1 of row s by s * 10000^(-2i / size)."""
    y = torch.empty_like(x)
    for s in range(len(x)):
        for i in range(x.shape[-1] // 2):
            angle = s * 10_000 ** (-2 * i / x.shape[-1])
            first, second = x[s, 2 * i], x[s, 2 * i + 1]
            y[s, 2 * i] = first * math.cos(angle) - second * math.sin(angle)
            y[s, 2 * i + 1] = second * math.cos(angle) + first * math.sin(angle)
    return y


def projected(x: Tensor, attention: Any) -> tuple[tuple[Tensor, ...], ...]:
    layers = (attention.query, attention.key, attention.value)
    return tuple(split(affine(x, layer), 8) for layer in layers)


def test_roformers_attention_turns_neighbours() -> None:
    for values in (False, True):
        attention, x = module("roformer", "RoFormerSelfAttention"), sample(S, D)
        attention.rotary_value = values
        table = module("roformer", "RoFormerEncoder").embed_positions
        with torch.no_grad():
            table.weight.copy_(table.create_weight())
        query, key, value = projected(x, attention)
        value = tuple(map(turned, value)) if values else value
        expected = heads(query, key, value, lambda q, k, _: turned(q) @ turned(k).T / math.sqrt(8))
        got = attention(x[None], None, table((1, S))[None, None])[0][0]
        # The table is stored in float32.
        same(got, expected, tolerance=1e-5)


def test_debertas_first_attention() -> None:
    attention, x = module("deberta", "DisentangledSelfAttention"), sample(S, D)
    attention.head_logits_proj = ready(nn.Linear(3, 3, bias=False))
    attention.head_weights_proj = ready(nn.Linear(3, 3, bias=False))
    longest = attention.max_relative_positions
    table = sample(2 * longest, D)
    stored = attention.in_proj.weight.reshape(3, 3, 8, D)
    far_key = split(table @ attention.pos_proj.weight.T, 8)
    far_query = split(affine(table, attention.pos_q_proj), 8)
    biases = split(attention.q_bias, 8), split(attention.v_bias, 8)
    scores, values = [], []
    for h in range(3):
        q, k = x @ stored[h, 0].T + biases[0][h], x @ stored[h, 1].T
        values.append(x @ stored[h, 2].T + biases[1][h])
        total = q @ k.T
        for i in range(S):
            for j in range(S):
                row = i - j + longest
                total[i, j] += q[i] @ far_key[h][row] + k[j] @ far_query[h][row]
        scores.append(total / math.sqrt(3 * 8))
    mixed = torch.einsum("hg,gij->hij", attention.head_logits_proj.weight, torch.stack(scores))
    found = torch.softmax(mixed, dim=-1)
    found = torch.einsum("hg,gij->hij", attention.head_weights_proj.weight, found)
    expected = torch.cat([found[h] @ values[h] for h in range(3)], dim=-1)
    places = (torch.arange(S)[:, None] - torch.arange(S))[None]
    mask = torch.ones(1, 1, S, S)
    got = attention(x[None], mask, relative_pos=places, rel_embeddings=table)[0][0]
    # The root is taken in float32 there.
    same(got, expected, tolerance=1e-6)


def test_esms_embeddings_make_up_for_masked_tokens() -> None:
    embeddings = module("esm", "EsmEmbeddings")
    ids = torch.tensor([[5, 3, 7, 9]])  # 3 is the mask: a share of 1/4
    words = embeddings.word_embeddings.weight
    expected = words[ids[0]] * (1 - 0.15 * 0.8) / (1 - 0.25)
    expected[1] = 0
    same(embeddings(ids, torch.ones_like(ids))[0], expected)


def test_esms_layer_is_pre_norm_and_turns_halves() -> None:
    layer, x = module("esm", "EsmLayer"), sample(S, D)
    inner = layer_norm(x, layer.attention.LayerNorm)
    query, key, value = projected(inner, layer.attention.self)
    joined = heads(
        query, key, value, lambda q, k, _: rotated(q, 10_000.0) @ rotated(k, 10_000.0).T / 8**0.5
    )
    z = x + affine(joined, layer.attention.output.dense)
    hidden = affine(layer_norm(z, layer.LayerNorm), layer.intermediate.dense)
    hidden = hidden / 2 * (1 + torch.erf(hidden / math.sqrt(2)))
    y = z + affine(hidden, layer.output.dense)
    rotary = module("esm", "EsmRotaryEmbedding")
    angles = rotary(x[None], torch.arange(S)[None])
    # Angles are calculated in float32 there.
    same(layer(x[None], position_embeddings=angles)[0], y, tolerance=1e-5)


def test_esms_contacts() -> None:
    head = module("esm", "EsmModel").contact_head
    seen = torch.softmax(sample(1, 2, 3, 6, 6), dim=-1)
    got = head(torch.tensor([[1, 5, 6, 7, 8, 9]]), seen)[0]
    inside = seen[0, :, :, 1:5, 1:5].reshape(6, 4, 4)
    both = [weights + weights.T for weights in inside]
    features = torch.stack([b - b.sum(1)[:, None] * b.sum(0) / b.sum() for b in both], dim=-1)
    scores = affine(features, head.regression)[..., 0]
    same(got, 1 / (1 + torch.exp(-scores)))


def test_block_sparse_attention_counts_a_block_as_often_as_it_is_named() -> None:
    attention, x = module("big_bird", "BigBirdBlockSparseAttention"), sample(S, D)
    random = attention.num_random_blocks
    count = torch.ones(S, S)
    for i in range(1, S - 1):  # a block is one position long here
        for j in range(S):
            count[i, j] = (j in {0, i - 1, i, i + 1, S - 1}) + random * (j == 0)
    query, key, value = projected(x, attention)
    expected = heads(
        query, key, value, lambda q, k, _: q @ k.T / math.sqrt(8) + count.double().log()
    )
    real = torch.ones(1, S, dtype=torch.float64)
    band = torch.ones(1, 1, S - 4, 1, 3, dtype=torch.float64)
    masks = (band, real[:, None, :, None], real[:, None, None], real[..., None], real[..., None])
    same(attention(x[None], *masks)[0][0], expected)


def test_a_grouped_convolution() -> None:
    convolution, x = ready(nn.Conv1d(12, 8, 1, groups=4)), sample(12, S)
    expected = torch.empty(8, S, dtype=torch.float64)
    for j in range(8):
        group = j // 2
        rows = x[3 * group : 3 * group + 3]
        expected[j] = (rows * convolution.weight[j]).sum(0) + convolution.bias[j]
    same(convolution(x[None])[0], expected)


def test_squeezeberts_layer() -> None:
    layer, x = module("squeezebert", "SqueezeBertModule"), sample(D, S)
    inner = layer.attention
    query, key, value = (
        tuple(p(x[None])[0].split(8)) for p in (inner.query, inner.key, inner.value)
    )
    joined = torch.cat(
        [value[h] @ torch.softmax(query[h].T @ key[h] / math.sqrt(8), dim=-1).T for h in range(3)]
    )
    z = layer.post_attention.conv1d(joined[None])[0] + x
    z = layer_norm(z.T, layer.post_attention.layernorm).T
    hidden = layer.intermediate.act(layer.intermediate.conv1d(z[None]))
    y = layer_norm((layer.output.conv1d(hidden)[0] + z).T, layer.output.layernorm).T
    same(layer(x[None], None, False)["feature_map"][0], y)
