"""Configurations that core has never seen, drawn from a seed by a generator of its own."""

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

_DRAWS = 120


_MOST_LAYERS = 8


_MOST_SIZE = 2_000_000


# These name something, or steer: another value is a near one.
_NAMES = re.compile(
    r"(^|_)(id|ids|idx|index|indices|seed|version|theta|dtype)$|token_id|_ids?_|^id2|2id$"
)


# A list of indexes has the length of a depth only by chance: its entries name layers.
_INDICES = re.compile(r"(^|_)(ids|idx|indices|indexes)$")


_DEPTH = re.compile(r"layer|depth|block|stage")


Key = tuple[str | int, ...]


def _numbers(at: Any, key: Key = ()) -> Iterator[tuple[Key, int]]:
    """Yield every number of a configuration that may be a size, with its place."""
    if isinstance(at, Mapping):
        for name, value in at.items():
            if str(name) not in ("num_labels", "chunk_size", "id2label", "label2id"):
                yield from _numbers(value, (*key, str(name)))
    elif isinstance(at, list):
        if at and len(at) <= 8 and all(_is_number(value) for value in at):
            if len(set(at)) == 1 and len(at) > 1:
                # All of an equal list at once.
                yield key, at[0]
            else:
                for place, value in enumerate(at):
                    yield (*key, place), value
    elif _is_number(at):
        yield key, at


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def configurations(
    config: Mapping[str, Any], draw: random.Random
) -> Iterator[tuple[list[dict[str, Any]], dict[str, tuple[int, int]]]]:
    """Yield configurations, each as it is and with the lists that go by layer, and the changes."""
    numbers = dict(_numbers(config))
    sizes = [value for value in numbers.values() if value > 1]
    keys = list(numbers)
    alone = draw.sample(keys, len(keys))
    for number in range(_DRAWS):
        kind = number % 5
        if kind < 2 and alone:
            # Each key in turn.
            chosen = [alone[(number // 5 * 2 + kind) % len(alone)]]
        elif kind < 4:
            chosen = draw.sample(keys, min(len(keys), draw.randint(2, 4)))
        else:
            chosen = [key for key in keys if draw.random() < draw.choice((0.2, 0.5, 0.8))]
        fresh, following = _copied(config), _copied(config)
        changed = {}
        for key in chosen:
            value = _moved(key, numbers[key], sizes, draw)
            if value != numbers[key] and 0 < value <= _MOST_SIZE:
                _put(fresh, key, numbers[key], value, lists_follow=False)
                _put(following, key, numbers[key], value, lists_follow=True)
                changed[".".join(map(str, key))] = numbers[key], value
        if changed:
            yield [fresh, following] if following != fresh else [fresh], changed


def _moved(key: Key, value: int, sizes: list[int], draw: random.Random) -> int:
    name = next(part for part in reversed(key) if isinstance(part, str))
    if _DEPTH.search(name) and value <= _MOST_LAYERS:
        return value + draw.choice((-1, 1, 1, 2, 3))
    if not value or _NAMES.search(name):
        return value + draw.choice((-1, 1, 1, 2))
    small = [value - 1, value + 1, value + 2, value * 2, value * 3]
    large = [
        *(value * part // 2 for part in (1, 2, 3, 5)),
        value * 2, value * 3, value * 7 // 4, value // 4,
        value + 1, value - 1, value + 8 * draw.randint(1, 9), value + 64 * draw.randint(1, 5),
        draw.choice(sizes or [value]),
    ]  # fmt: skip
    return draw.choice(small if value < 16 else large)


def _copied(at: Any) -> Any:
    if isinstance(at, Mapping):
        return {key: _copied(value) for key, value in at.items()}
    return [_copied(value) for value in at] if isinstance(at, list | tuple) else at


def _put(config: dict[str, Any], key: Key, old: int, value: int, *, lists_follow: bool) -> None:
    at: Any = config
    for part in key[:-1]:
        at = at[part]
    last = key[-1]
    if isinstance(last, int) and last >= len(at):
        return  # the list has become shorter with another number
    at[last] = [value] * len(at[last]) if isinstance(at[last], list) else value
    if lists_follow and isinstance(at, dict) and _DEPTH.search(str(last)):
        # What is said layer by layer goes on as it began.
        for name, entries in at.items():
            if (
                isinstance(entries, list)
                and len(entries) == old > 1
                and name != last
                and not _INDICES.search(str(name))
                and not any(isinstance(entry, list | dict) for entry in entries)
            ):
                at[name] = [entries[place % old] for place in range(value)]
