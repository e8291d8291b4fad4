"""Formulas of attention modules, evaluated as Python, give what the modules compute."""

import contextlib
import math
import re
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from tests.core.formulas.formula_models import architecture_of, formula_at

S, BASE = 7, 10000.0
CAUSAL = torch.full((S, S), -torch.inf, dtype=torch.float64).triu(1)
SMALL: dict[str, Any] = {
    **{"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4},
    **{"intermediate_size": 40, "max_position_embeddings": 32},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
GROUPED = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
GPT = {**SMALL, "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 32}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("encoder.layer.0.attention.self", SMALL),
    "albert": (
        "encoder.albert_layer_groups.0.albert_layers.0.attention",
        {**SMALL, "embedding_size": 16},
    ),
    "gpt2": ("h.0.attn", GPT),
    "gpt_bigcode": ("h.0.attn", GPT),
    "gptj": ("h.0.attn", {**GPT, "rotary_dim": 4}),
    "llama": ("layers.0.self_attn", GROUPED),
    "qwen3": ("layers.0.self_attn", GROUPED),
    "olmo2": ("layers.0.self_attn", SMALL),
    "phi3": ("layers.0.self_attn", {**SMALL, "num_key_value_heads": 2}),
    "gemma2": (
        "layers.0.self_attn",
        {**GROUPED, "attn_logit_softcapping": 0.5, "query_pre_attn_scalar": 5},
    ),
    "gpt_oss": (
        "layers.0.self_attn",
        {
            **GROUPED,
            "rope_parameters": {"rope_type": "default", "rope_theta": BASE},
            "layer_types": ["full_attention"],
        },
    ),
    "gpt_neox": ("layers.0.attention", {**SMALL, "rotary_pct": 0.5}),
    "persimmon": ("layers.0.self_attn", {**SMALL, "partial_rotary_factor": 0.5}),
    "bloom": ("h.0.self_attention", {**SMALL, "n_head": 4, "n_layer": 1}),
    "falcon": ("h.0.self_attention", SMALL),
    "opt": ("decoder.layers.0.self_attn", {**SMALL, "ffn_dim": 40, "word_embed_proj_dim": 32}),
    "cohere": (
        "layers.0.self_attn",
        {
            **{**GROUPED, "num_key_value_heads": 4},
            "rope_parameters": {"rope_type": "default", "rope_theta": BASE},
        },
    ),
    "nystromformer": (
        "encoder.layer.0.attention.self",
        {**SMALL, "segment_means_seq_len": 8, "num_landmarks": 8, "conv_kernel_size": 3},
    ),
}


class Symbols:
    """The values of the symbols of one attention, as its formula and notes define them."""

    def __init__(self, family: str, path: str, values: dict[str, Any]) -> None:
        self.path = path
        self.architecture = architecture_of(family, **values)
        self.formula: Formula = formula_at(self.architecture, self.path)
        self.notes = " ".join(self.formula.notes)
        config = transformers.AutoConfig.for_model(family, **values)
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
        self.model = model.double().eval()
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
        self.module: Any = self.model.get_submodule(self.path)
        self.tensors: dict[str, Any] = {}
        self.module.register_forward_hook(self._keep, with_kwargs=True)
        with torch.no_grad(), contextlib.suppress(StopIteration):
            self.model(input_ids=torch.arange(3, 3 + S)[None])

    def _keep(self, _: Any, args: Any, kwargs: Any, output: Any) -> None:
        hidden = args[0] if args else kwargs.get("hidden_states")
        given = output[0] if isinstance(output, tuple) else output
        residual = args[1] if len(args) > 1 else kwargs.get("residual")
        self.tensors = {"X": hidden[0], "Y": given[0], "residual": residual}
        raise StopIteration  # the rest of the model is not needed

    def tensor(self, name: str) -> Tensor | None:
        return dict(self.module.named_parameters()).get(name)

    def linear(self, child: str, x: Tensor) -> Tensor:
        weight, bias = self.tensor(f"{child}.weight"), self.tensor(f"{child}.bias")
        assert weight is not None
        shown = formula_at(self.architecture, f"{self.path}.{child}")
        product = x @ (weight if "Conv1D" in shown.title else weight.T)
        return product if bias is None else product + bias

    def child(self, summary: str) -> str:
        """Return the name of the linear layer whose formula has this summary."""
        for node in self.architecture.children(self.path):
            formula = formula_of(node, self.architecture)
            if formula is not None and formula.summary.startswith(summary):
                return node.name
        raise LookupError(summary)

    @property
    def size(self) -> int:
        shown = re.search(r"\[S, (\d+)\]", self.value("O_h"))
        assert shown is not None
        return int(shown[1])

    def value(self, symbol: str) -> str:
        return next(t.value or "" for t in self.formula.terms if t.symbol == symbol)

    def projected(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return Q, K and V from the weights that the notes name."""
        x, size = self.tensors["X"], self.size
        stacked = re.search(r"(\w+)\.weight (?:stacks|holds) the weights of ([a-z, ]+)", self.notes)
        heads = re.search(r"(\w+)\.weight stacks the heads, (\d+) rows each: the first", self.notes)
        queries = re.search(r"(\w+)\.weight stacks the (\d+) query heads, \d+ rows", self.notes)
        if heads:
            parts = self.linear(heads[1], x).view(S, -1, 3, size).unbind(2)
            query, key, value = (part.reshape(S, -1) for part in parts)
        elif queries:
            sizes = [int(queries[2]) * size, size, size]
            query, key, value = torch.split(self.linear(queries[1], x), sizes, dim=-1)
        elif stacked:
            counts = [int(n) for n in re.findall(r"(\d+) of the (?:query|key|value)", self.notes)]
            each = re.search(r", (\d+) (?:rows|columns) each", self.notes)
            sizes = counts or [int(each[1] if each else 0)] * 3
            assert re.findall("query|key|value", stacked[2]) == ["query", "key", "value"]
            query, key, value = torch.split(self.linear(stacked[1], x), sizes, dim=-1)
        else:
            names = ("queries:", "keys:", "values:")
            query, key, value = (self.linear(self.child(f"Computes the {n}"), x) for n in names)
        if 'op("RMSNorm")(limits(X)' in self.formula.maths[0]:
            query, key = self.norms()[0](query), self.norms()[1](key)
        return query, key, value

    def norms(self) -> tuple[Any, Any]:
        named = re.search(r"normalised[^(]*\((\w+)(?:, (\w+))?", self.notes)
        assert named is not None
        return tuple(getattr(self.module, name) for name in (named[1], named[2] or named[1]))

    def rotated(self, x: Tensor) -> Tensor:
        partial = re.search(r"Only (\d+) of the", self.notes)
        count = int(partial[1]) if partial else x.shape[-1]
        pairs, rest = x[:, :count], x[:, count:]
        steps = torch.arange(0, count, 2, dtype=torch.float64) / count
        angle = torch.arange(S)[:, None] * BASE**-steps
        cos, sin = angle.cos(), angle.sin()
        if "(x)_(2i)" in " ".join(self.formula.maths):
            one, two = pairs[:, 0::2], pairs[:, 1::2]
            pairs = torch.stack([one * cos - two * sin, two * cos + one * sin], -1).flatten(1)
        else:
            one, two = pairs.chunk(2, dim=-1)
            pairs = torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1)
        return torch.cat([pairs, rest], dim=-1)

    def mask(self) -> Tensor:
        is_causal = "all later positions" in self.meaning("M")
        return CAUSAL if is_causal else torch.zeros_like(CAUSAL)

    def meaning(self, symbol: str) -> str:
        return next((t.meaning for t in self.formula.terms if t.symbol == symbol), "")


def python_of(maths: str) -> str:
    """Return one expression of a formula as Python."""
    text = maths.replace('_(op("group")(h))', "_h")
    text = re.sub(r'op\("(\w+)"\) ?\(', r"\1(", text)
    text = re.sub(r"([QKV])(?:_h)?\b", r"\1", text)
    text = (
        text.replace("^top", ".T").replace("sqrt(d_k)", "sqrt").replace("alpha thin ", "alpha * ")
    )
    text = re.sub(r"(\d[\d.]*) tanh \(", r"\1 * tanh(", text)
    return re.sub(r"(\)|\bQ|P_h) (?=\(|K|V|RoPE\(|RMSNorm\(|LayerNorm\()", r"\1 @ ", text)


def evaluated(symbols: Symbols) -> Tensor:
    """Return Y, from the lines of the formula and the weights that its notes name."""
    lines = [part.strip() for line in symbols.formula.maths for part in line.split(", quad ")]
    named = {line.split(" = ")[0]: line.split(" = ", 1)[1] for line in lines if " = " in line}
    row = next(
        line for name, line in named.items() if name.startswith(("limits(P_h", "limits(Z_h"))
    )
    output = next(line for name, line in named.items() if name.startswith("limits(O_h"))
    query, key, value = symbols.projected()
    size, count = symbols.size, int(symbols.value("h").split(" ")[0])
    shared = count * key.shape[-1] // query.shape[-1]
    heads = []
    for head in range(count):
        other = head * shared // count if shared else 0
        columns, others = (slice(size * n, size * n + size) for n in (head, other))
        tagged = {"Q": query[:, columns], "K": key[:, others], "V": value[:, others]}
        scope = {
            **{"Q": tagged["Q"], "K": tagged["K"], "V": tagged["V"], "M": symbols.mask()},
            "sqrt": math.sqrt(size),
            "alpha": float(named.get("alpha", "0").replace(" times 10^(", "e").replace(")", "")),
            "RoPE": symbols.rotated,
            "softmax": lambda scores: torch.softmax(scores, dim=-1),
            "tanh": torch.tanh,
            "B_h": 2.0 ** (-8 * (head + 1) / count) * torch.arange(S),
        }
        for norm in ("RMSNorm", "LayerNorm"):
            scope[norm] = lambda x, q=tagged["Q"]: symbols.norms()[0 if x is q else 1](x)
        found = eval(python_of(row), {}, scope)
        if "(e)^(z_" in named.get("p_(h, i j)", ""):
            sink = symbols.tensor("sinks")
            assert sink is not None
            powers = found.exp()
            found = powers / (sink[head].exp() + powers.sum(-1, keepdim=True))
        result = eval(python_of(output.partition(" + w_h")[0]), {}, {**scope, "P_h": found})
        if "w_h ast" in output:
            kernel = symbols.tensor("conv.weight")
            assert kernel is not None
            result = (
                result
                + torch.conv2d(
                    value[None, None, :, columns], kernel[head : head + 1], padding=(1, 0)
                )[0, 0]
            )
        heads.append(result)
    joined = torch.cat(heads, dim=-1)
    if "W_O" not in " ".join(t.symbol for t in symbols.formula.terms):
        return joined
    projected = symbols.linear(symbols.child("Mixes the heads"), joined)
    last = symbols.formula.maths[-1] if "O" in symbols.formula.maths[-1] else ""
    last = next((line for line in symbols.formula.maths if line.startswith("limits(Y)")), last)
    if '= X_"res" + O' in last:
        projected = projected + symbols.tensors["residual"][0]
    if 'op("LayerNorm")(X + O' in last:
        projected = symbols.module.LayerNorm(symbols.tensors["X"] + projected)
    return projected


@pytest.mark.parametrize("family", CASES)
def test_the_formula_gives_the_modules_output(family: str) -> None:
    symbols = Symbols(family, *CASES[family])
    with torch.no_grad():
        torch.testing.assert_close(
            evaluated(symbols), symbols.tensors["Y"].view(S, -1), rtol=0.0, atol=1e-5
        )


LATENT = {
    **{**SMALL, "num_key_value_heads": 4, "q_lora_rank": 12, "kv_lora_rank": 10},
    **{"qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "first_k_dense_replace": 1},
}


@pytest.mark.parametrize("family", ["deepseek_v3", "minicpm3"])
def test_the_formula_of_latent_attention(family: str) -> None:
    symbols = Symbols(family, "layers.0.self_attn", LATENT)
    module, x = symbols.module, symbols.tensors["X"]
    names = dict(re.findall(r"(\w+)\.weight (stacks|has)", symbols.notes))
    up, down = (next(n for n, word in names.items() if word == w) for w in ("stacks", "has"))
    count, plain, rotated = 4, 6, 4
    with torch.no_grad():
        query = symbols.linear(down, module.q_a_layernorm(symbols.linear("q_a_proj", x)))
        latent, key = torch.split(symbols.linear("kv_a_proj_with_mqa", x), [10, rotated], dim=-1)
        both = symbols.linear(up, module.kv_a_layernorm(latent))
        heads = []
        for head in range(count):
            own, pairs = torch.split(query[:, head * 10 : head * 10 + 10], [plain, rotated], dim=-1)
            keys, values = torch.split(both[:, head * 11 : head * 11 + 11], [plain, 5], dim=-1)
            left = torch.cat([own, symbols.rotated(pairs)], dim=-1)
            right = torch.cat([keys, symbols.rotated(key)], dim=-1)
            scores = left @ right.T / math.sqrt(plain + rotated) + CAUSAL
            heads.append(torch.softmax(scores, dim=-1) @ values)
        joined = symbols.linear(symbols.child("Mixes the heads"), torch.cat(heads, dim=-1))
    torch.testing.assert_close(joined, symbols.tensors["Y"], rtol=0.0, atol=1e-5)
    assert symbols.formula.title == "Multi-head latent attention"
    assert symbols.value("d_k") == str(plain + rotated)
    assert f"{10 + rotated} numbers per position" in symbols.notes
