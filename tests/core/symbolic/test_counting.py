"""Derived formulas: right for the families we know, plain numbers where they cannot be proven."""

from collections.abc import Mapping
from typing import Any

import pytest
import sympy  # type: ignore[import-untyped]
import torch
import transformers

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.symbolic.counts import Derivation, derive
from bertviewer.core.symbolic.models import Build

# The letters are plain: sympy would read N, E and I as its own functions and constants.
LETTERS = {letter: sympy.Symbol(letter) for letter in "VLTCNADEIG"}


def builder(head: str = "Model") -> Build:
    auto = getattr(transformers, f"Auto{head}")

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        rest = {key: value for key, value in config.items() if key != "model_type"}
        with torch.device("meta"):
            model: torch.nn.Module = auto.from_config(
                transformers.AutoConfig.for_model(config["model_type"], **rest)
            )
        return model

    return build


def config_of(model_type: str, **values: object) -> dict[str, Any]:
    config: dict[str, Any] = transformers.AutoConfig.for_model(model_type, **values).to_dict()
    return config


def same(formula: str, expected: str, **given_values: str) -> bool:
    """Tell whether two expressions are equal, with some letters replaced in the first."""
    replaced = {LETTERS[k]: sympy.sympify(v, LETTERS) for k, v in given_values.items()}
    difference = sympy.sympify(formula, LETTERS).subs(replaced) - sympy.sympify(expected, LETTERS)
    return bool(sympy.expand(difference) == 0)


def values_of(derivation: Derivation) -> dict[str, int]:
    return {symbol.name: symbol.value for symbol in derivation.symbols}


def assert_true_of(derivation: Derivation, model: torch.nn.Module) -> None:
    """Check every formula against the model itself."""
    values = values_of(derivation)
    for path, module in model.named_modules():
        # Tied tensors count at their first name in the whole model.
        prefix = f"{path}." if path else ""
        count = sum(p.numel() for n, p in model.named_parameters() if n.startswith(prefix))
        assert evaluate(derivation.counts[path], values) == count, (path, type(module))
    for name, tensor in model.named_parameters(remove_duplicate=False):
        shape = tuple(evaluate(text, values) for text in derivation.shapes[name])
        assert shape == tuple(tensor.shape), name


def test_bert_base_chinese_masked_lm() -> None:
    found = derive(config_of("bert", vocab_size=21128), builder("ModelForMaskedLM"))
    values, counts = values_of(found), found.counts
    assert values == {"V": 21128, "L": 512, "T": 2, "N": 12, "A": 12, "D": 768, "I": 3072}
    assert evaluate(counts["bert.embeddings"], values) == 16_622_592
    assert counts["bert.embeddings"] == "V*D + L*D + T*D + 2*D"
    assert counts["bert.encoder.layer.7"] == "4*D**2 + 2*D*I + 9*D + I"
    assert same(counts["bert.encoder"], "N*(12*D*D + 13*D)", I="4*D")
    assert evaluate(counts["bert.encoder"], values) == 85_054_464
    assert same(counts["cls"], "V + D*D + 3*D")
    assert evaluate(counts[""], values) == 102_290_312
    assert counts[""].startswith("V*D + L*D + T*D + 2*D + N*(4*D**2 + 2*D*I + 9*D + I) + ")
    # The decoder's weight is the word embedding's: it has a shape and no count.
    assert found.shapes["cls.predictions.decoder.weight"] == ("V", "D")
    assert counts["cls.predictions.decoder"] == "0"


def test_gpt2_has_no_number_for_its_inner_width() -> None:
    found = derive(config_of("gpt2"), builder("ModelForCausalLM"))
    assert evaluate(found.counts[""], values_of(found)) == 124_439_808
    assert found.shapes["transformer.h.0.attn.c_attn.weight"] == ("D", "3*D")
    assert found.shapes["transformer.h.11.mlp.c_fc.weight"] == ("D", "4*D")
    assert found.counts[""] == "V*D + L*D + N*(12*D**2 + 13*D) + 2*D"


def test_albert_applies_one_stored_layer_many_times() -> None:
    config = config_of("albert", hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    found = derive(config, builder())
    assert evaluate(found.counts[""], values_of(found)) == 11_683_584
    assert "N" not in found.counts[""]
    assert found.shapes["encoder.embedding_hidden_mapping_in.weight"] == ("D", "E")


@pytest.mark.parametrize("head", ["ModelForPreTraining", "ModelForQuestionAnswering"])
def test_every_head_of_a_small_bert(head: str) -> None:
    config = config_of("bert", hidden_size=24, num_hidden_layers=3, num_attention_heads=4)
    found = derive(config, builder(head))
    assert_true_of(found, builder(head)(config))
    assert found.counts["bert"].startswith("V*D + L*D + T*D + 2*D + N*(")


def test_the_number_of_labels_is_a_letter_where_it_counts() -> None:
    config = config_of("bert", num_labels=5)
    found = derive(config, builder("ModelForSequenceClassification"))
    assert found.counts["classifier"] == "C*D + C"
    assert values_of(found)["C"] == 5
    assert "C" not in values_of(derive(config, builder()))


@pytest.mark.parametrize("embedding_size", [16, 32])
def test_electra_ties_widths_that_must_be_equal(embedding_size: int) -> None:
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    config = config_of("electra", embedding_size=embedding_size, **sizes)
    found = derive(config, builder())
    assert_true_of(found, builder()(config))
    word = found.shapes["embeddings.word_embeddings.weight"]
    # With equal widths there is no projection, and one letter stands for both.
    assert word == (("V", "E") if embedding_size == 16 else ("V", "D"))
    assert ("embeddings_project" in found.counts) == (embedding_size == 16)


def test_two_stacks_and_a_shifted_table() -> None:
    config = config_of("bart", d_model=32, encoder_layers=3, decoder_layers=4, vocab_size=99)
    found = derive(config, builder())
    assert_true_of(found, builder()(config))
    assert found.shapes["encoder.embed_positions.weight"] == ("L + 2", "D")
    assert "N_e*(" in found.counts["encoder"]
    assert "N_d*(" in found.counts["decoder"]


def test_a_first_layer_that_has_more_than_the_others() -> None:
    config = config_of("t5", d_model=32, num_layers=4, num_decoder_layers=3, vocab_size=99)
    found = derive(config, builder())
    assert_true_of(found, builder()(config))
    assert found.shapes["encoder.block.2.layer.0.SelfAttention.q.weight"] == ("A*K", "D")
    assert found.counts["encoder.block"].startswith("N_e*(4*A*K*D + 2*D*I + 2*D) + A*")


def test_a_division_comes_out_even() -> None:
    config = config_of(
        "qwen2", hidden_size=48, num_attention_heads=8, num_key_value_heads=2, num_hidden_layers=2
    )
    found = derive(config, builder())
    assert_true_of(found, builder()(config))
    assert found.shapes["layers.0.self_attn.k_proj.weight"] == ("A_kv*D//A", "D")
