"""Rows that were sorted by integers: the order of equal ones depends on the device.

Models with experts sort their tokens by expert. The run and the reference instance may then work on
the same rows in different orders, and undo them at the end.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.flow.nested_tensors import mapped, named_in
from bertviewer.core.run.capture import KeptCall

MOST_EQUAL = 4096
"""Rows of one key that are matched: all are compared with all."""


def in_order_of(call: KeptCall, clean: Any, keys: Sequence[Tensor]) -> KeptCall:
    """Return a call of the run with its rows in the order of the reference instance's.

    Only rows of equal keys change places. What the run returns in the end is compared in any case,
    so that rows that are mixed up do not go unnoticed.

    Args:
        call: of a module whose rows are independent of each other, such as an activation.
        clean: what the reference instance calls it with.
        keys: what the reference instance has sorted so far, each [S] in its order.
    """
    given = dict(named_in((tuple(call.args), dict(call.kwargs))))
    for name, ours in named_in(clean) if keys else ():
        runs = given.get(name)
        if runs is None or runs.dim() < 2 or runs.shape != ours.shape:
            continue
        rows = next((each for each in reversed(keys) if len(each) == len(ours)), None)
        if rows is None or torch.allclose(ours, runs, equal_nan=True):
            continue
        order = torch.arange(len(rows))
        for key in rows.unique():
            places = (rows == key).nonzero()[:, 0]
            if len(places) <= MOST_EQUAL:
                order[places] = places[_matched(ours[places], runs[places])]

        def put(tensor: Tensor, order: Tensor = order) -> Tensor:
            return tensor[order] if tensor.dim() and len(tensor) == len(order) else tensor

        args, kwargs, output = mapped((call.args, call.kwargs, call.output), put)
        return replace(call, args=args, kwargs=kwargs, output=output)
    return call


def _matched(ours: Tensor, runs: Tensor) -> Tensor:
    """Return which of the run's rows is nearest to each of ours; each is used once."""
    distances = torch.cdist(ours.flatten(1).double(), runs.flatten(1).double())
    found = torch.empty(len(ours), dtype=torch.long)
    for row in range(len(ours)):
        found[row] = distances[row].argmin()
        distances[:, found[row]] = torch.inf
    return found
