"""The steps of a call; those of a layer are named by its operations: attention, sums, norms.

A layer's operations are encoded as a string, such as ``NA+NPFP+`` for norm, attention, sum, norm,
projection, activation, projection and sum, which is split into steps by a regular expression.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bertviewer.core.checks.comparison import Deviation, badness
from bertviewer.core.checks.observed_calls import (
    ACTIVATION,
    ADDITION,
    ATTENTION,
    NORM,
    PRODUCT,
    ObservedCall,
    StepComparison,
)
from bertviewer.core.sources.families import is_cross_attention

NEXT = "= next hidden state"
"""The last step: the whole layer, computed from its input."""

_ATTENTIONS = {"A": "self-attention", "C": "cross-attention"}
_Step = tuple[str, int, int]
"""A name, and the start and end of the step's operations in the layer."""


class _Item(Struct, frozen=True, eq=False):
    """One operation or comparison in a layer.

    ``kind`` is "" for a comparison. ``around`` are the calls between it and the layer, outer ones
    first.
    """

    kind: str
    around: tuple[ObservedCall, ...]
    step: StepComparison | None = None


def steps_of(call: ObservedCall) -> Iterator[tuple[str, Deviation]]:
    """Yield the names of a call's steps with the worst deviation of each.

    The second and further steps of one name are numbered.
    """
    seen = Counter[str]()
    for name, deviation in _layer_steps(call) if _is_layer(call) else call.chosen(call.comparisons):
        seen[name] += 1
        yield f"{name} ({seen[name]})" if seen[name] > 1 else name, deviation


def _layer_steps(call: ObservedCall) -> Iterator[tuple[str, Deviation]]:
    items = list(_items(call))
    places = [place for place, item in enumerate(items) if item.kind]
    for name, start, stop in _steps([items[place] for place in places]):
        first, end = places[start] if start else 0, [*places, len(items)][stop]
        if found := list(_deviations(call, items, first, places[stop - 1], end)):
            yield name, max(found, key=badness)
    if whole := [found for _, found in call.chosen(call.output)]:
        yield NEXT, max(whole, key=badness)


def _is_layer(call: ObservedCall) -> bool:
    """Return whether a call is that of a layer.

    A layer is the innermost member of a list with an attention and a feed-forward network.
    """
    if not call.path.rpartition(".")[2].isdecimal() or call.is_attention:
        return False
    word = "".join(item.kind for item in _items(call))
    has_more = re.search(f"{PRODUCT}.*{ACTIVATION}.*{PRODUCT}", word) and re.search("[AC]", word)
    return bool(has_more) and not any(_is_layer(each) for each in call.calls if each is not call)


def _items(call: ObservedCall, around: tuple[ObservedCall, ...] = ()) -> Iterator[_Item]:
    """Yield the items of a call; an attention, a norm and an activation are one item each."""
    kinds = _kinds(call)
    single = next((kind for kind in (NORM, ACTIVATION) if kind in kinds), "")
    if around and call.is_attention:
        yield _Item("C" if is_cross_attention(call.path) else "A", around)
    elif around and single and PRODUCT not in kinds and ATTENTION not in kinds:
        yield _Item(single, around)
    else:
        for event in call.events:
            if isinstance(event, ObservedCall):
                yield from _items(event, (*around, event))
            elif isinstance(event, StepComparison):
                yield _Item("", around, event)
            else:
                yield _Item(event, around)


def _kinds(call: ObservedCall) -> str:
    """Return the kinds of all operations in a call, in order."""
    kinds = (_kinds(it) if isinstance(it, ObservedCall) else it for it in call.events)
    return "".join(kind for kind in kinds if isinstance(kind, str))


def _steps(items: Sequence[_Item]) -> Iterator[_Step]:
    """Split a layer's operations into steps, except the last sum, which is the layer's output."""
    word = "".join(item.kind for item in items)
    is_pre_norm = word.startswith(NORM) or not word.endswith(NORM)
    added = r"\+" if is_pre_norm else r"\+N?"
    attention = f"(?P<attention>[AC])(?P<post>N*)(?P<sum>P*{added})?"
    after = ""
    for found in re.finditer(f"{attention}|(?P<norm>N+)|([PF]+)({added})?", word):
        start, stop = found.span()
        rest = word[stop:]
        if found["attention"]:
            after = _ATTENTIONS[found[0][0]]
            yield after + _suffix(items[start].around[-1]), start, start + 1
            if found["post"]:
                yield _norm_name(after, word[found.end("post") :]), *found.span("post")
            if found["sum"] and (rest or found["sum"] != ADDITION):
                yield _sum_name(found["sum"], after), *found.span("sum")
        elif found["norm"]:
            is_sum = word[start - 1 : start] == ADDITION
            name = "the residual addition" if is_sum or not after else after
            yield _norm_name(name if start else "", rest), start, stop
        else:
            after, around = "feed-forward", [item.around for item in items[start:stop]]
            steps = _network(found[5], found[6] or "", around, is_pre_norm=is_pre_norm)
            for name, begin, end in steps:
                if rest or begin != len(found[5]):
                    yield name, start + begin, start + end


def _norm_name(after: str, rest: str) -> str:
    if rest.startswith("C"):
        return "norm before cross-attention"
    return f"norm after {after}" if after else "norm"


def _sum_name(operations: str, after: str) -> str:
    is_norm = operations.endswith(NORM)
    if after == _ATTENTIONS["C"]:
        return f"{after}'s add & norm" if is_norm else f"residual addition after {after}"
    return "add & norm" if is_norm else "add" if operations == ADDITION else "projection & add"


def _suffix(attention: ObservedCall) -> str:
    """Return what an attention's module does after the attention, as in ALBERT."""
    last = _kinds(attention).rpartition(ATTENTION)[2]
    if ADDITION not in last:
        return ""
    return " & add & norm" if NORM in last.partition(ADDITION)[2] else " & add"


def _network(
    operations: str, added: str, around: Sequence[tuple[ObservedCall, ...]], *, is_pre_norm: bool
) -> Iterator[_Step]:
    """Yield the steps of a feed-forward network, and of the sum and norm that follow, ``added``.

    ``around`` are the enclosing calls of each operation.
    """
    size, last = len(operations), operations.rfind(PRODUCT)
    end = size + len(added)
    inside = [call for call in around[0] if all(call in each for each in around[:size])]
    is_module = not added or any(call not in around[size] for call in inside)
    if ACTIVATION not in operations[: max(last, 0)] or (is_pre_norm and is_module):
        yield "feed-forward", 0, size
        if added:
            yield "residual addition after feed-forward", size, end
        return
    yield "intermediate", 0, last
    yield "output" + {"": "", "+": " & add", "+N": " & add & norm"}[added], last, end


def _deviations(
    layer: ObservedCall, items: list[_Item], start: int, last: int, stop: int
) -> Iterator[Deviation]:
    """Yield the deviations between two operations, and up to the next one.

    A module that is completely within is compared as a whole, without its children.
    """

    def is_within(call: ObservedCall, start: int) -> bool:
        places = [place for place, item in enumerate(items) if item.kind and call in item.around]
        return all(start <= place <= last for place in places)

    outer: list[ObservedCall] = []
    for item in items[start : last + 1]:
        call = next((call for call in item.around if is_within(call, start)), None)
        if call is not None and call not in outer:
            outer.append(call)
    found = [(call, [step for step in call.output if not step.is_head]) for call in outer]
    found += [
        (item.around[-1] if item.around else layer, [item.step])
        for item in items[start:stop]
        if item.step is not None and not any(call in outer for call in item.around)
    ]
    deviations = [deviation for call, steps in found for _, deviation in call.chosen(steps)]
    yield from deviations
    if not outer and not deviations:
        # A sum that a module returns, of recorded terms.
        call = next((call for call in items[last].around if is_within(call, 0)), None)
        if call is not None and len(call.frames) > 1:
            yield from filter(None, (step.found[-1] for step in call.output))
