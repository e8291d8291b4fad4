"""Values of parameters, stored and in memory."""

from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.parameters import from_tensor, tensor_values, token_rows, whole_tensor
from bertviewer.core.tensors.values import Origin
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import small_model


@pytest.fixture(scope="module")
def model(tiny_bert_folder: Path) -> LoadedModel:
    return open_model(parse_source(str(tiny_bert_folder)))


def test_stored_tensors_are_those_of_the_file(model: LoadedModel, tiny_bert_folder: Path) -> None:
    loaded = transformers.BertModel.from_pretrained(tiny_bert_folder)
    for name, parameter in loaded.named_parameters():
        assert_array_equal(whole_tensor(model, name), parameter.detach().numpy())
        values = tensor_values(model, name)
        assert values is not None
        assert values.name == name
        assert values.origin.kind == "file"
        assert values.origin.file == tiny_bert_folder / "model.safetensors"
    with pytest.raises(UserError, match="has no tensor 'nonsense'"):
        tensor_values(model, "nonsense")


def test_tied_and_random_tensors_of_a_head(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "masked-lm"))
    decoder = tensor_values(model, "cls.predictions.decoder.weight")
    assert decoder is not None
    assert decoder.origin.key == "embeddings.word_embeddings.weight"
    # The file lacks the head: its values are those that the model runs with.
    name = "cls.predictions.transform.dense.weight"
    drawn = tensor_values(model, name)
    assert drawn is not None
    assert drawn.origin == Origin("drawn")
    parameter = model.module(False).get_parameter(name)
    assert_array_equal(whole_tensor(model, name), parameter.detach().numpy())


def test_a_model_without_weights_has_values_once_they_are_drawn() -> None:
    model = small_model("distilbert")
    name = "transformer.layer.1.attention.q_lin.weight"
    assert tensor_values(model, name) is None
    with pytest.raises(UserError, match=f"has no weights, so {name} has no values"):
        whole_tensor(model, name)
    module = model.module(random_weights=True)
    assert_array_equal(whole_tensor(model, name), module.get_parameter(name).detach().numpy())


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn]
)
def test_parameters_of_every_dtype(dtype: torch.dtype) -> None:
    for shape in ((), (5,), (4, 3), (2, 3, 4)):
        parameter = torch.randn(shape).to(dtype)
        values = from_tensor("w", parameter, Origin("drawn"))
        assert (values.dtype, values.shape) == (str(dtype).removeprefix("torch."), shape)
        rows, columns = matrix_shape(shape)
        found = values.block((0, rows), (0, columns)).reshape(shape)
        assert_array_equal(found, parameter.double().numpy())


def test_a_parameter_that_is_not_contiguous() -> None:
    values = from_tensor("w", torch.arange(6.0).reshape(2, 3).T, Origin("drawn"))
    assert values.block((0, 3), (0, 2)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_rows_of_word_embeddings_are_tokens(model: LoadedModel, tiny_bert_folder: Path) -> None:
    tensors = {tensor.name: tensor for tensor in model.architecture.parameters}
    names = token_rows(model, tensors["embeddings.word_embeddings.weight"])
    vocabulary = (tiny_bert_folder / "vocab.txt").read_text().split()
    assert list(names.names) == vocabulary
    assert token_rows(model, tensors["embeddings.position_embeddings.weight"]).names == ()
    placeholder = small_model("gpt2")
    tensors = {tensor.name: tensor for tensor in placeholder.architecture.parameters}
    assert token_rows(placeholder, tensors["wte.weight"]).names == ()
