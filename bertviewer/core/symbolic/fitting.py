"""Fits one size as a polynomial of symbols, from models with one and two of them changed.

A fit gives every size that was observed; whether it is right elsewhere is for ``solver`` to verify.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        if _goes_through(candidate, values, pairs):
            return candidate.tidied()
    groups = _groups(size, moving, pairs)
    if len(groups) > 1:
        parts = [
            fit(size, values, {k: moving[k] for k in moving if k in group}, pairs)
            for group in groups
        ]
        known = [part for part in parts if part is not None]
        # Each part holds the others' share of the size as a number.
        shared = Polynomial.constant((len(parts) - 1) * size)
        return (total(known) - shared).tidied() if len(known) == len(parts) else None
    slopes = _slopes(size, values, moving)
    if slopes is None:
        return _fit_square(size, values, moving) if len(moving) == 1 else None
    return _fit_sum(size, values, slopes, _together(size, values, slopes, moving, pairs))


def symbols_to_pair(size: int, values: Mapping[str, int], seen: Seen) -> tuple[str, ...]:
    """Return the symbols that have to be changed two at a time to fit the size."""
    moving = {letter: seen[letter] for letter in moving_letters(size, seen)}
    if not 2 <= len(moving) <= MOST_LETTERS or _fit_product(size, values, moving):
        return ()
    return tuple(moving)


def _groups(size: int, moving: Seen, pairs: Pairs) -> list[set[str]]:
    """Return the letters in groups that have nothing to do with one another: they only add up."""
    groups = [{letter} for letter in moving]
    for (one, other), (value, other_value, both) in pairs.items():
        if one not in moving or other not in moving:
            continue
        if both - dict(moving[one])[value] - dict(moving[other])[other_value] + size:
            mine = next(group for group in groups if one in group)
            others = next(group for group in groups if other in group)
            if mine is not others:
                mine |= others
                groups.remove(others)
    return groups


def _goes_through(found: Polynomial, values: Mapping[str, int], pairs: Pairs) -> bool:
    """Return whether a fit gives the sizes observed with two symbols changed."""
    return all(
        found.at({**values, one: value, other: other_value}) == size
        for (one, other), (value, other_value, size) in pairs.items()
        if {one, other} <= found.letters
    )


def _fit_product(size: int, values: Mapping[str, int], moving: Seen) -> Polynomial | None:
    """Find one term; with a size of 0 there is none to find."""
    if not size:
        return None if moving else Polynomial.constant(0)
    powers = {}
    for letter, points in moving.items():
        power = next((p for p in POWERS if _multiplies(size, values[letter], points, p)), None)
        if power is None:
            return None
        powers[letter] = power
    return _fit_term(Fraction(size), values, powers)


def _multiplies(size: int, value: int, points: Iterable[Point], power: int) -> bool:
    return all(changed == size * Fraction(point, value) ** power for point, changed in points)


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
                _fit_term(part, values, {k: two[at] for k, two in zip(moving, powers, strict=True)})
                for at, part in enumerate((first, size - first))
            )


def _shares(size: int, value: int, points: Sequence[Point]) -> dict[Fraction | None, list[Powers]]:
    """Return what the first of two terms may be, each with the powers that one letter has then.

    With the letter changed by a ratio r, the terms a and b become a*r**p and b*r**q, which says
    what a is. Under ``None`` stand the powers that go with every a: both terms have the same.
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


def _fit_term(size: Fraction, values: Mapping[str, int], powers: Mapping[str, int]) -> Polynomial:
    for letter, power in powers.items():
        size /= Fraction(values[letter]) ** power
    return Polynomial.term(size, powers)


Slopes = Mapping[str, tuple[int, Fraction]]
"""For each letter a power, and how much the size grows with that power of it."""


def _slopes(size: int, values: Mapping[str, int], moving: Seen) -> Slopes | None:
    slopes = {}
    for letter, points in moving.items():
        for power in POWERS:
            start = Fraction(values[letter]) ** power
            found = {
                (changed - size) / (Fraction(point) ** power - start) for point, changed in points
            }
            if len(found) == 1:
                slopes[letter] = power, found.pop()
                break
        else:
            return None
    return slopes


def _together(
    size: int, values: Mapping[str, int], slopes: Slopes, moving: Seen, pairs: Pairs
) -> dict[tuple[str, str], Fraction]:
    """Return the coefficients of products of two letters."""
    found = {}
    for two in combinations(moving, 2):
        if two not in pairs:
            continue
        *points, both = pairs[two]
        alone = [dict(moving[letter])[point] for letter, point in zip(two, points, strict=True)]
        beyond = Fraction(both - sum(alone) + size)
        if beyond:
            for letter, point in zip(two, points, strict=True):
                power = slopes[letter][0]
                beyond /= Fraction(point) ** power - Fraction(values[letter]) ** power
            found[two] = beyond
    return found


def _fit_sum(
    size: int,
    values: Mapping[str, int],
    slopes: Slopes,
    crossed: Mapping[tuple[str, str], Fraction],
) -> Polynomial:
    """Add up what each letter brings alone, what two bring together, and the rest."""
    powers = {letter: power for letter, (power, _) in slopes.items()}
    bases = {letter: Fraction(values[letter]) ** power for letter, power in powers.items()}
    terms, rest = [], Fraction(size)
    for letter, (power, slope) in slopes.items():
        with_others = (
            value * bases[two[1] if letter == two[0] else two[0]]
            for two, value in crossed.items()
            if letter in two
        )
        alone = slope - sum(with_others)
        terms.append(Polynomial.term(alone, {letter: power}))
        rest -= alone * bases[letter]
    for (one, other), value in crossed.items():
        terms.append(Polynomial.term(value, {one: powers[one], other: powers[other]}))
        rest -= value * bases[one] * bases[other]
    return total((*terms, Polynomial.term(rest, {})))


def _fit_square(size: int, values: Mapping[str, int], moving: Seen) -> Polynomial | None:
    """Find the parabola of one letter through three points: ``(2*W - 1)**2``."""
    ((letter, points),) = moving.items()
    if len(points) != 2:
        return None
    start = values[letter]
    (near, near_size), (far, far_size) = points
    near_slope = Fraction(near_size - size, near - start)
    bend = (Fraction(far_size - size, far - start) - near_slope) / (far - near)
    slope = near_slope - bend * (near + start)
    rest = size - slope * start - bend * start**2
    return total(
        Polynomial.term(value, {letter: power})
        for power, value in ((2, bend), (1, slope), (0, rest))
    )
