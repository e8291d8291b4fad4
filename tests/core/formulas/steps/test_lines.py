"""What is written for a module is what its code does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.expression import Expression, operation
from bertviewer.core.formulas.steps.lines import formula_of_steps
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import LENGTHS, trace_model
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.serialization import encode_floats
from tests.core.formulas.flow_models import traced, with_flows
from tests.core.formulas.found_formulas import formula_at, node_at, values
from tests.core.graph.readers import config_of
from tests.tools.small_models import configurations


def read_off(name: str, path: str, **changes: Any) -> Formula:
    """Return the formula of a module, read off its flow."""
    architecture = with_flows(config_of(name, **changes)) if changes else traced(name)
    formula = formula_of_steps(ModuleView.of(node_at(architecture, path), architecture))
    assert formula is not None
    return formula


def test_a_layer_of_bert() -> None:
    formula = read_off("bert", "encoder.layer.0")
    assert formula.maths == (
        "limits(Q)_(S times 24) = X  W_Q^top + b_Q",
        "limits(K)_(S times 24) = X  W_K^top + b_K",
        "limits(V)_(S times 24) = X  W_V^top + b_V",
        'A = op("softmax")((Q K^top) / sqrt(d_k)) V, quad d_k = 8',
        'limits(N_1)_(S times 24) = op("LayerNorm")(X + A  W_O^top + b_O)',
        'limits(Y)_(S times 24) = op("LayerNorm")(N_1 + op("FFN")(N_1))',
        'op("FFN")(x) = op("GELU")(x  W_1^top + b_1)  W_2^top + b_2',
    )
    shown = values(formula)
    assert (shown["W_1"], shown["b_1"], shown["X"]) == ("[40, 24]", "[40]", "[S, 24]")
    assert "3 heads of 8 features" in next(t.meaning for t in formula.terms if t.symbol == "A")


def test_fused_projections_are_not_transposed() -> None:
    maths = read_off("gpt2", "h.0").maths
    assert maths[0] == '(Q, K, V) = op("LayerNorm")(X)  W + b'
    assert maths[2] == "limits(Z_1)_(S times 24) = X + A  W_O + b_O"
    assert "+ M) V" in maths[1]


def test_shared_keys_rotation_and_a_gate() -> None:
    formula = read_off("llama", "layers.0")
    lines = "\n".join(formula.maths)
    assert 'op("RoPE")(Q, p) op("RoPE")(K, p)^top' in lines
    assert 'op("FFN")(x) = (op("SiLU")(x  W_G^top) dot.o (x  W_U^top))  W_D^top' in lines
    assert values(formula)["W_K"] == "[12, 24]"
    assert "2 key/value heads" in next(t.meaning for t in formula.terms if t.symbol == "A")


def test_routing_and_experts() -> None:
    block, router = (read_off("mixtral", f"layers.0.mlp{path}") for path in ("", ".gate"))
    maths = block.maths
    assert maths[0] == '(g, cal(E)) = op("TopK"_2)(op("softmax")(X W_R^top))'
    assert router.maths == maths[:1]
    assert values(block)["cal(E)"] == values(router)["cal(E)"] == "[S, 2]"
    assert maths[1].endswith('= sum_(e in cal(E)) g_e thin op("Expert")_e (X)')
    assert 'op("SiLU")' in maths[2]
    assert "W_(2, e)" in maths[2]


def test_scores_are_scaled_where_the_code_does_it() -> None:
    maths = "\n".join(read_off("xlnet", "layer.0.rel_attn").maths)
    assert '((Q + "r_w_bias") K^top + B)' in maths  # the bias goes in before the scale
    assert "0.353553 thin" in maths or "sqrt(d_k)" in maths
    capped = "\n".join(read_off("gemma2", "layers.0.self_attn").maths)
    assert "50 tanh (" in capped
    unscaled = read_off("t5", "encoder.block.0.layer.0.SelfAttention").maths
    assert any("(Q K^top + " in line for line in unscaled)
    assert not any("sqrt" in line for line in unscaled)


def test_a_scale_and_a_shift_is_no_norm() -> None:
    maths = "\n".join(read_off("mobilebert", "encoder.layer.0").maths)
    assert 'op("NoNorm")(H_2)' in maths
    assert "LayerNorm" not in maths


@pytest.mark.parametrize(
    ("name", "path", "title", "scale"),
    [
        ("gemma2", "layers.0.input_layernorm", "Root-mean-square normalisation", "(1 + "),
        ("mixtral", "layers.0.input_layernorm", "Root-mean-square normalisation", ""),
        ("cohere2", "norm", "Layer normalisation", ""),
    ],
)
def test_norms_by_what_they_compute(name: str, path: str, title: str, scale: str) -> None:
    formula = formula_at(traced(name), path)
    assert formula.title == title
    assert ("(1 + " in formula.maths[0]) is bool(scale)
    assert values(formula)["gamma"] == "[24]"
    assert values(formula)["epsilon"] in ("1e−06", "1e−05")


@pytest.mark.parametrize(
    ("changes", "path", "there", "gone"),
    [
        ({}, "h.0.attn", "sqrt(d_k)", "thin"),
        ({"scale_attn_weights": False}, "h.0.attn", "(Q K^top + M)", "sqrt(d_k)"),
        ({"activation_function": "relu"}, "h.0.mlp", 'op("ReLU")', "GELU"),
    ],
)
def test_another_code_has_another_formula(
    changes: dict[str, Any], path: str, there: str, gone: str
) -> None:
    lines = "\n".join(read_off("gpt2", path, **changes).maths)
    assert there in lines
    assert gone not in lines


MAMBA = {
    "vocab_size": 97,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "state_size": 4,
    "time_step_rank": 3,
}


RWKV = {"hidden_size": 24, "num_hidden_layers": 1, "vocab_size": 97}


def test_a_loop_over_positions_stands_once() -> None:
    formula = read_off("mamba", "layers.0.mixer", **MAMBA)
    (state,) = (line for line in formula.maths if line.endswith("quad t = 0, dots, 11"))
    symbol = state.partition(" = ")[0]
    assert symbol.replace("t)", "t-1)") in state  # it hangs on the round before
    assert '"[:, :, t]"' in state
    assert len(formula.maths) < 12


def test_a_loop_with_an_incomplete_first_and_last_round() -> None:
    formula = read_off("rwkv", "blocks.0.attention", **RWKV)
    maths = formula.maths
    (first,) = (line for line in maths if line.endswith("quad t = 0, dots, 11"))
    assert '"[:, t]" + "time_first"' in first
    assert '"[:, 0]"' not in "".join(maths)
    assert len(maths) < 20
    (written,) = (line for line in maths if 'op("set")' in line)
    symbol = written.partition(" = ")[0].replace("t)", "11)")
    assert symbol in maths[-1]


@pytest.mark.parametrize(
    ("operation_name", "left", "whole"),
    [
        ("mul", ("matmul", "A", "B"), "(A B) dot.o C"),
        ("matmul", ("mul", "A", "B"), "(A dot.o B) C"),
        ("mul", ("mul", "2", "A"), "2 thin A dot.o C"),
        ("mul", ("div", "A", "B"), "(A) / (B) dot.o C"),
        ("sub", ("matmul", "A", "B"), "A B - C"),
        ("rsub", ("matmul", "A", "B"), "C - A B"),
    ],
)
def test_products_of_two_kinds_are_in_brackets(
    operation_name: str, left: tuple[str, str, str], whole: str
) -> None:
    inner = operation(left[0], [Expression(left[1]), Expression(left[2])])
    assert operation(operation_name, [inner, Expression("C")]).text == whole


def test_a_factor_on_a_product_of_matrices() -> None:
    product = operation("matmul", [Expression("A"), Expression("B")])
    scaled = operation("mul", [Expression("2"), product])
    assert operation("mul", [Expression("C"), scaled]).text == "C dot.o (2 thin A B)"


@pytest.mark.parametrize("word", ["cat", "stack"])
def test_joined_tensors_are_without_the_axis(word: str) -> None:
    parts = [Expression("A"), Expression("B")]
    assert operation(word, [*parts, Expression("-1")]).text.endswith("(A, B)")
    assert operation(word, parts, [("dim", "1")]).text.endswith("(A, B)")


def test_inputs_have_the_usual_symbols() -> None:
    maths = read_off("mixtral", "").maths
    assert any('"layers"_l' in line for line in maths)
    assert any('W_"word" [t]' in line for line in maths)


GLM = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 1, "vocab_size": 97}
HEADS = {"num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 8, "pad_token_id": 0}


@pytest.mark.parametrize(
    ("name", "path", "changes", "line"),
    [
        ("mixtral", "layers.0.mlp.experts", {}, "(G, U) = W_(1, e) x"),
        ("glm4", "layers.0", GLM | HEADS, "(G, U) = x  W_1^top"),
        ("modernbert", "layers.0", {}, "(G, U) = x  W_1^top"),
        ("mamba", "layers.0.mixer", MAMBA, "(H_1, H_2) = "),
        ("mamba", "layers.0.mixer", MAMBA, "(H_3, H_4, H_5) = U_1  W_3^top"),
    ],
)
def test_the_parts_of_one_result_have_symbols(
    name: str, path: str, changes: dict[str, Any], line: str
) -> None:
    formula = read_off(name, path, **changes)
    lines = "\n".join(formula.maths)
    assert line in lines
    assert not any(term.meaning.startswith("part ") for term in formula.terms)
    symbols = line.partition(") = ")[0].removeprefix("(")
    meaning = next(term.meaning for term in formula.terms if term.symbol == symbols)
    assert "adjacent parts of " in meaning


@pytest.mark.parametrize(
    ("name", "path", "call"),
    [
        ("bert", "", '"Pooler"(y_0)'),
        ("bert", "encoder.layer.0.attention", '"SelfAttention"(X)'),
        ("bart", "decoder", '"Layer"_l (X_l, X_"enc")'),
    ],
)
def test_arguments_of_a_call_have_no_sizes(name: str, path: str, call: str) -> None:
    formula = formula_at(traced(name), path)
    assert any(call in line for line in formula.maths)
    assert "S" not in formula.maths[0] or any(term.symbol == "S" for term in formula.terms)


def test_sizes_in_the_legend_alone_are_explained() -> None:
    symbols = {term.symbol for term in read_off("mixtral", "layers.0.mlp.gate").terms}
    assert {"S", "cal(E)"} <= symbols


def test_weights_of_a_network_and_those_around_it_have_different_numbers() -> None:
    formula = read_off("mobilebert", "encoder.layer.0")
    meanings = {term.symbol: term.meaning for term in formula.terms}
    assert "“intermediate.dense”" in meanings["W_1"]
    assert "“bottleneck.input.dense”" in meanings["W_3"]
    assert set(re.findall(r"W_\d", " ".join(formula.maths))) <= meanings.keys()


def test_a_learned_query_is_named() -> None:
    architecture = with_flows(
        {
            "model_type": "aimv2_vision_model",
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 1,
            "num_attention_heads": 3,
            "image_size": 28,
        }
    )
    head = formula_at(architecture, "head")
    assert head.title == "Multi-head attention with a learned query"
    assert 'op("softmax")(("cls_token" K^top) / sqrt(d_k)) V' in "\n".join(head.maths)
    assert values(head)['"cls_token"'] == "[1, 1, 24]"


def test_a_result_read_in_parts_next_to_one_read_whole(tmp_path: Path) -> None:
    config = next(iter(configurations("vits")))
    path = tmp_path / "config.json"
    path.write_text(json.dumps(encode_floats(config)), encoding="utf-8")
    opened = open_model(parse_source(str(path)))
    traced_model = trace_model(opened.source, opened.architecture.config)
    flows = FlowReader(traced_model.trace, opened.architecture).flows(LENGTHS)
    architecture = with_formulas(replace(opened.architecture, flows=flows))
    assert ", (H_2, H_3) = " in formula_at(architecture, "").maths[0]
