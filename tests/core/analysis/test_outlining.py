"""Outlines hold all parameters of a model, and those that come with the program are true."""

import pytest

from bertviewer.core.analysis.costs import outline_of
from bertviewer.core.loading.opening import open_model
from bertviewer.core.loading.outlines import shipped_outlines
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names

NAMES = ("demo", *preset_names())


@pytest.mark.parametrize("name", NAMES)
def test_an_outline_that_comes_with_the_program_is_that_of_its_model(name: str) -> None:
    architecture = open_model(parse_source(name)).architecture
    outline = shipped_outlines()[name]
    assert outline == outline_of(architecture)
    stacks = sum(stack.stored * (stack.attention + stack.feed_forward) for stack in outline.stacks)
    assert outline.before + stacks + outline.after == architecture.root.parameters


def test_attention_is_told_from_the_rest_of_a_layer() -> None:
    (stack,) = shipped_outlines()["bert-base-uncased"].stacks
    width = 768
    norm = 2 * width
    assert stack.attention == 4 * (width * width + width) + norm
    assert stack.feed_forward == 2 * width * 4 * width + 5 * width + norm
    encoder, decoder = shipped_outlines()["transformer-base"].stacks
    assert decoder.attention == 2 * encoder.attention


def test_a_shared_layer_is_stored_once_and_called_often() -> None:
    (stack,) = shipped_outlines()["albert-base-v2"].stacks
    assert (stack.layers, stack.stored) == (12, 1)


def test_every_model_that_comes_with_the_program_has_one() -> None:
    assert tuple(shipped_outlines()) == NAMES
