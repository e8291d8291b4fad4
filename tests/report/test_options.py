"""Layers as a person writes them."""

import pytest

from bertviewer.core.util.errors import UserError
from bertviewer.report.options import layer_numbers, parse_layers


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("", None),
        (" First and last ", None),
        ("all", (0, 1, 2, 3, 4, 5)),
        ("0, 5", (0, 5)),
        ("5;0,5", (0, 5)),
        ("2-4", (2, 3, 4)),
        ("2 – 4, 0", (0, 2, 3, 4)),
    ],
)
def test_what_is_meant(text: str, layers: tuple[int, ...] | None) -> None:
    assert layer_numbers(text, 6) == layers


@pytest.mark.parametrize("text", ["6", "0, 6", "4-2", "1-9"])
def test_layers_that_the_model_has_not(text: str) -> None:
    with pytest.raises(UserError, match="this model has layers 0 to 5"):
        layer_numbers(text, 6)


def test_one_layer_alone() -> None:
    with pytest.raises(UserError, match="this model has only layer 0"):
        layer_numbers("1", 1)


@pytest.mark.parametrize("text", ["last", "0,,1", "-1", "1.5", "9" * 30])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(UserError, match="write layer numbers"):
        parse_layers(text)
