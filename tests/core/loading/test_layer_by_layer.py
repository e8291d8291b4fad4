"""A model that is loaded layer by layer is bit-identical to the model in memory."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import load_file, save_file

from bertviewer.core.checks.check import check_run
from bertviewer.core.loading.lazy_parameter import LazyParameter, lazy_parameters
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.checks.small_models import SENTENCE
from tests.core.loading import saved_models
from tests.core.loading.saved_models import assert_equal_runs

CAT = Sentence("the cat sat on the mat")
FREE = "bertviewer.core.util.memory.available_memory"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model that a test may change."""
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


def opened(path: Path, task: str = "base", *, offload: bool = True) -> LoadedModel:
    return open_model(replace(parse_source(str(path), task), offload=offload))


def assert_same(folder: Path, task: str = "base") -> LoadedModel:
    model = opened(folder, task)
    whole = opened(folder, task, offload=False)
    assert_equal_runs(run_sentence(model, CAT), run_sentence(whole, CAT))
    assert model.load_report == whole.load_report
    return model


def absent(model: LoadedModel) -> list[str]:
    """Return the names of the weights that are in the files alone."""
    held = model.running_module.named_parameters(remove_duplicate=False)
    return [name for name, parameter in held if isinstance(parameter, LazyParameter)]


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "pretraining"),  # a tied head
        ("gpt2", "pretraining"),
        ("t5", "pretraining"),  # two stacks, one table
        ("bart", "base"),
        ("llama", "base"),
        ("albert", "masked-lm"),  # one layer, called again and again
        ("deberta-v2", "masked-lm"),  # a table that is used by others than its module
        ("squeezebert", "base"),  # layers whose forward is called by itself
        ("big_bird", "base"),
        ("transformer-base", "base"),
        ("mixtral", "base"),  # experts that are merged as they are loaded
    ],
)
def test_the_run_and_its_check_are_those_of_the_whole_model(
    family: str, task: str, tmp_path: Path
) -> None:
    saved_models.save(tmp_path, family, task)
    runs, checks = [], []
    for offload in (True, False):
        model = saved_models.opened(tmp_path, family, task, offload=offload)
        kept = ActivationCache()
        runs.append(run_sentence(model, SENTENCE, cache=kept))
        checks.append(check_run(model, kept))
        assert bool(absent(model)) == offload
        assert (model.offload_state is not None) == offload
    assert_equal_runs(*runs)
    assert checks[0] == checks[1]
    assert checks[0].steps


def test_only_matrices_of_layers_and_tables_of_words_are_left_in_the_files(folder: Path) -> None:
    names = absent(assert_same(folder))
    assert names[0] == "embeddings.word_embeddings.weight"
    assert "encoder.layer.1.output.dense.weight" in names
    assert not any(name.endswith("bias") or name.startswith("pooler") for name in names)


def test_what_the_file_lacks_is_drawn_as_in_the_whole_model(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    del tensors["encoder.layer.0.output.dense.weight"]
    save_file(tensors, file, {"format": "pt"})
    model = assert_same(folder, "masked-lm")
    assert "bert.encoder.layer.0.output.dense.weight" in model.architecture.source.random_tensors
    assert "cls.predictions.transform.dense.weight" in model.architecture.source.random_tensors


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_numbers_are_converted_as_in_the_whole_model(
    folder: Path, stored: torch.dtype, dtype: str
) -> None:
    file = folder / "model.safetensors"
    tensors = {name: tensor.to(stored) for name, tensor in load_file(file).items()}
    save_file(tensors, file, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": dtype}))
    assert_same(folder)


def test_a_tied_weight_stays_one(folder: Path) -> None:
    module = assert_same(folder, "masked-lm").running_module
    table = module.get_parameter("cls.predictions.decoder.weight")
    assert isinstance(table, LazyParameter)
    assert table is module.get_parameter("bert.embeddings.word_embeddings.weight")


def test_two_tables_that_the_configuration_ties_and_the_file_does_not(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = {f"bert.{name}": tensor for name, tensor in load_file(file).items()}
    table = tensors["bert.embeddings.word_embeddings.weight"]
    save_file({**tensors, "cls.predictions.decoder.weight": table + 1}, file, {"format": "pt"})
    module = assert_same(folder, "masked-lm").running_module
    decoder = module.get_parameter("cls.predictions.decoder.weight")
    assert torch.equal(decoder, table + 1)


def test_a_file_that_changes_after_the_first_layer(folder: Path) -> None:
    model = opened(folder)
    model.module(random_weights=False)

    def progress(done: int, total: int, label: str) -> None:
        if label == "Reading encoder.layer.1":
            os.utime(folder / "model.safetensors", (1, 1))

    with pytest.raises(UserError, match=r"safetensors: the file has changed since it was opened"):
        run_sentence(model, CAT, progress=progress)


def test_a_file_that_is_gone_when_a_run_is_checked(folder: Path) -> None:
    model = opened(folder)
    kept = ActivationCache()
    run_sentence(model, CAT, cache=kept)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors: No such file"):
        check_run(model, kept)


def test_weights_are_given_back_when_a_run_is_stopped(folder: Path) -> None:
    model = opened(folder)
    model.module(random_weights=False)
    before = absent(model)

    def progress(done: int, total: int, label: str) -> None:
        if label == "encoder.layer.1.attention.self.query":  # in the middle of the layer
            assert absent(model) != before
            raise Cancelled

    with pytest.raises(Cancelled):
        run_sentence(model, CAT, progress=progress)
    assert absent(model) == before
    assert_equal_runs(run_sentence(model, CAT), run_sentence(opened(folder, offload=False), CAT))


def test_the_reading_can_be_stopped(folder: Path) -> None:
    model = opened(folder)

    def progress(done: int, total: int, label: str) -> None:
        if label == "Reading encoder.layer.0":
            raise Cancelled

    with pytest.raises(Cancelled):
        run_sentence(model, CAT, progress=progress)
    assert run_sentence(model, CAT).modules


def test_weights_are_read_for_the_device_that_the_rest_is_moved_to(folder: Path) -> None:
    model = opened(folder, "masked-lm")
    before = absent(model)
    # The same device by another name: there is no other one everywhere.
    module = model.module(random_weights=True, device="cpu:0")
    assert absent(model) == before
    table = module.get_parameter("bert.embeddings.word_embeddings.weight")
    assert table.device == torch.device("cpu:0")
    assert table is module.get_parameter("cls.predictions.decoder.weight")
    whole = opened(folder, "masked-lm", offload=False)
    assert_equal_runs(run_sentence(model, CAT), run_sentence(whole, CAT))


def test_a_model_that_changes_its_own_weights_is_refused(tmp_path: Path) -> None:
    saved_models.save(tmp_path, "rwkv")
    model = saved_models.opened(tmp_path, "rwkv", offload=True)
    with pytest.raises(UserError, match="is changed by the model as it runs, so it cannot be read"):
        run_sentence(model, SENTENCE)


class TestWhenItIsDone:
    """By the bytes that a model needs, and those that are free."""

    def test_of_a_model_that_fits(self, folder: Path) -> None:
        model = opened(folder, offload=False)
        assert lazy_parameters(model.module(random_weights=False)) == []
        assert not model.architecture.source.offloaded

    def test_of_one_that_does_not(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(FREE, lambda: 100_000)
        model = opened(folder, offload=False)
        assert lazy_parameters(model.module(random_weights=False))
        assert model.architecture.source.offloaded
        assert model.architecture.source.to_json()["offloaded"] is True

    def test_of_one_with_a_layer_that_does_not(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FREE, lambda: 50_000)
        message = r"need 0\.0 GB of memory, but only 0\.0 GB are free; layer by layer .* 0\.0 GB"
        with pytest.raises(UserError, match=message):
            opened(folder, offload=False).module(random_weights=False)

    def test_of_random_weights(self, folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        with pytest.raises(UserError, match="has no weights, so none can be read layer by layer"):
            opened(folder).module(random_weights=True)
