"""A tensor counts once, in the same words everywhere."""

from msgspec.structs import replace

from bertviewer.charts.labels import tensors_text
from tests.core.opened import plain


def test_tied_names_are_told_apart_from_tensors() -> None:
    model = plain("bert-base-uncased", "masked-lm")
    assert model.tensor_count == 202
    assert tensors_text(model.parameters) == "202 tensors and 2 tied names"
    decoder = model.tensors_below("cls.predictions.decoder")
    assert tensors_text(decoder) == "2 tied names"
    one = [replace(model.parameters[0], tied_to=None)]
    assert tensors_text(one) == "1 tensor"
    assert tensors_text(plain("bert-base-uncased").parameters) == "199 tensors"
    assert tensors_text(()) == "0 tensors"
