"""Weights are read from the files that were validated, completely, and from no other file."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from bertviewer.core.building.backend import transformers
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.loading.tiny_models import change_config, opened, read_tensors, write_tensors
from tests.tools.resident_memory import resident_memory


@pytest.fixture
def sharded(folder: Path) -> Path:
    """Return the tiny BERT in three shards."""
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="45KB")
    assert len(list(folder.glob("model-0000?-of-00003.safetensors"))) == 3
    return folder


def test_shards_are_loaded(sharded: Path, tiny_bert_folder: Path) -> None:
    model = opened(sharded)
    assert model.load_report is not None
    assert len(model.load_report.files) == 3
    assert model.architecture.source.random_tensors == ()
    sentence = Sentence("the cat sat on the mat")
    run = run_sentence(model, sentence)
    assert run.modules == run_sentence(opened(tiny_bert_folder), sentence).modules


def test_one_shard_is_loaded(sharded: Path) -> None:
    file = sharded / "model-00001-of-00003.safetensors"
    file.rename(sharded / "model.safetensors")
    tensors = read_tensors(sharded)
    model = opened(sharded / "model.safetensors", "base")
    assert model.architecture.source.kind == "weights"
    names = {tensor.name for tensor in model.architecture.parameters}
    assert set(model.architecture.source.random_tensors) == names - set(tensors)
    module = model.module(random_weights=False)
    for name, tensor in tensors.items():
        assert torch.equal(module.get_parameter(name), tensor)


_events: list[tuple[str, str]] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _events is not None and event in ("open", "socket.connect", "socket.getaddrinfo"):
        _events.append((event, str(arguments[0])))


@cache
def _install_audit() -> None:
    sys.addaudithook(_audit)  # it cannot be removed


@contextmanager
def audited() -> Iterator[list[tuple[str, str]]]:
    """Collect the files that Python opens, and its connections."""
    global _events  # noqa: PLW0603
    _install_audit()
    _events = []
    try:
        yield _events
    finally:
        _events = None


def test_no_other_file_is_opened(sharded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files that a library might look for.
    adapter = {"base_model_name_or_path": "/nowhere/at/all", "peft_type": "LORA"}
    (sharded / "adapter_config.json").write_text(json.dumps(adapter))
    (sharded / "adapter_model.bin").write_bytes(b"\x80\x02")
    (sharded / "pytorch_model.bin").write_bytes(b"\x80\x02")
    (sharded / "generation_config.json").write_text("not JSON")
    change_config(sharded, transformers_weights="adapter_model.bin")
    monkeypatch.setattr("transformers.integrations.peft.is_peft_available", lambda: True)
    paths: list[object] = []
    load = transformers.BertModel.from_pretrained.__func__

    def from_pretrained(cls: Any, path: object, /, **more: Any) -> Any:
        paths.append(path)
        return load(cls, path, **more)

    monkeypatch.setattr(transformers.BertModel, "from_pretrained", classmethod(from_pretrained))
    with audited() as events:
        opened(sharded).module(random_weights=False)
    assert paths == [None]
    assert {Path(name).name for _, name in events if name.startswith(str(sharded))} == {
        "config.json",
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
    }
    assert not [event for event, _ in events if event.startswith("socket")]


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1000)


def change_shape(file: Path) -> None:
    tensors = read_tensors(file.parent)
    write_tensors(file.parent, tensors | {"pooler.dense.bias": torch.zeros(8, 4)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (truncate, r"model\.safetensors: truncated: "),
        (Path.unlink, r"model\.safetensors: No such file or directory"),
        (change_shape, "the file has changed since it was opened"),
    ],
)
def test_a_file_that_changed_since_opening_is_refused(
    folder: Path, change: Callable[[Path], None], message: str
) -> None:
    model = opened(folder)
    change(folder / "model.safetensors")
    with pytest.raises(UserError, match=message):
        model.module(random_weights=False)


def test_a_file_that_is_truncated_while_it_is_read_is_reported(folder: Path) -> None:
    model = opened(folder)
    model.ensure_built()

    def progress(done: int, total: int, label: str) -> None:
        if done > 0:
            os.truncate(folder / "model.safetensors", 20_000)

    with pytest.raises(UserError, match=r"safetensors: the file was truncated while it was"):
        model.module(False, progress)


def test_loading_can_be_cancelled_and_repeated(folder: Path) -> None:
    reports: list[tuple[int, int]] = []

    def progress(done: int, total: int, label: str) -> None:
        reports.append((done, total))
        if done > total / 2 > 0:
            raise Cancelled

    model = opened(folder)
    with pytest.raises(Cancelled):
        model.module(False, progress)
    assert reports[-1][0] < reports[-1][1]
    assert model.module(random_weights=False) is not None


@pytest.mark.parametrize(
    ("stored", "code"),
    [(torch.float16, "F16"), (torch.bfloat16, "BF16"), (torch.float64, "F64")],
)
def test_other_dtypes_are_converted(folder: Path, stored: torch.dtype, code: str) -> None:
    tensors = {name: tensor.to(stored) for name, tensor in read_tensors(folder).items()}
    write_tensors(folder, tensors)
    model = opened(folder)
    assert model.load_report is not None
    assert dict(model.load_report.stored_dtypes) == {code: 39}
    assert model.load_report.dtype == "float32"
    assert {tensor.dtype for tensor in model.architecture.parameters} == {"float32"}
    weight = model.module(random_weights=False).get_parameter("pooler.dense.weight")
    assert weight.dtype == torch.float32
    assert torch.equal(weight, tensors["pooler.dense.weight"].to(torch.float32))


def test_the_configuration_has_the_dtype(folder: Path) -> None:
    change_config(folder, dtype="bfloat16")
    model = opened(folder)
    assert model.load_report is not None
    assert model.load_report.dtype == "bfloat16"
    assert dict(model.load_report.stored_dtypes) == {"F32": 39}
    weight = model.module(random_weights=False).get_parameter("pooler.dense.weight")
    assert weight.dtype == torch.bfloat16


def test_memory_for_converting_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = opened(folder).architecture.root.parameters
    # Enough for the model in float32, but not together with its float64 tensors.
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: parameters * 8)
    for is_double in (False, True):
        if is_double:
            write_tensors(folder, {n: t.double() for n, t in read_tensors(folder).items()})
        model = opened(folder)
        model.module(random_weights=False)
        assert model.architecture.source.offloaded == is_double


LLAMA_7B = {
    "model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 4096, "dtype": "float16",
}  # fmt: skip


def write_sparse_checkpoint(folder: Path, config: dict[str, object]) -> int:
    """Write a folder whose weights are a header and a sparse file; return their number."""
    (folder / "config.json").write_text(json.dumps(config))
    header, end = {}, 0
    for tensor in opened(folder / "config.json").architecture.parameters:
        begin, end = end, end + tensor.numel * 2
        offsets = [begin, end]
        header[tensor.name] = {"dtype": "F16", "shape": tensor.shape, "data_offsets": offsets}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    return end // 2


def test_opening_seven_billion_parameters_takes_no_memory(tmp_path: Path) -> None:
    parameters = write_sparse_checkpoint(tmp_path, LLAMA_7B)
    assert parameters == 6_607_343_616
    before = resident_memory()
    model = opened(tmp_path)
    assert resident_memory() - before < 200_000_000
    assert model.architecture.root.parameters == parameters
    assert model.architecture.source.weights == "pretrained"
    assert model.load_report is not None
    assert model.load_report.nbytes > 2 * parameters
