"""Fits one size as a polynomial of symbols, from models with one and two of them changed.

A fit gives every size that was observed; whether it is right elsewhere is for ``solver`` to verify.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice, product
from types import MappingProxyType

from bertviewer.core.expressions.polynomials import Polynomial, total

Point = tuple[int, int]
"""A changed value of a symbol, and the size with that value."""

Seen = Mapping[str, tuple[Point, ...]]
"""For each symbol, the sizes observed with it alone changed."""

Pairs = Mapping[tuple[str, str], tuple[int, int, int]]
"""For two symbols their changed values, and the size with both changed."""

POWERS = (1, -1, 2, -2, 3, -3)
"""A width, heads that share it, a square of positions, patches of an image, strides in a row."""

Powers = tuple[int, int]
"""The powers that a letter has in the first and in the second of two terms."""

_EXPONENTS = (0, *POWERS)
_ALL_POWERS: tuple[Powers, ...] = tuple((p, q) for p in _EXPONENTS for q in _EXPONENTS)

MOST_CHOICES = 64
"""The most ways to distribute symbols over two terms that are tried."""

MOST_LETTERS = 6
"""A size that depends on more symbols than this is left a plain number."""


def moving_letters(size: int, seen: Seen) -> tuple[str, ...]:
    """Return the symbols that were observed to change the size."""
    return tuple(
        letter for letter, points in seen.items() if any(changed != size for _, changed in points)
    )


def fit(
    size: int, values: Mapping[str, int], seen: Seen, pairs: Pairs = MappingProxyType({})
) -> Polynomial | None:
    """Find how one size follows from the symbols' values.

    Args:
        size: the size at ``values``.
        values: the symbols' values where nothing was changed.
        seen: the size with one symbol changed.
        pairs: the size with two symbols changed. Two that were not tried together are taken to
            have nothing to do with one another.

    Returns:
        The simplest that goes through all that was seen: a product such as ``3*D`` or ``A*K``, a
        product and a number (``image_size**2//patch_size**2 + 1``), a sum such as ``L + 2`` or
        ``A*K + 2*A_kv*K``, a square such as ``4*W**2 - 4*W + 1``. ``None`` where none of these
        does.
    """
    moving = {letter: seen[letter] for letter in moving_letters(size, seen)}
    if len(moving) > MOST_LETTERS:
        return None
    one_term = _fit_product(size, values, moving)
    if one_term is not None:
        return one_term
    for candidate in _two_terms(size, values, moving):
        if all(
            candidate.at({**values, one: value, other: other_value}) == both
            for (one, other), (value, other_value, both) in pairs.items()
            if {one, other} <= candidate.letters
        ):
            return candidate.tidied()
    groups = _groups(size, moving, pairs)
    if len(groups) > 1:
        some = [{x: moving[x] for x in moving if x in group} for group in groups]
        parts = [fit(size, values, part, pairs) for part in some]
        known = [part for part in parts if part is not None]
        # Each part holds the others' share of the size as a number.
        shared = Polynomial.constant((len(parts) - 1) * size)
        return (total(known) - shared).tidied() if len(known) == len(parts) else None
    return _expand(size, values, moving, pairs)


def symbols_to_pair(size: int, values: Mapping[str, int], seen: Seen) -> tuple[str, ...]:
    """Return the symbols that have to be changed two at a time to fit the size."""
    moving = {letter: seen[letter] for letter in moving_letters(size, seen)}
    if not 2 <= len(moving) <= MOST_LETTERS or _fit_product(size, values, moving):
        return ()
    return tuple(moving)


def _fit_product(size: int, values: Mapping[str, int], moving: Seen) -> Polynomial | None:
    """Find one term; with a size of 0 there is none to find."""
    if not size:
        return None if moving else Polynomial.constant(0)
    powers = {}
    for letter, points in moving.items():
        for power in POWERS:
            ratios = ((Fraction(point, values[letter]), changed) for point, changed in points)
            if all(changed == size * ratio**power for ratio, changed in ratios):
                powers[letter] = power
                break
        else:
            return None
    return _term(Fraction(size), values, powers)


def _term(size: Fraction, values: Mapping[str, int], powers: Mapping[str, int]) -> Polynomial:
    """Return the term with these powers that has a size."""
    for letter, power in powers.items():
        size /= Fraction(values[letter]) ** power
    return Polynomial.term(size, powers)


def _two_terms(size: int, values: Mapping[str, int], moving: Seen) -> Iterator[Polynomial]:
    """Yield what is the sum of two terms: patches of an image and the class token, D + A_kv*K.

    Each letter leaves some powers open, and all letters must agree on how the size is shared out.
    """
    if len(moving) == 1 and all(len(points) < 2 for points in moving.values()):
        return
    shares = [_shares(size, values[letter], points) for letter, points in moving.items()]
    for first in dict.fromkeys(first for by_first in shares for first in by_first if first):
        choices = [
            sorted([*by_first.get(first, ()), *by_first.get(None, ())], key=_ALL_POWERS.index)
            for by_first in shares
        ]
        for powers in islice(product(*choices), MOST_CHOICES):
            yield total(
                _term(part, values, {k: two[at] for k, two in zip(moving, powers, strict=True)})
                for at, part in enumerate((first, size - first))
            )


def _shares(size: int, value: int, points: Sequence[Point]) -> dict[Fraction | None, list[Powers]]:
    """Return what the first of two terms may be, each with the powers that one letter has then.

    With the letter changed by a ratio r, the terms a and b become a*r**p and b*r**q, which says
    what a is. Under ``None`` are the powers that go with every a: both terms have the same.
    """
    ratios = [
        ({power: Fraction(point, value) ** power for power in _EXPONENTS}, changed)
        for point, changed in points
    ]
    (near, near_size), *_ = ratios
    found: dict[Fraction | None, list[Powers]] = {}
    for p, q in _ALL_POWERS:
        first = None if p == q else (near_size - size * near[q]) / (near[p] - near[q])
        if first in (0, size):
            continue
        a = first or 0
        if all(a * ratio[p] + (size - a) * ratio[q] == changed for ratio, changed in ratios):
            found.setdefault(first, []).append((p, q))
    return found


def _groups(size: int, moving: Seen, pairs: Pairs) -> list[set[str]]:
    """Return the letters in groups that have nothing to do with one another: they only add up."""
    groups = [{letter} for letter in moving]
    for (one, other), pair in pairs.items():
        if one in moving and other in moving and _beyond(size, moving, (one, other), pair):
            mine = next(group for group in groups if one in group)
            others = next(group for group in groups if other in group)
            if mine is not others:
                mine |= others
                groups.remove(others)
    return groups


def _beyond(size: int, moving: Seen, two: tuple[str, str], pair: tuple[int, int, int]) -> int:
    """Return what two letters change together, beyond what each of them changes alone."""
    value, other, both = pair
    return both - dict(moving[two[0]])[value] - dict(moving[two[1]])[other] + size


def _expand(size: int, values: Mapping[str, int], moving: Seen, pairs: Pairs) -> Polynomial | None:
    """Add up what each letter changes with one power of it, and what two change together.

    A letter alone may be squared: ``(2*W - 1)**2``.
    """
    shifts: dict[str, Polynomial] = {}
    parts = [Polynomial.constant(size)]
    for letter, points in moving.items():
        for power in POWERS:
            shift = Polynomial.term(Fraction(1), {letter: power})
            shift -= Polynomial.term(shift.at(values), {})
            slopes = {(changed - size) / shift.at({letter: point}) for point, changed in points}
            if len(slopes) == 1:
                shifts[letter] = shift
                parts.append(Polynomial.term(slopes.pop(), {}) * shift)
                break
        else:
            return _fit_square(size, values[letter], letter, points) if len(moving) == 1 else None
    for two in combinations(moving, 2):
        if two in pairs and (beyond := _beyond(size, moving, two, pairs[two])):
            shift = shifts[two[0]] * shifts[two[1]]
            slope = beyond / shift.at(dict(zip(two, pairs[two][:2], strict=True)))
            parts.append(Polynomial.term(slope, {}) * shift)
    return total(parts)


def _fit_square(size: int, start: int, letter: str, points: Sequence[Point]) -> Polynomial | None:
    """Return the parabola through three points."""
    if len(points) != 2:
        return None
    (near, near_size), (far, far_size) = points
    slope = Fraction(near_size - size, near - start)
    bend = (Fraction(far_size - size, far - start) - slope) / (far - near)
    rest = size - slope * start + bend * near * start
    powers = ((2, bend), (1, slope - bend * (near + start)), (0, rest))
    return total(Polynomial.term(value, {letter: power}) for power, value in powers)
