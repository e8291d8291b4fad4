"""The maths that the formulas state is what torch computes: recomputed in float64."""

import math
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.models.albert.modeling_albert import AlbertAttention
from transformers.models.bert.modeling_bert import (
    BertLayer,
    BertPooler,
    BertSelfAttention,
    BertSelfOutput,
)
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from tests.core.formulas.formula_models import config_of

S, D, HEADS = 7, 24, 3


def eager(family: str) -> transformers.PreTrainedConfig:
    config = type(config_of(family)).from_dict(config_of(family).to_dict())
    config._attn_implementation = "eager"
    return config


def same(actual: Tensor, expected: Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(actual, expected, rtol=0.0, atol=tolerance)


def ready(module: nn.Module) -> Any:
    """Give a module parameters far from their initial zeros and ones."""
    generator = torch.Generator().manual_seed(0)
    module = module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator).double() / 3)
    return module


def sample(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    mean = x.sum(-1, keepdim=True) / D
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / D
    return (x - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias


def exact_gelu(x: Tensor) -> Tensor:
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def heads_of(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | float = 0.0) -> Tensor:
    """Attend with columns 8h to 8h+7 as head h and set the results side by side."""
    size = D // HEADS
    outputs = []
    for h in range(HEADS):
        part = slice(size * h, size * h + size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size) + mask
        outputs.append(torch.softmax(scores, dim=-1) @ value[:, part])
    return torch.cat(outputs, dim=-1)


def affine(x: Tensor, layer: nn.Linear) -> Tensor:
    return x @ layer.weight.T + layer.bias


def self_attention(x: Tensor, module: nn.Module) -> Tensor:
    query, key, value = (affine(x, getattr(module, n)) for n in ("query", "key", "value"))
    return heads_of(query, key, value)


def test_linear() -> None:
    layer, x = ready(nn.Linear(D, 40)), sample(D)
    y = torch.stack(
        [
            sum((x[i] * layer.weight[j, i] for i in range(D)), torch.zeros(())) + layer.bias[j]
            for j in range(40)
        ]
    )
    same(layer(x), y)


def test_layer_norm_is_by_the_root_of_population_variance_plus_epsilon() -> None:
    norm, x = ready(nn.LayerNorm(D, eps=1e-5)), sample(S, D) / 100
    same(norm(x), layer_norm(x, norm))
    by_std = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + norm.eps)
    assert not torch.allclose(norm(x), by_std * norm.weight + norm.bias, atol=1e-3)


def test_gelu_exact() -> None:
    x = sample(1000) * 4
    same(ACT2FN["gelu"](x), exact_gelu(x))
    grid = torch.linspace(-2, 0, 20001, dtype=torch.float64)
    low, at = exact_gelu(grid).min(dim=0)
    assert low.item() == pytest.approx(-0.17, abs=1e-3)
    assert grid[at].item() == pytest.approx(-0.75, abs=1e-2)


@pytest.mark.parametrize("name", ["gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_accurate"])
def test_gelu_tanh(name: str) -> None:
    x = sample(1000) * 4
    y = x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    # "gelu_fast" writes sqrt(2 / pi) with ten digits.
    same(ACT2FN[name](x), y, tolerance=1e-9)
    assert (y - exact_gelu(x)).abs().max() < 1e-3


def test_bert_self_attention() -> None:
    module, x = ready(BertSelfAttention(eager("bert"))), sample(1, S, D)
    same(module(x)[0][0], self_attention(x[0], module))


def test_add_and_norm() -> None:
    module = ready(BertSelfOutput(eager("bert")))
    z, residual = sample(1, S, D), sample(1, S, D) * 2
    y = layer_norm(affine(z, module.dense) + residual, module.LayerNorm)
    same(module(z, residual), y)


def test_bert_layer() -> None:
    module, x = ready(BertLayer(eager("bert"))), sample(1, S, D)
    inner, output = module.attention, module.output
    z = affine(self_attention(x[0], inner.self), inner.output.dense)
    z = layer_norm(z + x[0], inner.output.LayerNorm)
    y = affine(exact_gelu(affine(z, module.intermediate.dense)), output.dense)
    same(module(x)[0], layer_norm(y + z, output.LayerNorm))


def test_albert_attention_holds_the_residual() -> None:
    module, x = ready(AlbertAttention(eager("albert"))), sample(1, S, D)
    y = layer_norm(x[0] + affine(self_attention(x[0], module), module.dense), module.LayerNorm)
    same(module(x)[0][0], y)


def test_gpt2_attention_is_causal_with_weights_side_by_side() -> None:
    module, x = ready(GPT2Attention(eager("gpt2"), layer_idx=0)), sample(1, S, D)
    mask = torch.full((S, S), -torch.inf, dtype=torch.float64).triu(1)
    q, k, v = (x[0] @ module.c_attn.weight + module.c_attn.bias).split(D, dim=-1)
    y = heads_of(q, k, v, mask) @ module.c_proj.weight + module.c_proj.bias
    same(module(x, attention_mask=mask[None, None])[0][0], y)


def test_torch_attention_stacks_its_weights() -> None:
    module, x = ready(nn.MultiheadAttention(D, HEADS, batch_first=True)), sample(1, S, D)
    weights = module.in_proj_weight.split(D)
    biases = module.in_proj_bias.split(D)
    q, k, v = (x[0] @ w.T + b for w, b in zip(weights, biases, strict=True))
    y = affine(heads_of(q, k, v), module.out_proj)
    same(module(x, x, x)[0][0], y)


def test_pooler() -> None:
    module, x = ready(BertPooler(eager("bert"))), sample(1, S, D)
    same(module(x)[0], torch.tanh(affine(x[0, 0], module.dense)))
