"""Weights come from the files that were checked, whole, and from no other."""

import functools
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.loading.tiny_models import opened
from tests.tools.resident_memory import resident_memory


@pytest.fixture
def sharded(folder: Path) -> Path:
    """Return the tiny model in three shards."""
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="45KB")
    assert len(list(folder.glob("model-0000?-of-00003.safetensors"))) == 3
    return folder


def test_a_sharded_folder_opens_and_runs(sharded: Path, tiny_bert_folder: Path) -> None:
    model = opened(sharded, "base")
    assert model.load_report is not None
    assert len(model.load_report.files) == 3
    assert model.architecture.source.random_tensors == ()
    sentence = Sentence("the cat sat on the mat", None)
    run = run_sentence(model, sentence, random_weights=False)
    whole = run_sentence(opened(tiny_bert_folder, "base"), sentence, random_weights=False)
    ours, theirs = run.activation("pooler"), whole.activation("pooler")
    assert ours is not None
    assert theirs is not None
    assert ours.statistics == theirs.statistics


def test_one_file_beside_its_configuration(sharded: Path) -> None:
    file = sharded / "model-00001-of-00003.safetensors"
    model = opened(file, "base")
    held = set(load_file(file))
    assert model.architecture.source.kind == "weights"
    names = {tensor.name for tensor in model.architecture.parameters}
    assert set(model.architecture.source.random_tensors) == names - held
    module = model.module(random_weights=False)
    for name, tensor in load_file(file).items():
        assert torch.equal(module.get_parameter(name), tensor)


_events: list[tuple[str, str]] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _events is not None and event in ("open", "socket.connect", "socket.getaddrinfo"):
        _events.append((event, str(arguments[0])))


@functools.cache
def _install_audit() -> None:
    sys.addaudithook(_audit)  # Python has no way to take it away again


@contextmanager
def watched() -> Iterator[list[tuple[str, str]]]:
    """Collect what Python opens and connects to."""
    global _events  # noqa: PLW0603
    _install_audit()
    _events = []
    try:
        yield _events
    finally:
        _events = None


def test_no_other_file_is_opened(sharded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Everything beside the weights that a library might look for.
    elsewhere = {"base_model_name_or_path": "/nowhere/at/all", "peft_type": "LORA"}
    (sharded / "adapter_config.json").write_text(json.dumps(elsewhere))
    (sharded / "adapter_model.bin").write_bytes(b"\x80\x02")
    (sharded / "pytorch_model.bin").write_bytes(b"\x80\x02")
    (sharded / "generation_config.json").write_text("not JSON")
    config = json.loads((sharded / "config.json").read_text())
    config["transformers_weights"] = "adapter_model.bin"
    (sharded / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("transformers.integrations.peft.is_peft_available", lambda: True)
    asked: list[object] = []
    load = transformers.BertModel.from_pretrained.__func__

    def loaded(cls: Any, path: object, /, **more: Any) -> Any:
        asked.append(path)
        return load(cls, path, **more)

    monkeypatch.setattr(transformers.BertModel, "from_pretrained", classmethod(loaded))
    with watched() as events:
        opened(sharded, "base").module(random_weights=False)
    assert asked == [None]
    assert {Path(name).name for event, name in events if name.startswith(str(sharded))} == {
        "config.json",
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
    }
    assert not [event for event, _ in events if event.startswith("socket")]


def test_a_file_that_shrinks_while_it_is_open(folder: Path) -> None:
    model = opened(folder, "base")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(UserError, match=r"model\.safetensors: truncated: "):
        model.module(random_weights=False)
    file.unlink()
    with pytest.raises(UserError, match=r"model\.safetensors: No such file or directory"):
        model.module(random_weights=False)


def test_a_file_that_shrinks_while_it_is_read(folder: Path) -> None:
    file = folder / "model.safetensors"
    model = opened(folder, "base")
    model.ensure_built()

    def progress(done: int, total: int, label: str) -> None:
        if done > 0:
            os.truncate(file, 20_000)

    with pytest.raises(UserError, match=r"safetensors: the file was truncated while it was"):
        model.module(False, progress)


def test_a_file_that_was_written_anew(folder: Path) -> None:
    file = folder / "model.safetensors"
    model = opened(folder, "base")
    tensors = load_file(file)
    tensors["pooler.dense.bias"] = torch.zeros(8, 4)
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(UserError, match="the file has changed since it was opened"):
        model.module(random_weights=False)


def test_the_memory_for_converting_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "model.safetensors"
    parameters = opened(folder, "base").architecture.root.parameters
    # Enough for the model in float32, but not for its float64 tensors beside it.
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: parameters * 8)
    model = opened(folder, "base")
    model.module(random_weights=False)
    assert not model.architecture.source.offloaded
    save_file({name: tensor.double() for name, tensor in load_file(file).items()}, file)
    model = opened(folder, "base")
    model.module(random_weights=False)
    assert model.architecture.source.offloaded


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_another_dtype_is_converted_and_told(folder: Path, dtype: torch.dtype) -> None:
    file = folder / "model.safetensors"
    tensors = {name: tensor.to(dtype) for name, tensor in load_file(file).items()}
    save_file(tensors, file, {"format": "pt"})
    model = opened(folder, "base")
    assert model.load_report is not None
    name = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64"}[dtype]
    assert dict(model.load_report.stored_dtypes) == {name: 39}
    assert model.load_report.dtype == "float32"
    assert {tensor.dtype for tensor in model.architecture.parameters} == {"float32"}
    weight = model.module(random_weights=False).get_parameter("pooler.dense.weight")
    assert weight.dtype == torch.float32
    assert torch.equal(weight, tensors["pooler.dense.weight"].to(torch.float32))


def test_the_dtype_of_the_configuration_is_what_the_model_has(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    model = opened(folder, "base")
    assert model.load_report is not None
    assert (model.load_report.dtype, dict(model.load_report.stored_dtypes)) == (
        "bfloat16",
        {"F32": 39},
    )
    weight = model.module(random_weights=False).get_parameter("pooler.dense.weight")
    assert weight.dtype == torch.bfloat16


def test_quantized_weights_are_shown_and_not_run(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors["pooler.dense.weight"] = tensors["pooler.dense.weight"].to(torch.int8)
    save_file(tensors, file, {"format": "pt"})
    model = opened(folder, "base")
    assert model.stored("pooler.dense.weight") is None
    with pytest.raises(UserError, match=r"its weights are quantized \(8-bit integers\)"):
        model.module(random_weights=False)


def test_loading_can_be_cancelled(folder: Path) -> None:
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int, label: str) -> None:
        told.append((done, total))
        if done > total / 2 > 0:
            raise Cancelled

    model = opened(folder, "base")
    with pytest.raises(Cancelled):
        model.module(False, progress)
    assert told[-1][0] < told[-1][1]
    assert model.module(random_weights=False) is not None


LLAMA_7B = {
    "model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 4096, "dtype": "float16",
}  # fmt: skip


def write_sparse_checkpoint(folder: Path, config: dict[str, object]) -> int:
    """Write a folder whose weights are a header and a hole; return its parameters."""
    (folder / "config.json").write_text(json.dumps(config))
    tensors = open_model(parse_source(str(folder / "config.json"))).architecture.parameters
    header, end = {}, 0
    for tensor in tensors:
        begin, end = end, end + tensor.numel * 2
        header[tensor.name] = {
            "dtype": "F16", "shape": list(tensor.shape), "data_offsets": [begin, end],
        }  # fmt: skip
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    return end // 2


def test_seven_billion_parameters_take_no_memory(tmp_path: Path) -> None:
    parameters = write_sparse_checkpoint(tmp_path, LLAMA_7B)
    assert parameters == 6_607_343_616
    before = resident_memory()
    model = opened(tmp_path, "base")
    grown = resident_memory() - before
    assert model.architecture.root.parameters == parameters
    assert model.architecture.source.weights == "pretrained"
    assert model.load_report is not None
    assert model.load_report.nbytes > 2 * parameters
    assert grown < 200_000_000
