"""Models that run layer by layer compute the same bits as in memory."""

import os
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

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
from tests.core.loading.tiny_models import change_config, read_tensors, write_tensors

CAT = Sentence("the cat sat on the mat")
AVAILABLE_MEMORY = "bertviewer.core.util.memory.available_memory"


def opened(path: Path, task: str = "base", *, offload: bool = True) -> LoadedModel:
    return open_model(replace(parse_source(str(path), task), offload=offload))


def assert_same_as_in_memory(folder: Path, task: str = "base") -> LoadedModel:
    """Compare a run layer by layer with one in memory, and return the model."""
    model, in_memory = opened(folder, task), opened(folder, task, offload=False)
    assert_equal_runs(run_sentence(model, CAT), run_sentence(in_memory, CAT))
    assert model.load_report == in_memory.load_report
    return model


def lazy_names(model: LoadedModel) -> list[str]:
    """Return the names of the parameters that are not in memory."""
    parameters = model.running_module.named_parameters(remove_duplicate=False)
    return [name for name, parameter in parameters if isinstance(parameter, LazyParameter)]


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "pretraining"),  # a tied head
        ("t5", "pretraining"),  # two stacks with one embedding
        ("albert", "masked-lm"),  # one layer that is called several times
        ("deberta-v2", "masked-lm"),  # an embedding that is read outside of its module
        ("squeezebert", "base"),  # forward() is called directly
        ("transformer-base", "base"),
        ("mixtral", "base"),  # experts that are merged when they are loaded
    ],
)
def test_runs_and_checks_are_those_in_memory(family: str, task: str, tmp_path: Path) -> None:
    saved_models.save(tmp_path, family, task)
    runs, checks = [], []
    for offload in (True, False):
        model = saved_models.opened(tmp_path, family, task, offload=offload)
        activations = ActivationCache()
        runs.append(run_sentence(model, SENTENCE, cache=activations))
        checks.append(check_run(model, activations))
        assert bool(lazy_names(model)) == (model.offload_state is not None) == offload
    assert_equal_runs(*runs)
    assert checks[0] == checks[1]
    assert checks[0].steps


def test_matrices_of_layers_and_token_embeddings_stay_in_the_file(folder: Path) -> None:
    names = lazy_names(assert_same_as_in_memory(folder))
    assert names[0] == "embeddings.word_embeddings.weight"
    assert "encoder.layer.1.output.dense.weight" in names
    assert not any(name.endswith("bias") or name.startswith("pooler") for name in names)


def test_missing_tensors_have_the_same_random_values(folder: Path) -> None:
    tensors = read_tensors(folder)
    del tensors["encoder.layer.0.output.dense.weight"]
    write_tensors(folder, tensors)
    random = assert_same_as_in_memory(folder, "masked-lm").architecture.source.random_tensors
    assert "bert.encoder.layer.0.output.dense.weight" in random
    assert "cls.predictions.transform.dense.weight" in random


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [(torch.float16, "float32"), (torch.float64, "bfloat16"), (torch.bfloat16, "bfloat16")],
)
def test_values_are_converted_to_the_dtype_of_the_model(
    folder: Path, stored: torch.dtype, dtype: str
) -> None:
    write_tensors(folder, {name: t.to(stored) for name, t in read_tensors(folder).items()})
    change_config(folder, dtype=dtype)
    assert_same_as_in_memory(folder)


@pytest.mark.parametrize("is_tied", [True, False])
def test_tied_parameters(folder: Path, is_tied: bool) -> None:
    decoder, words = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
    tensors = {f"bert.{name}": tensor for name, tensor in read_tensors(folder).items()}
    if not is_tied:
        tensors[decoder] = tensors[words] + 1
    write_tensors(folder, tensors)
    module = assert_same_as_in_memory(folder, "masked-lm").running_module
    parameter = module.get_parameter(decoder)
    assert isinstance(parameter, LazyParameter)
    assert (parameter is module.get_parameter(words)) == is_tied
    assert torch.equal(parameter, tensors[words if is_tied else decoder])


def test_files_that_change_are_reported(folder: Path) -> None:
    file = folder / "model.safetensors"
    model, activations = opened(folder), ActivationCache()
    run_sentence(model, CAT, cache=activations)

    def write(done: int, total: int, label: str) -> None:
        if label == "Reading encoder.layer.1":
            os.utime(file, (1, 1))

    with pytest.raises(UserError, match=r"safetensors: the file has changed since it was opened"):
        run_sentence(model, CAT, progress=write)
    file.unlink()
    with pytest.raises(UserError, match=r"model\.safetensors: No such file"):
        check_run(model, activations)


@pytest.mark.parametrize(
    "stop", ["Reading encoder.layer.0", "encoder.layer.1.attention.self.query"]
)
def test_a_cancelled_run_unloads_the_weights(folder: Path, stop: str) -> None:
    model = opened(folder)
    before = lazy_names(model)

    def cancel(done: int, total: int, label: str) -> None:
        if label == stop:
            assert (lazy_names(model) == before) == stop.startswith("Reading")
            raise Cancelled

    with pytest.raises(Cancelled):
        run_sentence(model, CAT, progress=cancel)
    assert lazy_names(model) == before
    assert run_sentence(model, CAT).modules


def test_weights_are_read_for_the_device_of_the_model(folder: Path) -> None:
    model = opened(folder, "masked-lm")
    before = lazy_names(model)
    # The same device under another name: not every machine has another device.
    module = model.module(random_weights=True, device="cpu:0")
    assert lazy_names(model) == before
    table = module.get_parameter("bert.embeddings.word_embeddings.weight")
    assert table.device == torch.device("cpu:0")
    assert table is module.get_parameter("cls.predictions.decoder.weight")
    in_memory = opened(folder, "masked-lm", offload=False)
    assert_equal_runs(run_sentence(model, CAT), run_sentence(in_memory, CAT))


def test_a_model_that_changes_its_weights_is_refused(tmp_path: Path) -> None:
    saved_models.save(tmp_path, "rwkv")
    model = saved_models.opened(tmp_path, "rwkv", offload=True)
    with pytest.raises(UserError, match="is changed by the model as it runs, so it cannot be read"):
        run_sentence(model, SENTENCE)


def test_the_free_memory_decides(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for available, is_offloaded in ((10**10, False), (100_000, True)):
        monkeypatch.setattr(AVAILABLE_MEMORY, lambda available=available: available)
        model = opened(folder, offload=False)
        assert bool(lazy_parameters(model.module(random_weights=False))) == is_offloaded
        assert model.architecture.source.offloaded == is_offloaded
    assert model.architecture.source.to_json()["offloaded"] is True
    monkeypatch.setattr(AVAILABLE_MEMORY, lambda: 50_000)
    message = r"need 0\.0 GB of memory, but only 0\.0 GB are free; layer by layer .* 0\.0 GB"
    with pytest.raises(UserError, match=message):
        opened(folder, offload=False).module(random_weights=False)


def test_random_weights_cannot_be_offloaded(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="has no weights, so none can be read layer by layer"):
        opened(folder).module(random_weights=True)
