"""Steps without parameters: scales, fixed position vectors, and modules of many operations."""

import pytest

from bertviewer.core.building.transformer_base import register
from bertviewer.core.walkthrough.build import TARGET, build_walkthrough
from bertviewer.core.walkthrough.steps import SINUSOIDS
from tests.core.opened import derived
from tests.core.walkthrough.expected import ATTENTION, WORDS
from tests.core.walkthrough.small_walkthroughs import small, step

register()


def embeddings_of(family: str, **changes: object) -> list[tuple[str, str]]:
    found = build_walkthrough(small(family, **changes)).sections[0].steps
    return [(at.name, at.note) for at in found]


def test_sinusoids_and_their_addition_are_steps() -> None:
    walkthrough = build_walkthrough(small("transformer-base"))
    expected = [*WORDS, "Scale by √24", "Sinusoidal positions", "Add", "Embedding dropout"]
    target = next(section for section in walkthrough.sections if section.title == TARGET)
    for section in (walkthrough.sections[0], target):
        assert [at.name for at in section.steps] == expected
    assert step(walkthrough, "Sinusoidal positions").note.startswith("Sines and cosines")
    assert step(walkthrough, "Add").note == SINUSOIDS


def test_a_scale_names_the_root_of_the_width() -> None:
    scale = step(build_walkthrough(derived("transformer-base")), "Scale by √D")
    assert scale.note == "Each vector is multiplied by √D = √512 ≈ 22.6274."
    assert scale.count.parameters == 0


@pytest.mark.parametrize(
    ("family", "changes"),
    [("bart", {"scale_embedding": True}), ("gemma", {}), ("marian", {}), ("m2m_100", {})],
)
def test_scaled_embeddings(family: str, changes: dict[str, object]) -> None:
    note = "Each vector is multiplied by √24 ≈ 4.89898."
    assert ("Scale by √24", note) in embeddings_of(family, **changes)


def test_a_scale_by_another_number() -> None:
    assert ("Scale by 12", "Each vector is multiplied by 12.") in embeddings_of("granite")


@pytest.mark.parametrize("family", ["bart", "llama", "t5", "bert", "gpt2"])
def test_no_scale_where_nothing_is_scaled(family: str) -> None:
    assert not any(name.startswith("Scale") for name, _ in embeddings_of(family))


def test_position_vectors_of_a_buffer_are_a_step() -> None:
    names = [name for name, _ in embeddings_of("m2m_100")]
    assert names[-3:] == ["Fixed positions", "Add", "Embedding dropout"]


def test_attention_in_another_form_is_one_step() -> None:
    """Longformer computes its scores in blocks, with its own softmax."""
    layer = build_walkthrough(small("longformer")).sections[1].steps
    assert layer[0].name == ATTENTION
    assert layer[0].count.parameters == 4 * (24 * 24 + 24)


def test_a_module_of_many_unknown_operations_is_one_step() -> None:
    """RWKV computes its attention token by token."""
    first, layer, *_ = build_walkthrough(small("rwkv")).sections
    assert [at.name for at in first.steps] == WORDS
    names = ["Norm", "Norm", "attention", "Add", "Norm", "feed_forward", "Add"]
    assert [at.name for at in layer.steps] == names
    assert layer.steps[2].paths == ("blocks.0.attention",)
