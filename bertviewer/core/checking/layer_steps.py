"""The steps of a layer, named after what its operations do: attention, sums, norms, feed-forward.

A layer's operations are read as a word, such as ``NA+NPFP+`` for a norm, an attention, a sum, a
norm, a projection, an activation, a projection and a sum, and the word is cut into steps.
"""

import re
from collections.abc import Iterable, Iterator

from bertviewer.core.analysis.attention_places import is_cross
from bertviewer.core.checking.comparison import Deviation, badness
from bertviewer.core.checking.observed_calls import (
    ACTIVATION,
    ADDITION,
    ATTENTION,
    NORM,
    PRODUCT,
    Call,
    Comparison,
)
from bertviewer.core.frozen import frozen

NEXT = "= next hidden state"
"""The last step: the layer as a whole, from its input alone."""

_SELF, _CROSS = "A", "C"


@frozen(eq=False)
class _Item:
    """One operation or comparison in a layer, in order.

    ``kind`` is "" for a comparison. ``around`` are the calls below the layer that it is in, from
    the outside in.
    """

    kind: str
    around: tuple[Call, ...]
    step: Comparison | None = None


@frozen
class _Step:
    """A step from one kind of operation to another: places in the layer's word."""

    name: str
    start: int
    stop: int


def is_layer(call: Call) -> bool:
    """Return whether a call is that of a layer: an entry of a list with attention and more in it.

    Of several such modules around each other it is the innermost.
    """
    if not call.path.rpartition(".")[2].isdecimal() or call.is_attention:
        return False
    word = _word(list(_items(call)))
    has_more = re.search(f"{PRODUCT}.*{ACTIVATION}.*{PRODUCT}", word) is not None
    if not has_more or not re.search(f"[{_SELF}{_CROSS}]", word):
        return False
    return not any(is_layer(each) for each in call.calls if each is not call)


def layer_steps(layer: Call) -> Iterator[tuple[str, Deviation]]:
    """Yield a layer's steps with the worst deviation in each, and the layer as a whole."""
    items = list(_items(layer))
    places = [place for place, item in enumerate(items) if item.kind]
    seen: dict[str, int] = {}
    for step in _steps(items, _word(items)):
        stop = places[step.stop] if step.stop < len(places) else len(items)
        found = list(_deviations(layer, items, places[step.start], places[step.stop - 1], stop))
        if found:
            seen[step.name] = count = seen.get(step.name, 0) + 1
            name = step.name if count == 1 else f"{step.name} ({count})"
            yield name, max(found, key=badness)
    if whole := _chosen(layer, layer.output):
        yield NEXT, max(whole, key=badness)


def _items(call: Call, around: tuple[Call, ...] = ()) -> Iterator[_Item]:
    """Yield what happens in a call; an attention and a norm are one operation each."""
    kinds = _kinds(call)
    if around and call.is_attention:
        yield _Item(_CROSS if is_cross(call.path) else _SELF, around)
    elif around and NORM in kinds and not kinds & {PRODUCT, ATTENTION}:
        yield _Item(NORM, around)
    elif around and ACTIVATION in kinds and not kinds & {PRODUCT, ATTENTION}:
        yield _Item(ACTIVATION, around)
    else:
        for event in call.events:
            if isinstance(event, Call):
                yield from _items(event, (*around, event))
            elif isinstance(event, Comparison):
                yield _Item("", around, event)
            else:
                yield _Item(event, around)


def _kinds(call: Call) -> set[str]:
    return set(_events(call))


def _word(items: list[_Item]) -> str:
    return "".join(item.kind for item in items)


def _steps(items: list[_Item], word: str) -> Iterator[_Step]:
    """Cut a layer's word into steps."""
    calls = [item.around for item in items if item.kind]
    is_pre_norm = word.startswith(NORM) or not word.endswith(NORM)
    place, after = 0, ""
    while place < len(word):
        rest = word[place:]
        if found := re.match(r"N+", rest):
            name = _norm_name(word, place, after, rest[found.end() :])
        elif found := re.match(r"[AC]", rest):
            after = "cross-attention" if found[0] == _CROSS else "self-attention"
            name = after + _suffix(calls[place][-1])
        elif after.endswith("attention") and (found := re.match(r"(P*)\+(N?)", rest)):
            if is_pre_norm and found[2]:
                found = re.match(r"P*\+", rest)
                assert found is not None
                name = _sum_name(after, projects=found[0] != ADDITION)
            elif found[2]:
                name = "add & norm" if after == "self-attention" else f"{after}'s add & norm"
            else:
                name = _sum_name(after, projects=bool(found[1]))
            if place + found.end() == len(word) and found[0] == ADDITION:
                return  # it is the layer's last sum
        elif found := re.match(r"[PF]+", rest):
            yield from _network(word, calls, place, place + found.end(), is_pre_norm=is_pre_norm)
            after = "feed-forward"
            more = re.match(r"\+" if is_pre_norm else r"\+N?", rest[found.end() :])
            place += found.end() + (more.end() if more else 0)
            continue
        else:
            place += 1
            continue
        yield _Step(name, place, place + found.end())
        place += found.end()


def _norm_name(word: str, place: int, after: str, rest: str) -> str:
    if rest.startswith(_CROSS):
        return "norm before cross-attention"
    if place == 0:
        return "norm"
    is_sum = word[place - 1] == ADDITION
    return "norm after the residual addition" if is_sum or not after else f"norm after {after}"


def _sum_name(after: str, *, projects: bool) -> str:
    if after == "cross-attention":
        return "residual addition after cross-attention"
    return "projection & add" if projects else "add"


def _suffix(attention: Call) -> str:
    """Return what an attention's module does after the attention: ALBERT's adds and norms."""
    last = "".join(_events(attention)).rpartition(ATTENTION)[2]
    if ADDITION not in last:
        return ""
    return " & add & norm" if NORM in last.partition(ADDITION)[2] else " & add"


def _events(call: Call) -> Iterator[str]:
    """Yield the operations in a call and those below, in order."""
    for event in call.events:
        if isinstance(event, Call):
            yield from _events(event)
        elif isinstance(event, str):
            yield event


def _network(
    word: str, calls: list[tuple[Call, ...]], start: int, stop: int, *, is_pre_norm: bool
) -> Iterator[_Step]:
    """Yield the steps of a feed-forward network, whose operations are in these places."""
    last = word.rfind(PRODUCT, start, stop)
    rest = re.match(r"\+" if is_pre_norm else r"\+N?", word[stop:])
    is_split = ACTIVATION in word[start:last]
    around = set(map(id, calls[start])).intersection(*(map(id, each) for each in calls[start:stop]))
    is_module = rest is None or bool(around.difference(map(id, calls[stop])))
    if not is_split or (is_pre_norm and is_module):
        yield _Step("feed-forward", start, stop)
        after = stop + (rest.end() if rest else 0)
        if rest and after < len(word):
            yield _Step("residual addition after feed-forward", stop, after)
        return
    yield _Step("intermediate", start, last)
    ending = {"": "output", "+": "output & add", "+N": "output & add & norm"}
    yield _Step(ending[rest[0] if rest else ""], last, stop + (rest.end() if rest else 0))


def _deviations(
    layer: Call, items: list[_Item], start: int, last: int, stop: int
) -> Iterator[Deviation]:
    """Yield what was compared from one operation to another, and before the next one.

    A module that lies within is compared as a whole, and not the modules in it.
    """
    outer: dict[int, Call] = {}
    for item in items[start : last + 1]:
        for call in item.around:
            if _is_within(call, items, start, last):
                outer.setdefault(id(call), call)
                break
    for call in outer.values():
        steps = [step for step in call.output if not step.name.startswith("head ")]
        yield from _chosen(call, steps)
    between = [
        deviation
        for item in items[start:stop]
        if item.step is not None and not any(id(call) in outer for call in item.around)
        for deviation in _chosen(item.around[-1] if item.around else layer, [item.step])
    ]
    yield from between
    if not outer and not between:
        # A sum that a module returns: what it adds is recorded.
        for call in items[last].around:
            if _is_within(call, items, 0, last):
                yield from (step.local for step in call.output if step.local is not None)
                break


def _chosen(call: Call, steps: Iterable[Comparison]) -> list[Deviation]:
    found = (call.chosen(step) for step in steps)
    return [each for each in found if each is not None]


def _is_within(call: Call, items: list[_Item], start: int, last: int) -> bool:
    """Return whether all of a call's operations are in these places."""
    return all(
        start <= place <= last
        for place, item in enumerate(items)
        if item.kind and any(each is call for each in item.around)
    )
