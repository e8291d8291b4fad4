"""Derived counts: right for real families, plain numbers where they cannot be verified."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import sympy  # type: ignore[import-untyped]
import torch
import transformers
from torch import nn

from bertviewer.core.expressions.evaluation import evaluate, names_in
from bertviewer.core.symbolic.counts import Derivation, derive
from bertviewer.core.symbolic.models import Build, changed_configs
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.errors import Cancelled
from tests.core.symbolic.derivations import assert_never_wrong, root, size_of, values_of
from tests.tools.fresh import parameter_counts
from tests.tools.small_models import shallow

# sympy would read N, E and I as its own functions and constants.
SYMBOLS = {name: sympy.Symbol(name) for name in "VLTCNADEIG"}


def builder(head: str = "Model") -> Build:
    auto = getattr(transformers, f"Auto{head}")

    def build(config: Mapping[str, Any]) -> nn.Module:
        rest = {key: value for key, value in config.items() if key != "model_type"}
        made = transformers.AutoConfig.for_model(config["model_type"], **rest)
        with torch.device("meta"):
            model: nn.Module = auto.from_config(made)
        return model

    return build


def config_of(model_type: str, **values: object) -> dict[str, Any]:
    config: dict[str, Any] = transformers.AutoConfig.for_model(model_type, **values).to_dict()
    return config


def is_equal(formula: str, expected: str, **substitutions: str) -> bool:
    """Return whether two expressions are equal after substitutions in the first."""
    replaced = {SYMBOLS[k]: sympy.sympify(v, SYMBOLS) for k, v in substitutions.items()}
    difference = sympy.sympify(formula, SYMBOLS).subs(replaced) - sympy.sympify(expected, SYMBOLS)
    return bool(sympy.expand(difference) == 0)


def assert_true_of(found: Derivation, model: nn.Module, **changed: int) -> None:
    """Check the shapes in a model with changed numbers; of the real one, also all counts."""
    values = values_of(found, **changed)
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters(remove_duplicate=False)}
    for name in found.shapes.keys() & shapes.keys():
        shape = tuple(evaluate(size, values) for size in found.shapes[name])
        assert shape == shapes[name], name
    if not changed:
        counts = parameter_counts(model)
        assert found.shapes.keys() == shapes.keys()
        assert {path: evaluate(found.counts[path], values) for path in counts} == counts


def test_bert_with_a_masked_lm_head() -> None:
    found = derive(config_of("bert", vocab_size=21128), builder("ModelForMaskedLM"))
    values, counts = values_of(found), found.counts
    assert values == {"V": 21128, "L": 512, "T": 2, "N": 12, "A": 12, "D": 768, "I": 3072}
    assert evaluate(counts["bert.embeddings"], values) == 16_622_592
    assert counts["bert.embeddings"] == "V*D + L*D + T*D + 2*D"
    assert counts["bert.encoder.layer.7"] == "4*D**2 + 2*D*I + 9*D + I"
    assert is_equal(counts["bert.encoder"], "N*(12*D*D + 13*D)", I="4*D")
    assert evaluate(counts["bert.encoder"], values) == 85_054_464
    assert is_equal(counts["cls"], "V + D*D + 3*D")
    assert evaluate(counts[""], values) == 102_290_312
    assert counts[""].startswith("V*D + L*D + T*D + 2*D + N*(4*D**2 + 2*D*I + 9*D + I) + ")
    # The decoder's weight is tied to the word embedding: it has a shape and no count.
    assert found.shapes["cls.predictions.decoder.weight"] == ("V", "D")
    assert counts["cls.predictions.decoder"] == "0"
    # There are no labels.
    assert "C" not in values


def test_gpt2_has_no_number_for_its_inner_width() -> None:
    found = derive(config_of("gpt2"), builder("ModelForCausalLM"))
    assert root(found) == 124_439_808
    assert found.shapes["transformer.h.0.attn.c_attn.weight"] == ("D", "3*D")
    assert found.shapes["transformer.h.11.mlp.c_fc.weight"] == ("D", "4*D")
    assert found.counts[""] == "V*D + L*D + N*(12*D**2 + 13*D) + 2*D"


SMALL_BERT = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}


@pytest.mark.parametrize("head", ["ForPreTraining", "ForQuestionAnswering"])
def test_heads(head: str) -> None:
    config, build = config_of("bert", **SMALL_BERT), builder(f"Model{head}")
    found = derive(config, build)
    assert_true_of(found, build(config))
    assert found.counts["bert"].startswith("V*D + L*D + T*D + 2*D + N*(")


def test_the_number_of_labels_is_a_symbol() -> None:
    config = config_of("bert", num_labels=5, **SMALL_BERT)
    found = derive(config, builder("ModelForSequenceClassification"))
    assert found.counts["classifier"] == "C*D + C"
    assert values_of(found)["C"] == 5


@pytest.mark.parametrize(("width", "condition"), [(16, "E != D"), (32, "E == D")])
def test_electra_with_different_and_with_equal_widths(width: int, condition: str) -> None:
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    config, build = config_of("electra", embedding_size=width, **sizes), builder()
    found = derive(config, build)
    assert_true_of(found, build(config))
    assert_never_wrong(config, found, build)
    assert {condition, "D % A == 0"} <= set(found.domains[""].split(" and "))
    # With equal widths there is no projection.
    word = found.shapes["embeddings.word_embeddings.weight"]
    assert word == (("V", "E") if width == 16 else ("V", "D"))
    assert ("embeddings_project" in found.counts) == (width == 16)


@pytest.mark.parametrize(
    ("model_type", "shape", "counts"),
    [
        ("mpnet", ("encoder.layer.0.attention.attn.q.weight", "D", "D"), {"encoder.layer": "N*("}),
        # One stored layer is applied many times.
        ("albert", ("encoder.embedding_hidden_mapping_in.weight", "D", "E"), {}),
        # The first layer has a table.
        (
            "t5",
            ("encoder.block.2.layer.0.SelfAttention.q.weight", "A*K", "D"),
            {"encoder.block": "N_e*(4*A*K*D + 2*D*I + 2*D) + A*"},
        ),
        (
            "bart",
            ("encoder.embed_positions.weight", "L + 2", "D"),
            {"encoder.layers": "N_e*(", "decoder.layers": "N_d*("},
        ),
        ("qwen2", ("layers.0.self_attn.k_proj.weight", "A_kv*D//A", "D"), {"layers": "N*("}),
    ],
)
def test_formulas_hold_for_other_configurations(
    model_type: str, shape: tuple[str, ...], counts: dict[str, str]
) -> None:
    config, build = shallow(config_of(model_type)), builder()
    found = derive(config, build)
    assert found.unproven == {}
    assert names_in(found.counts[""]) >= {"V", "D"}
    assert ("N" in names_in(found.counts[""])) == (model_type in ("mpnet", "qwen2"))
    assert found.shapes[shape[0]] == shape[1:]
    for path, start in counts.items():
        assert found.counts[path].startswith(start)
    assert_true_of(found, build(config))
    assert_never_wrong(config, found, build)
    doubled, more = ("D", "E", "I", "I_e"), ("V", "L", "N", "N_e", "N_d", "T")
    changed = {s: 2 * s.value for s in found.symbols if s.name in doubled}
    changed |= {s: s.value + 1 for s in found.symbols if s.name in more}
    *_, other = changed_configs(config, changed)
    assert_true_of(found, build(other), **{s.name: value for s, value in changed.items()})


SPEECH = {
    "num_hidden_layers": 4,
    "num_feat_extract_layers": 3,
    **{"conv_dim": [64] * 3, "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 2]},
}


@pytest.mark.parametrize(
    ("model_type", "values", "domain", "outside", "inside"),
    [
        # ConvBERT has hidden_size // (heads // ratio) // 2 features a head.
        (
            "convbert",
            {
                **{"num_hidden_layers": 2, "num_groups": 2, "hidden_size": 384},
                **{"num_attention_heads": 8, "head_ratio": 2},
            },
            None,
            {"D": 72, "head_ratio": 1},
            {"hidden_size": 400, "num_attention_heads": 16, "head_ratio": 4},
        ),
        (
            "opt",
            {"num_hidden_layers": 3},
            "word_embed_proj_dim == D",
            {"D": 1536},
            {"hidden_size": 1536, "word_embed_proj_dim": 1536},
        ),
        ("bamba", {"num_hidden_layers": 3}, None, {"D": 8192}, {}),
        (
            "clip_vision_model",
            {"num_hidden_layers": 2},
            "image_size % patch_size == 0",
            {"image_size": 264},
            {"image_size": 256},
        ),
        ("hubert", SPEECH, None, None, {"num_hidden_layers": 5}),
        ("sew", SPEECH, None, None, {"num_hidden_layers": 5}),
        (
            "swin",
            {"depths": [1, 2], "num_heads": [2, 4], "embed_dim": 16, "window_size": 3},
            None,
            None,
            {"depths": [1, 4]},
        ),
    ],
)
def test_conditions_of_families(
    model_type: str,
    values: dict[str, Any],
    domain: str | None,
    outside: dict[str, int] | None,
    inside: dict[str, Any],
) -> None:
    config, build = config_of(model_type, **values), builder()
    found = derive(config, build)
    assert_never_wrong(config, found, build)
    if domain is not None:
        assert found.domains[""] == domain
    if outside is not None:
        assert root(found, **outside) is None
    changed = {**config, **inside}
    flat = {s.name: _value(changed, s.key) for s in found.symbols}
    assert root(found, **flat) == size_of(build(changed))
    follows = {symbol.key: symbol.variable for symbol in found.symbols}
    if model_type == "convbert":
        assert found.domains["encoder.layer.0.attention.self.query"] == (
            "D % 2 == 0 and A % head_ratio == 0 and D % (2*A//head_ratio) == 0"
        )
    elif model_type == "bamba":  # numbers that change in proportion
        assert (follows["mamba_n_heads"], follows["mamba_expand"]) == ("D", "mamba_d_head")
    elif model_type == "opt":
        assert follows["word_embed_proj_dim"] == "D"
    elif model_type in ("hubert", "sew"):
        assert "N*(" in found.counts["encoder"]
        assert "N*(" in found.counts[""]


def _value(config: Any, key: str) -> int:
    for part in key.split("."):
        config = config[int(part)] if isinstance(config, list) else config[part]
    return int(config[0] if isinstance(config, list) else config)


def two_layers(rows: Callable[[Mapping[str, Any]], int]) -> Build:
    """Build a linear layer whose rows depend on the configuration, and a norm."""
    return lambda config: nn.Sequential(
        nn.Linear(3, rows(config), device="meta"), nn.LayerNorm(7, device="meta")
    )


@pytest.mark.parametrize(
    "rows", [lambda c: c["d_model"] ** 4, lambda c: 64 if c["d_model"] < 200 else 65]
)
def test_counts_without_a_verified_formula_are_numbers(
    rows: Callable[[Mapping[str, Any]], int],
) -> None:
    found = derive({"d_model": 16}, two_layers(rows))
    size = rows({"d_model": 16})
    assert found.counts == {"": str(4 * size + 14), "0": str(4 * size), "1": "14"}
    assert found.shapes["0.weight"] == (str(size), "3")


@pytest.mark.parametrize("step", [2, 4])
def test_rounded_sizes_are_right_for_multiples(step: int) -> None:
    # Doubling and tripling look linear; only values that are no multiples show the rounding.
    build = two_layers(lambda c: (c["d_model"] + step - 1) // step * step + 1)
    found = derive({"d_model": 32}, build)
    assert found.counts == {"": "4*D + 18", "0": "4*D + 4", "1": "14"}
    assert found.domains == dict.fromkeys(("", "0"), f"D % {step} == 0")


def test_a_model_that_accepts_no_other_numbers() -> None:
    def build(config: Mapping[str, Any]) -> nn.Module:
        if config["d_model"] != 16:
            raise ValueError("only 16")
        return nn.Linear(16, 16, device="meta")

    found = derive({"d_model": 16}, build)
    assert found.counts == {"": "272"}
    assert found.shapes == {"weight": ("16", "16"), "bias": ("16",)}
    with pytest.raises(ValueError, match="only 16"):  # of the real model
        derive({"d_model": 15}, build)


def test_alternating_layers_are_not_multiplied() -> None:
    def build(config: Mapping[str, Any]) -> nn.Module:
        sizes = [3 + number % 2 for number in range(config["n_layers"])]
        return nn.Sequential(*(nn.Linear(2, n, device="meta") for n in sizes))

    found = derive({"n_layers": 6}, build)
    assert_true_of(found, build({"n_layers": 6}))
    assert found.counts[""].isdigit()


def test_progress_can_cancel() -> None:
    calls: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, label: str) -> None:
        calls.append((done, total, label))
        if len(calls) == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        derive(config_of("bert"), builder(), progress)
    assert [done for done, _, _ in calls] == [0, 1, 2, 3, 4]
    assert {label for _, _, label in calls} == {"Deriving formulas"}
    assert all(done <= total for done, total, _ in calls)


def test_without_time_to_verify_a_formula_counts_are_right_too() -> None:
    def rows(config: Mapping[str, Any]) -> int:
        return int((config["d_model"] + 3) // 4 * 4 + (config["ffn_dim"] + 6) // 7 * 7)

    results = 0
    for limit in range(26, 40):
        builds = iter(range(1, limit))

        def progress(done: int, total: int, label: str, builds: Iterator[int] = builds) -> None:
            if next(builds, None) is None:
                raise OverBudget

        try:
            found = derive({"d_model": 32, "ffn_dim": 56}, two_layers(rows), progress)
        except OverBudget:
            continue  # there were no formulas yet
        assert evaluate(found.counts[""], values_of(found)) == 4 * (32 + 56) + 14
        results += 1
    assert results
