"""The formula of a module: a template, its steps, or its parts."""

from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of, formula_of_parts
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import architecture_of
from tests.core.formulas.found_formulas import formula_at, maths_of, node_at, values


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


def test_what_a_linear_layer_is_for_and_what_is_never_called() -> None:
    architecture = with_flows(MOBILEBERT, "masked-lm")
    shared = "mobilebert.encoder.layer.0.bottleneck.attention.dense"
    assert formula_at(architecture, shared).summary == (
        "Reduces the input to smaller vectors, from which queries and keys are computed."
    )
    # The head multiplies by this weight without its module.
    assert formula_of(node_at(architecture, "cls.predictions.dense"), architecture) is None


def test_without_flows_a_class_without_a_role_has_none() -> None:
    architecture = architecture_of("mixtral")
    node = node_at(architecture, "layers.0")
    assert (node.role, node.formula_from) == ("layer", "role")
    assert formula_of(node, replace(architecture, flows=None)) is None


def node(
    path: str, class_name: str, parameters: int = 0, repeat: Repeat | None = None
) -> ModuleNode:
    depth = path.count(".") + 1 if path else 0
    return ModuleNode(
        path, class_name, depth, parameters, 0, 0, 0.0, repeat, {}, "0", None, "a.module"
    )


def architecture(*nodes: ModuleNode, tensors: tuple[TensorInfo, ...] = ()) -> Architecture:
    source = SourceInfo("preset", "stranger", "base", "none")
    return Architecture(source, {}, (), nodes, tensors)


def test_children_and_tensors_are_named_with_class_and_shape() -> None:
    stranger = architecture(
        node("", "Stranger", 1010),
        node("inner", "Strange", 1000),
        tensors=(
            TensorInfo("token", (1, 10), "float32", True),
            TensorInfo("inner.w", (1000,), "float32", True),
        ),
    )
    assert formula_of(stranger.root, stranger) is None
    parts = formula_of_parts(stranger.root, stranger)
    assert parts.title == "Stranger"
    assert parts.source == "a.module"
    assert [(t.symbol, t.meaning, t.value) for t in parts.terms] == [
        ('"inner"', "Strange", "1,000 parameters"),
        ('"token"', "tensor of this module", "[1, 10]"),
    ]
    assert parts.maths == ('y = "Stranger"(x)',)


def test_equal_children_are_one_entry() -> None:
    run = Repeat(0, 2, 3)
    stack = architecture(
        node("", "Stack"), *(node(str(number), "Strange", 5, run) for number in range(3))
    )
    (term,) = formula_of_parts(stack.root, stack).terms
    assert (term.symbol, term.meaning, term.value) == ('"0 … 2"', "3 × Strange", "15 parameters")


def test_a_leaf_says_that_it_has_no_parts() -> None:
    leaf = architecture(node("", "Leaf"))
    parts = formula_of_parts(leaf.root, leaf)
    assert parts.terms == ()
    assert "neither" in parts.summary
