"""Operations that would exceed the memory limit are refused before they allocate."""

from collections.abc import Callable

import pytest
import torch

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.progress import no_progress

MEMORY = 200_000_000


def _convolution() -> None:
    pixels = torch.zeros(1).expand(1, 3, 600, 600)
    with torch.no_grad():
        torch.conv2d(pixels, torch.zeros(1, 3, 40, 40))


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.ones(10**9),
        lambda: torch.linspace(0, 1, 10**9, device="cpu"),
        lambda: torch.ones(30_000, 1) * torch.ones(30_000),
        lambda: torch.zeros(1).expand(20_000, 20_000).contiguous(),
        lambda: torch.ones(20_000, 2) @ torch.ones(2, 20_000),
        lambda: torch.ones(20_000).repeat(20_000),
        _convolution,
    ],
)
def test_an_operation_beyond_the_limit_is_refused(work: Callable[[], None]) -> None:
    with (
        limited(no_progress, memory=MEMORY),
        AllocationGuard(),
        pytest.raises(OverBudget, match="more would exceed"),
    ):
        work()


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.ones(10**6),
        lambda: torch.ones(10**12, device="meta"),
        lambda: torch.ones(10**9, device="meta") * torch.tensor(2.0),
        lambda: torch.ones(5_000).view(50, 100).expand(10**6, 50, 100),
        lambda: torch.ones(4_000, 3) @ torch.ones(3, 4_000),
        lambda: torch.ones(10**6).nonzero(),
    ],
)
def test_an_operation_within_the_limit_is_executed(work: Callable[[], torch.Tensor]) -> None:
    with limited(no_progress, memory=MEMORY), AllocationGuard():
        assert work().numel()
