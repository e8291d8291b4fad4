"""What qualifies a model's figures goes with every figure of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import bertviewer
from bertviewer.core.comparison.compare_models import compare_models
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.source_info import QUANTIZED
from bertviewer.core.util.errors import UserError
from bertviewer.report.run_text import run_text
from bertviewer.report.summary import comparison_text, csv
from tests.core.loading.tiny_models import opened

QUERY = "encoder.layer.0.attention.self.query."


def configure(folder: Path, **more: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


def exchange(folder: Path, left_out: str, others: Mapping[str, torch.Tensor]) -> None:
    """Save the weights again, some of them in another form."""
    file = folder / "model.safetensors"
    kept = {name: t for name, t in load_file(file).items() if name != left_out}
    save_file({**kept, **others}, file, {"format": "pt"})


def test_own_code_is_said_wherever_figures_are(folder: Path) -> None:
    modules = {"AutoConfig": "own.OwnConfig", "AutoModel": "someone/own--own.OwnBertModel"}
    configure(folder, auto_map={**modules, "AutoTokenizer": ["own.OwnTokenizer", None]})
    for _ in range(2):  # built, and then from what is remembered of it
        model = opened(folder)
        (notice,) = model.architecture.source.notices
        assert "own.OwnConfig, own.OwnBertModel" in notice
        assert "OwnTokenizer" not in notice
    run = run_sentence(model, Sentence("the cat"), random_weights=False)
    assert f"Note: {notice}" in run_text(run)
    assert run.to_json()["source"]["notices"] == [notice]
    assert comparison_text(compare_models(model, model)).count(notice) == 2
    assert model.with_formulas().to_json()["source"]["notices"] == [notice]


def test_a_key_that_is_not_used_and_its_tensors(folder: Path) -> None:
    name = "encoder.layer.0.attention.self.distance_embedding.weight"
    configure(folder, position_embedding_type="relative_key", transformers_version="4.8.2")
    exchange(folder, "", {name: torch.zeros(127, 8)})
    for _ in range(2):
        architecture = opened(folder).architecture
        of_key, of_tensor = architecture.source.notices
        assert 'position_embedding_type = "relative_key"' in of_key
        assert name in of_tensor
    assert architecture.unused == {"position_embedding_type": "relative_key"}
    assert "position_embedding_type" not in architecture.config
    again = type(architecture).from_json(json.loads(json.dumps(architecture.to_json())))
    assert (again.config, again.unused) == (architecture.config, architecture.unused)
    assert architecture.whole_config["transformers_version"] == "4.8.2"


def test_a_key_of_another_family_is_no_symbol(folder: Path) -> None:
    configure(folder, n_embd=77, n_head=2)
    architecture = opened(folder).with_formulas()
    assert architecture.source.notices == (
        "The configuration has n_head = 2, which BertModel does not use: if the model was trained "
        "with it, the results shown are not those of the trained model.",
    )
    assert {s.name: s.key for s in architecture.symbols}["D"] == "hidden_size"
    assert not {"n_embd", "n_head"} & {s.key for s in architecture.symbols}


def test_shapes_that_do_not_fit_name_the_key(folder: Path) -> None:
    configure(folder, pruned_heads={"0": [1]})
    exchange(folder, "", {f"{QUERY}weight": torch.zeros(24, 32)})
    with pytest.raises(UserError, match=r"has the shape \[24, 32\].*pruned_heads"):
        opened(folder)


CODES = {
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
def test_quantized_weights_are_neither_random_nor_values(
    method: str, folder: Path, tiny_bert_folder: Path
) -> None:
    exchange(folder, f"{QUERY}weight", {QUERY + part: t for part, t in CODES[method].items()})
    model = opened(folder)
    source = model.architecture.source
    assert source.random_tensors == ()
    assert source.quantization is not None
    assert source.to_json()["quantization"]["method"] == method
    assert model.load_report is not None
    assert model.load_report.unexpected == ()
    for random_weights in (False, True):
        with pytest.raises(UserError, match="cannot be run: its weights are quantized"):
            model.check_weights(random_weights)
    shown = bertviewer.open(folder)
    with pytest.raises(UserError, match="codes of a quantized weight"):
        shown.tensor(f"{QUERY}weight")
    coded = [row["name"] for row in shown.parameters() if row["dtype"] == QUANTIZED]
    assert coded == [f"{QUERY}weight"]
    assert csv(model.architecture, None, with_parameters=True).count(f",{QUANTIZED},") == 1
    found = compare_models(opened(tiny_bert_folder), model)
    (apart,) = (one for one in found.tensors if one.state != "same")
    assert (apart.name, apart.state) == (f"{QUERY}weight", "not compared")
    assert apart.right is not None
    assert apart.right.dtype == QUANTIZED


def test_a_weight_of_complex_numbers_opens_and_cannot_be_run(folder: Path) -> None:
    exchange(folder, f"{QUERY}weight", {f"{QUERY}weight": torch.ones(32, 32).to(torch.complex64)})
    model = opened(folder)
    assert model.architecture.source.quantization is None
    with pytest.raises(UserError, match=f"{QUERY}weight is stored as C64"):
        run_sentence(model, Sentence("the cat"))
    with pytest.raises(UserError, match="stored as C64, whose values cannot be read"):
        bertviewer.open(folder).tensor(f"{QUERY}weight")


def test_without_a_configuration_they_are_not_values_either(folder: Path) -> None:
    (folder / "config.json").unlink()
    exchange(folder, f"{QUERY}weight", {QUERY + part: t for part, t in CODES["gptq"].items()})
    model = opened(folder)
    assert model.data is None
    assert model.stored(f"{QUERY}qweight") is None
    assert model.stored(f"{QUERY}bias") is not None
    with pytest.raises(UserError, match="its weights are quantized"):
        model.check_weights(random_weights=True)


@pytest.mark.parametrize("kind", ["config", "floats"])
def test_a_configuration_of_quantized_weights_alone(kind: str, folder: Path) -> None:
    configure(folder, quantization_config={"quant_method": "awq", "bits": 4})
    if kind == "config":
        (folder / "model.safetensors").unlink()
    model = opened(folder)
    (notice,) = model.architecture.source.notices
    assert "AWQ, 4 bits" in notice
    assert (model.architecture.source.quantization is None) == (kind == "floats")
    model.check_weights(random_weights=True)


def test_adapters_that_were_not_merged_are_said(folder: Path) -> None:
    parts = {f"{QUERY}lora_{part}.default.weight": torch.ones(4, 32) for part in "AB"}
    exchange(folder, "", parts)
    (notice,) = opened(folder).architecture.source.notices
    assert notice == (
        f"2 tensors of an adapter in the file, such as {next(iter(parts))}, are not applied to the "
        "model."
    )


def test_a_guess_goes_with_the_run(folder: Path) -> None:
    (folder / "config.json").unlink()
    run = run_sentence(opened(folder), Sentence("the cat"), random_weights=False)
    (notice,) = run.to_json()["source"]["notices"]
    assert "guessed" in notice
    assert "1 head of 32 columns" in notice
