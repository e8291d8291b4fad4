"""A count without what stands on top of the layers, with the difference named."""

import pytest

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import Subtotal, subtotal
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import flowing


def subtotal_of(architecture: Architecture) -> Subtotal | None:
    return subtotal(build_walkthrough(architecture), architecture)


def test_the_count_of_the_layers_alone_stands_beside_the_model_s() -> None:
    found = subtotal_of(plain("bert-large-chinese"))
    assert found is not None
    assert (found.parameters, found.total) == (324_472_832, 325_522_432)
    assert found.difference == "pooler 1,049,600"
    assert found.paths == ("pooler",)


@pytest.mark.parametrize(
    ("name", "task", "parameters", "total", "difference"),
    [
        ("bert-base-uncased", "base", 108_891_648, 109_482_240, "pooler 590,592"),
        (
            "bert-base-uncased",
            "sequence-classification",
            108_891_648,
            109_483_778,
            "pooler 590,592 and head 1,538",
        ),
        # Its decoder's weight is the table of words.
        ("bert-base-chinese", "masked-lm", 101_677_056, 102_290_312, "head 613,256"),
        ("bert-base-uncased", "masked-lm", 108_891_648, 109_514_298, "head 622,650"),
    ],
)
def test_poolers_and_heads_are_left_out(
    name: str, task: str, parameters: int, total: int, difference: str
) -> None:
    found = subtotal_of(plain(name, task))
    assert found is not None
    assert (found.parameters, found.total, found.difference) == (parameters, total, difference)


@pytest.mark.parametrize(
    ("name", "task", "parameters"),
    [("bert-large-chinese", "base", 324_472_832), ("bert-base-chinese", "masked-lm", 101_677_056)],
)
def test_a_walk_in_the_order_of_execution_gives_the_same(
    name: str, task: str, parameters: int
) -> None:
    found = subtotal_of(flowing(name, task))
    assert found is not None
    assert found.parameters == parameters


@pytest.mark.parametrize("family", ["gpt2", "t5", "llama", "distilbert", "transformer-base"])
def test_a_model_with_nothing_on_top_has_none(family: str) -> None:
    assert subtotal_of(architecture_of(family)) is None


def test_a_last_norm_is_of_the_layers() -> None:
    architecture = architecture_of("gpt2", "sequence-classification")
    found = subtotal_of(architecture)
    assert found is not None
    assert found.paths == ("score",)


def test_the_parts_of_a_head_are_one() -> None:
    found = subtotal_of(architecture_of("mpnet", "masked-lm"))
    assert found is not None
    assert found.difference == f"head {found.total - found.parameters:,}"
