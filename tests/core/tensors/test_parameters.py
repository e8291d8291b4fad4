"""Values of parameters, stored and in memory."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.parameters import from_tensor, tensor_values, token_rows
from bertviewer.core.tensors.values import Origin, TensorValues
from bertviewer.core.util.errors import UserError


def whole(values: TensorValues | None) -> np.ndarray:
    assert values is not None
    matrix = Matrix(values)
    return matrix.block((0, matrix.shape[0])).reshape(values.shape)


def test_every_tensor_of_a_folder_is_that_of_the_file(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    loaded = transformers.BertModel.from_pretrained(tiny_bert_folder)
    for name, parameter in loaded.named_parameters():
        values = tensor_values(model, name)
        assert_array_equal(whole(values), parameter.detach().numpy())
        assert values is not None
        assert values.name == name
        assert values.origin.kind == "file"
        assert values.origin.file == tiny_bert_folder / "model.safetensors"


def test_a_tied_tensor_is_where_the_first_one_is(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "masked-lm"))
    decoder = tensor_values(model, "cls.predictions.decoder.weight")
    assert decoder is not None
    assert decoder.origin.key == "embeddings.word_embeddings.weight"
    # The file lacks the head, which is drawn: what is shown is what the model runs with.
    drawn = tensor_values(model, "cls.predictions.transform.dense.weight")
    assert drawn is not None
    assert drawn.origin == Origin("drawn")
    parameter = model.module(False).get_parameter("cls.predictions.transform.dense.weight")
    assert_array_equal(whole(drawn), parameter.detach().numpy())


def test_a_preset_has_values_once_they_are_drawn() -> None:
    model = open_model(parse_source("distilbert-base-uncased"))
    name = "transformer.layer.2.attention.q_lin.weight"
    assert tensor_values(model, name) is None
    module = model.module(random_weights=True)
    values = tensor_values(model, name)
    assert_array_equal(whole(values), module.get_parameter(name).detach().numpy())
    assert values is not None
    assert values.origin == Origin("drawn")


def test_a_name_that_is_not_there(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    with pytest.raises(UserError, match="has no tensor 'nonsense'"):
        tensor_values(model, "nonsense")


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn]
)
@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (2, 3, 4)])
def test_parameters_of_every_dtype_are_read(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    parameter = torch.randn(shape).to(dtype)
    values = from_tensor("w", parameter, Origin("drawn"))
    assert values.dtype == str(dtype).removeprefix("torch.")
    assert values.shape == shape
    rows, columns = matrix_shape(shape)
    found = values.block((0, rows), (0, columns)).reshape(shape)
    assert_array_equal(found, parameter.double().numpy())


def test_a_parameter_that_is_not_contiguous_is_read() -> None:
    values = from_tensor("w", torch.arange(6.0).reshape(2, 3).T, Origin("drawn"))
    assert values.block((0, 3), (0, 2)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_rows_of_word_embeddings_are_tokens(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    tensors = {tensor.name: tensor for tensor in model.architecture.parameters}
    names = token_rows(model, tensors["embeddings.word_embeddings.weight"])
    assert len(names) == 200
    vocabulary = (tiny_bert_folder / "vocab.txt").read_text().split()
    assert list(names.names) == vocabulary
    assert token_rows(model, tensors["embeddings.position_embeddings.weight"]).names == ()


def test_a_vocabulary_that_is_not_there_gives_no_names() -> None:
    model = open_model(parse_source("gpt2"))
    tensors = {tensor.name: tensor for tensor in model.architecture.parameters}
    assert token_rows(model, tensors["wte.weight"]).names == ()
