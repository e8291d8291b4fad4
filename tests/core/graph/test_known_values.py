"""On the meta device what follows from the inputs is known, and nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from bertviewer.core.graph.inputs.signature import ModelInputs
from bertviewer.core.graph.meta_device import known_on_meta

IDS = torch.tensor([[1, 0, 2], [0, 0, 3]])


@pytest.fixture
def ids() -> Iterator[Tensor]:
    """Token ids on the meta device, whose values are known."""
    inputs = ModelInputs({"ids": IDS}, ()).on_meta()
    with known_on_meta(inputs.known, lambda _: None):
        yield inputs.arguments["ids"]


@pytest.fixture
def states() -> Tensor:
    """A vector for each of them, of which nothing is known."""
    return torch.empty(2, 3, 5, device="meta")


@pytest.mark.parametrize(
    "computed",
    [
        lambda ids: ids.tolist(),
        lambda ids: ids.cpu().tolist(),
        lambda ids: ids[ids > 0].tolist(),
        lambda ids: ids[ids[:, 0] > 0, 1:].tolist(),
        lambda ids: ids.nonzero().tolist(),
        lambda ids: torch.unique(ids).tolist(),
        lambda ids: torch.bincount(ids.flatten()).tolist(),
        lambda ids: torch.repeat_interleave(ids.flatten()).tolist(),
        lambda ids: torch.masked_select(ids, ids > 1).tolist(),
        lambda ids: torch.equal(ids, ids.clone()),
        lambda ids: [int(number) for number in ids.sum(dim=1)],
        lambda ids: bool((ids > 2).any()),
        lambda ids: torch.tensor([2, 3], device=ids.device).tolist(),
        lambda ids: torch.tensor([ids.max(), ids.min()], device=ids.device).tolist(),
        lambda ids: ids.new_tensor([[7]]).tolist(),
        lambda ids: torch.as_tensor(4, device=ids.device).item(),
        lambda ids: ids.float().masked_fill(ids == 0, torch.tensor(9.0)).tolist(),
    ],
)
def test_a_model_can_look_at_what_follows_from_its_inputs(
    ids: Tensor, computed: Callable[[Tensor], Any]
) -> None:
    assert computed(ids) == computed(IDS)


def test_places_that_are_written_to_are_known(ids: Tensor) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    mask[ids > 0] = 1
    assert mask.tolist() == (IDS > 0).float().tolist()


def test_rows_that_a_known_mask_selects_can_be_counted(ids: Tensor, states: Tensor) -> None:
    assert states[ids > 0].shape == (3, 5)
    states[ids > 0] = torch.zeros(5)
    assert states.shape == (2, 3, 5)


@pytest.mark.parametrize(
    "asked",
    [
        lambda states: states.sum().item(),
        lambda states: states.tolist(),
        lambda states: states[states > 0],
        lambda states: states.nonzero(),
        lambda states: torch.tensor([states.sum()], device="meta"),
    ],
)
def test_what_hangs_on_weights_is_not_made_up(
    ids: Tensor, states: Tensor, asked: Callable[[Tensor], Any]
) -> None:
    del ids
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        asked(states)


def test_what_is_unknown_makes_what_it_is_written_into_unknown(ids: Tensor, states: Tensor) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    row = mask[0]
    row.copy_(states[0, :, 0])
    with pytest.raises(RuntimeError, match="meta"):
        mask.sum().item()
