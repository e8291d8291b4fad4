"""Every module of every family has a formula that compiles and shows its own values."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typst

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import all_architectures, architecture_of
from tests.core.formulas.found_formulas import formula_at, maths_of, node_at, values

ARCHITECTURES = all_architectures()
# They keep several weights in one tensor.
PACKED = (
    *("MultiheadAttention", "ModernBertAttention", "ModernBertMLP", "ModernBertEncoderLayer"),
    "DisentangledSelfAttention",
)


def formulas_of(architecture: Architecture) -> Iterator[tuple[ModuleNode, Formula]]:
    """Yield the formulas of all modules that are called, and of others that have one."""
    assert architecture.flows is not None
    for node in architecture.modules:
        formula = formula_of(node, architecture)
        is_called = architecture.flows.flow(node.path) is not None
        assert formula is not None or not is_called, f"{node.path}: no formula"
        if formula is not None:
            yield node, formula


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_module_has_a_formula_that_is_complete(name: str) -> None:
    architecture = ARCHITECTURES[name]
    for _, formula in formulas_of(architecture):
        assert formula.title
        assert formula.summary.endswith(".")
        assert formula.maths
        assert formula.source
        assert all(key in architecture.config for key in formula.config_keys)
        assert all(note.endswith(".") for note in formula.notes)
        assert "  " not in " ".join((formula.title, formula.summary, *formula.notes))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_term_is_a_symbol_of_the_maths(name: str) -> None:
    missing = [
        (node.path, part)
        for node, formula in formulas_of(ARCHITECTURES[name])
        for term in formula.terms
        for part in term.symbol.split(", ")
        if part not in " ".join(formula.maths)
    ]
    assert missing == []


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_formula_compiles(name: str) -> None:
    architecture = ARCHITECTURES[name]
    lines: dict[str, None] = {}
    for node, formula in formulas_of(architecture):
        for text in (*formula.maths, *(term.symbol for term in formula.terms)):
            lines[text] = None
        lines[maths_of(node, architecture) or ""] = None
    source = "\n\n".join(f"$ {line} $" for line in lines)
    assert typst.compile(source.encode(), format="svg")


SIZED_WEIGHT = re.compile(r"limits\((W[^()]*?)(\^top)?\)_\((\d+) times (\d+)\)")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_sizes_below_a_weight_are_those_of_a_tensor(name: str) -> None:
    architecture = ARCHITECTURES[name]
    seen = 0
    for node, formula in formulas_of(architecture):
        shapes = {t.shape for t in architecture.tensors_below(node.path)}
        # GPT-2, torch and ModernBERT keep two or three weights in one tensor.
        parts = {(s[0] // n, s[1]) for s in shapes if len(s) == 2 for n in (2, 3) if s[0] % n == 0}
        parts |= {(s[0], s[1] // n) for s in shapes if len(s) == 2 for n in (2, 3) if s[1] % n == 0}
        for symbol, transposed, *size in SIZED_WEIGHT.findall(" ".join(formula.maths)):
            shape = tuple(map(int, size))
            stored = shape[::-1] if transposed else shape
            held = shapes if node.class_name in ("Linear", "Embedding") else shapes | parts
            assert stored in held, f"{node.path}: {symbol} is shown as {stored}"
            seen += 1
    # SqueezeBERT's weights are those of convolutions.
    assert seen >= (4 if name.startswith("squeezebert") else 8)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_shapes_of_weights_in_the_legend_are_those_of_tensors(name: str) -> None:
    architecture = ARCHITECTURES[name]
    for node, formula in formulas_of(architecture):
        shapes = {str(list(t.shape)) for t in architecture.tensors_below(node.path)}
        for term in formula.terms:
            if term.meaning.endswith("stored [out, in]") and node.class_name not in PACKED:
                assert term.value in shapes, (
                    f"{node.path}: {term.symbol} is said to be {term.value}"
                )


def test_each_line_compiles_by_itself() -> None:
    compiler = typst.Compiler()
    bert = ARCHITECTURES["bert pretraining"]
    for _, formula in formulas_of(bert):
        for line in formula.maths:
            source = f"#set page(width: auto, height: auto)\n$ {line} $"
            assert compiler.compile(source.encode(), format="svg")


def test_layer_norm_shows_its_epsilon_and_its_width() -> None:
    bert = architecture_of("bert")
    formula = formula_at(bert, "encoder.layer.0.output.LayerNorm")
    shown = values(formula)
    assert shown["epsilon"] == "1e−12"
    assert shown["gamma"] == shown["beta"] == "[24]"
    assert "epsilon = 10^(-12)" in formula.maths[1]
    assert "population variance" in " ".join(formula.notes)
    assert "48 parameters" in " ".join(formula.notes)
    gpt2 = formula_at(architecture_of("gpt2"), "ln_f")
    assert values(gpt2)["epsilon"] == "1e−05"
    assert gpt2.config_keys == ("layer_norm_epsilon",)


def test_layer_norm_without_a_bias_has_no_beta() -> None:
    formula = formula_at(architecture_of("modernbert"), "final_norm")
    assert "beta" not in values(formula)
    assert "beta" not in " ".join(formula.maths)


def test_linear_shows_its_shapes_in_torchs_order() -> None:
    formula = formula_at(architecture_of("bert"), "encoder.layer.1.intermediate.dense")
    shown = values(formula)
    assert (shown["W"], shown["b"], shown["x"], shown["y"]) == ("[40, 24]", "[40]", "[24]", "[40]")
    assert "limits(W^top)_(24 times 40)" in formula.maths[0]


def test_conv1d_is_not_transposed() -> None:
    formula = formula_at(architecture_of("gpt2"), "h.0.mlp.c_fc")
    assert values(formula)["W"] == "[24, 96]"
    assert "top" not in formula.maths[0]


def test_self_attention_shows_its_heads() -> None:
    formula = formula_at(architecture_of("bert"), "encoder.layer.0.attention.self")
    shown = values(formula)
    assert (shown["h"], shown["d_k"], shown["W_Q"]) == ("3 heads", "8", "[24, 24]")
    assert "rows 8h to 8h+7" in " ".join(formula.notes)
    assert "num_attention_heads" in formula.config_keys
    assert not any("causal" in note for note in formula.notes)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_attention_to_the_source_hides_nothing_but_padding(name: str) -> None:
    for node, formula in formulas_of(ARCHITECTURES[name]):
        if "cross-attention" in formula.title:
            told = " ".join((*formula.notes, *(term.meaning for term in formula.terms)))
            assert "later positions" not in told, node.path
            assert "causal" not in told, node.path


def test_the_norms_stand_where_the_layer_has_them() -> None:
    for architecture, path, title in (
        (architecture_of("bert"), "encoder.layer.0", "post-norm"),
        (architecture_of("gpt2"), "h.0", "pre-norm"),
        (architecture_of("transformer-base"), "transformer.decoder.layers.0", "post-norm"),
    ):
        assert formula_at(architecture, path).title.endswith(title)


def test_gelu_forms_are_told_apart() -> None:
    exact = formula_at(architecture_of("bert"), "encoder.layer.0.intermediate.intermediate_act_fn")
    tanh = formula_at(architecture_of("gpt2"), "h.0.mlp.act")
    assert "Phi" in exact.maths[0]
    assert "0.044715" in tanh.maths[0]


def test_a_tied_weight_is_named() -> None:
    bert = architecture_of("bert", "masked-lm")
    notes = " ".join(formula_at(bert, "cls.predictions").notes)
    assert "bert.embeddings.word_embeddings.weight" in notes


def test_an_unknown_class_has_no_formula() -> None:
    bert = architecture_of("bert")
    stranger = ModuleNode("x", "Stranger", 1, 0, 0, 0, 0.0, None, {}, "0", None)
    impostor = ModuleNode("x", "BertSelfAttention", 1, 0, 0, 0, 0.0, None, {}, "0", None)
    assert formula_of(stranger, bert) is None
    assert formula_of(impostor, bert) is None
    assert maths_of(stranger, bert) is None


MOBILEBERT = {
    "model_type": "mobilebert",
    "num_hidden_layers": 1,
    "hidden_size": 32,
    "embedding_size": 8,
    "intermediate_size": 16,
    "true_hidden_size": 16,
    "intra_bottleneck_size": 16,
    "vocab_size": 50,
}


@pytest.mark.parametrize(
    ("config", "path", "use"),
    [
        (
            MOBILEBERT,
            "encoder.layer.0.bottleneck.attention.dense",
            "Reduces the input to smaller vectors, from which queries and keys are computed.",
        ),
        (
            MOBILEBERT,
            "encoder.layer.0.bottleneck.input.dense",
            "Reduces the layer’s input to the layer’s internal hidden size.",
        ),
        (
            MOBILEBERT,
            "encoder.layer.0.output.bottleneck.dense",
            "Projects the layer’s output back to the hidden size of the model.",
        ),
    ],
)
def test_what_a_linear_layer_is_for(config: dict[str, Any], path: str, use: str) -> None:
    assert formula_at(with_flows(config), path).summary == use


def test_what_is_never_called_has_no_formula() -> None:
    # MobileBERT's head multiplies by this weight without its module.
    architecture = with_flows(MOBILEBERT, "masked-lm")
    assert formula_of(node_at(architecture, "cls.predictions.dense"), architecture) is None
