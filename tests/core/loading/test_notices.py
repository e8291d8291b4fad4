"""Notices that qualify a model's figures, and weights that cannot be run."""

import json
from pathlib import Path

import pytest
import torch

import bertviewer
from bertviewer.core.comparison.compare_models import compare_models
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.source_info import QUANTIZED
from bertviewer.core.util.errors import UserError
from bertviewer.report.run_text import run_text
from bertviewer.report.summary import comparison_text, csv
from tests.core.loading.tiny_models import (
    Tensors,
    change_config,
    opened,
    read_tensors,
    write_tensors,
)

QUERY = "encoder.layer.0.attention.self.query."
WEIGHT = f"{QUERY}weight"


def replace_query(folder: Path, parts: Tensors) -> None:
    """Store a query weight in another form."""
    tensors = read_tensors(folder)
    del tensors[WEIGHT]
    write_tensors(folder, tensors | {QUERY + name: tensor for name, tensor in parts.items()})


def test_a_notice_is_repeated_wherever_figures_are_shown(folder: Path) -> None:
    modules = {"AutoConfig": "own.OwnConfig", "AutoModel": "someone/own--own.OwnBertModel"}
    change_config(folder, auto_map={**modules, "AutoTokenizer": ["own.OwnTokenizer", None]})
    for _ in range(2):  # built, and cached
        model = opened(folder)
        (notice,) = model.architecture.source.notices
        assert "own.OwnConfig, own.OwnBertModel" in notice
        assert "OwnTokenizer" not in notice
    run = run_sentence(model, Sentence("the cat"))
    assert f"Note: {notice}" in run_text(run)
    assert run.to_json()["source"]["notices"] == [notice]
    assert comparison_text(compare_models(model, model)).count(notice) == 2
    assert model.architecture.to_json()["source"]["notices"] == [notice]


def test_unused_keys_and_their_tensors_are_listed(folder: Path) -> None:
    name = "encoder.layer.0.attention.self.distance_embedding.weight"
    change_config(folder, position_embedding_type="relative_key", transformers_version="4.8.2")
    write_tensors(folder, {**read_tensors(folder), name: torch.zeros(127, 8)})
    for _ in range(2):  # built, and cached
        architecture = opened(folder).architecture
        of_key, of_tensor = architecture.source.notices
        assert 'position_embedding_type = "relative_key"' in of_key
        assert name in of_tensor
    assert architecture.unused == {"position_embedding_type": "relative_key"}
    assert "position_embedding_type" not in architecture.config
    decoded = type(architecture).from_json(json.loads(json.dumps(architecture.to_json())))
    assert (decoded.config, decoded.unused) == (architecture.config, architecture.unused)
    assert architecture.whole_config["transformers_version"] == "4.8.2"


def test_keys_of_another_family_are_not_symbols(folder: Path) -> None:
    change_config(folder, n_embd=77, n_head=2)
    architecture = opened(folder).with_counts()
    assert architecture.source.notices == (
        "The configuration has n_head = 2, which BertModel does not use: if the model was trained "
        "with it, the results shown are not those of the trained model.",
    )
    keys = {symbol.name: symbol.key for symbol in architecture.symbols}
    assert keys["D"] == "hidden_size"
    assert not {"n_embd", "n_head"} & set(keys.values())


def test_an_error_about_shapes_names_unused_keys(folder: Path) -> None:
    change_config(folder, pruned_heads={"0": [1]})
    replace_query(folder, {"weight": torch.zeros(24, 32)})
    with pytest.raises(UserError, match=r"has the shape \[24, 32\].*pruned_heads"):
        opened(folder)


CODES: dict[str, Tensors] = {
    "gptq": {
        "qweight": torch.zeros(4, 32, dtype=torch.int32),
        "qzeros": torch.zeros(1, 4, dtype=torch.int32),
        "scales": torch.ones(1, 32),
    },
    "bitsandbytes": {
        "weight": torch.zeros(512, 1, dtype=torch.uint8),
        "weight.absmax": torch.ones(16),
    },
    "fp8": {
        "weight": torch.ones(32, 32).to(torch.float8_e4m3fn),
        "weight_scale_inv": torch.ones(1, 1),
    },
    "unknown": {  # dtypes whose values cannot be read
        "weight": torch.zeros(32, 16, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        "weight_scale": torch.ones(32, 1).to(torch.float8_e8m0fnu),
    },
}


@pytest.mark.parametrize("method", CODES)
def test_quantized_weights_have_no_values(
    method: str, folder: Path, tiny_bert_folder: Path
) -> None:
    replace_query(folder, CODES[method])
    model = opened(folder)
    source = model.architecture.source
    assert source.random_tensors == ()
    assert source.to_json()["quantization"]["method"] == method
    assert model.load_report is not None
    assert model.load_report.unexpected == ()
    for random_weights in (False, True):
        with pytest.raises(UserError, match="cannot be run: its weights are quantized"):
            model.check_weights(random_weights)
    assert csv(model.architecture, None, with_parameters=True).count(f",{QUANTIZED},") == 1
    compared = compare_models(opened(tiny_bert_folder), model)
    (different,) = (one for one in compared.tensors if one.state != "same")
    assert (different.name, different.state) == (WEIGHT, "not compared")
    assert different.right is not None
    assert different.right.dtype == QUANTIZED
    shown = bertviewer.open(folder)
    with pytest.raises(UserError, match="codes of a quantized weight"):
        shown.tensor(WEIGHT)
    assert [row["name"] for row in shown.parameters() if row["dtype"] == QUANTIZED] == [WEIGHT]


def test_quantized_weights_without_a_configuration_have_no_values(folder: Path) -> None:
    (folder / "config.json").unlink()
    replace_query(folder, CODES["gptq"])
    model = opened(folder)
    assert model.data is None
    assert model.stored(f"{QUERY}qweight") is None
    assert model.stored(f"{QUERY}bias") is not None
    with pytest.raises(UserError, match="its weights are quantized"):
        model.check_weights(random_weights=True)


@pytest.mark.parametrize("has_weights", [True, False])
def test_a_configuration_of_quantized_weights_without_them(has_weights: bool, folder: Path) -> None:
    change_config(folder, quantization_config={"quant_method": "awq", "bits": 4})
    if not has_weights:
        (folder / "model.safetensors").unlink()
    model = opened(folder)
    (notice,) = model.architecture.source.notices
    assert "AWQ, 4 bits" in notice
    assert (model.architecture.source.quantization is None) == has_weights
    model.check_weights(random_weights=True)


def test_complex_weights_cannot_be_run(folder: Path) -> None:
    replace_query(folder, {"weight": torch.ones(32, 32).to(torch.complex64)})
    model = opened(folder)
    assert model.architecture.source.quantization is None
    with pytest.raises(UserError, match=f"{WEIGHT} is stored as C64"):
        run_sentence(model, Sentence("the cat"))
    with pytest.raises(UserError, match="stored as C64, whose values cannot be read"):
        bertviewer.open(folder).tensor(WEIGHT)


def test_adapters_in_the_file_are_not_applied(folder: Path) -> None:
    names = [f"{QUERY}lora_{part}.default.weight" for part in "AB"]
    write_tensors(folder, read_tensors(folder) | {name: torch.ones(4, 32) for name in names})
    (notice,) = opened(folder).architecture.source.notices
    assert notice == (
        f"2 tensors of an adapter in the file, such as {names[0]}, are not applied to the model."
    )
