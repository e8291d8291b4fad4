"""Measures how many tokens a model accepts, by running it on torch's meta device.

A configuration may name a length for which there is no table, and a table may have rows that no
token uses. So the model is run with few tokens to find the tables in which each token has its own
row, and then with one token more than each of them has rows for.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, task_names
from bertviewer.core.expressions.symbols import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.graph.inputs.signature import text_inputs
from bertviewer.core.graph.meta_device import Literals, MetaDevice
from bertviewer.core.graph.tracing_models import prepare
from bertviewer.core.sources.length_limits import (
    LengthLimits,
    stated_lengths,
    stated_limits,
    trained_length,
)
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.errors import Stopped, UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import no_progress

FEW = (8, 4, 2, 1)
"""Numbers of tokens that are tried in the first run."""

MAX_TOKENS = 2**16
"""Limit of lengths: a text has at most 200,000 characters."""

MAX_STEPS = 50_000
"""Limit of the operations in one run."""

SECONDS = 20.0
"""Time limit of all runs together."""

_aten = torch.ops.aten


class _TooManyStepsError(Exception):
    """The limit of operations is reached."""


class _Table(Struct, frozen=True):
    """A lookup in a table: its number of rows, and the lowest and highest row that was read."""

    rows: int
    first: int
    last: int
    lookups: int

    @property
    def room(self) -> int:
        """The number of tokens that can have their own row, from the first token's row on."""
        return self.rows - self.first

    @property
    def has_own_rows(self) -> bool:
        """Whether the rows are consecutive, one for each token, as for positions."""
        return self.last - self.first + 1 == self.lookups


class _RunResult(Struct, frozen=True):
    """The result of a run."""

    runs: bool
    tables: frozenset[_Table] = frozenset()

    def accepts(self, room: int) -> bool:
        """Return whether the model ran, and all tokens had their own row in tables of this room.

        Some models use the last row of a table for all further tokens.
        """
        return self.runs and not any(
            table.room == room and table.last == table.rows - 1 and table.lookups > room
            for table in self.tables
        )


class _Lookups(MetaDevice):  # type: ignore[no-untyped-call]
    """Records lookups in tables, and fails if a row does not exist, as on other devices."""

    def __init__(self) -> None:
        super().__init__((), lambda _: None, is_limited=False)
        self.tables: set[_Table] = set()
        self._steps = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation.

        Raises:
            IndexError: a row does not exist.
            _TooManyStepsError: too many operations.
        """
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _TooManyStepsError
        for rows, index in _looked_up(func, args):
            value = self.value(index)
            if value is not None and value.numel():
                self._note(rows, value)
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _note(self, rows: int, index: Tensor) -> None:
        first, last = int(index.min()), int(index.max())
        if last >= rows or first < -rows:
            raise IndexError(f"row {last} of {rows}")
        is_row = index.dim() > 0 and index.numel() == index.shape[-1]
        if is_row and first >= 0:
            self.tables.add(_Table(rows, first, last, index.numel()))


def _looked_up(func: Any, args: Any) -> Iterator[tuple[int, Tensor]]:
    """Yield the number of rows and the index of each lookup in an operation."""
    if func is _aten.embedding.default:
        yield args[0].shape[0], args[1]
    elif func in (_aten.index_select.default, _aten.gather.default):
        yield args[0].shape[args[1]], args[2]
    elif func is _aten.index.Tensor:
        for dimension, index in enumerate(args[1]):
            if isinstance(index, Tensor) and index.dtype not in (torch.bool, torch.uint8):
                yield args[0].shape[dimension], index


def length_limits(config: Mapping[str, Any]) -> LengthLimits:
    """Return how many tokens the model of a configuration accepts.

    If it cannot be run without weights, these are the lengths in the configuration.
    """
    try:
        return _memoized_limits(json.dumps(config, sort_keys=True, default=str))
    except OverBudget as error:
        _log(config, error)
        return stated_limits(config)


@lru_cache(maxsize=64)
def _memoized_limits(document: str) -> LengthLimits:
    with limited(no_progress, SECONDS):
        return _measure(json.loads(document))


def _measure(config: Mapping[str, Any]) -> LengthLimits:
    for few in FEW:
        first = _try(config, few, few)
        if first.runs:
            break
    else:
        return stated_limits(config)
    rooms = {table.room for table in first.tables if table.has_own_rows and table.lookups >= few}
    rooms = {room for room in rooms | set(stated_lengths(config)) if few <= room < MAX_TOKENS}
    source = _limit(lambda tokens: _try(config, tokens, few), few, rooms)
    target = None
    if config.get("is_encoder_decoder"):
        target = _limit(lambda tokens: _try(config, few, tokens), few, rooms)
    return LengthLimits(source, target, trained_length(config))


def _limit(attempt: Callable[[int], _RunResult], few: int, rooms: set[int]) -> int | None:
    """Return the maximum of accepted tokens, by bisection; ``None`` if it exceeds all tables."""
    least = few
    for room in sorted(rooms):
        if attempt(room + 1).accepts(room):
            least = room + 1
            continue
        most = room + 1  # does not run
        while most - least > 1:
            # A table may have unused rows: some models process blocks of tokens.
            middle = room if most == room + 1 else (least + most) // 2
            if attempt(middle).accepts(room):
                least = middle
            else:
                most = middle
        return least
    return None


def _try(config: Mapping[str, Any], tokens: int, targets: int) -> _RunResult:
    """Run the model once with these numbers of source and target tokens."""
    device = _Lookups()
    # Building in another dtype would change torch's default dtype, for other threads too.
    values = {key: value for key, value in config.items() if key not in ("dtype", "torch_dtype")}
    try:
        with torch.no_grad(), device, Literals():
            # Built within the mode, so that values of position ids and other buffers are known.
            made = build_config(values, "")
            model = build_on_meta(made, find_task(_base(task_names(made))), "")
            prepare(model)
            sizes = {SENTENCES: 1, TOKENS: tokens, TARGET_TOKENS: targets}
            inputs = text_inputs(model, sizes).on_meta()
            for tensor, value in inputs.known:
                device.set_value(tensor, value)
            model(**inputs.arguments)
    except (UserError, KeyError) as error:
        _log(config, error)
        return _RunResult(False)
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        return _RunResult(_needs_values(error), frozenset(device.tables))
    return _RunResult(True, frozenset(device.tables))


def _log(config: Mapping[str, Any], error: Exception) -> None:
    write_log(f"the maximum lengths of {config.get('model_type')!r} are not known: {error}")


def _base(heads: Sequence[str]) -> str:
    """Return the task without a head, or the first task of a family that has none."""
    return "base" if "base" in heads or not heads else heads[0]


def _needs_values(error: Exception) -> bool:
    """Return whether a run failed because tensors on the meta device have no values."""
    is_unfinished = isinstance(error, NotImplementedError | _TooManyStepsError)
    return is_unfinished or "meta" in str(error).lower()
