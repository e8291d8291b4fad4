"""Fits one size as a polynomial of symbols, from models with one and two of them changed.

A fit is exact for every observed size; ``solver`` verifies it for others.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice, product
from types import MappingProxyType

from bertviewer.core.expressions.polynomials import Polynomial, total

Point = tuple[int, int]
"""A changed value of a symbol, and the size for it."""

Seen = Mapping[str, tuple[Point, ...]]
"""The sizes observed when one symbol is changed, by symbol."""

Pairs = Mapping[tuple[str, str], tuple[int, int, int]]
"""By two symbols: their changed values, and the size for both."""

POWERS = (1, -1, 2, -2, 3, -3)
"""Powers that are tried: of widths, heads that divide them, image sizes, patches, strides."""

Powers = tuple[int, int]
"""The powers of a symbol in the first and in the second of two terms."""

_EXPONENTS = (0, *POWERS)
_ALL_POWERS: tuple[Powers, ...] = tuple((p, q) for p in _EXPONENTS for q in _EXPONENTS)

MAX_CHOICES = 64
"""Limit of the ways to distribute symbols over two terms."""

MAX_VARYING = 6
"""A size that depends on more symbols has no formula."""


def varying_names(size: int, seen: Seen) -> tuple[str, ...]:
    """Return the symbols whose changes change the size."""
    return tuple(
        name for name, points in seen.items() if any(changed != size for _, changed in points)
    )


def fit(
    size: int, values: Mapping[str, int], seen: Seen, pairs: Pairs = MappingProxyType({})
) -> Polynomial | None:
    """Fit a size as a polynomial of symbols.

    Args:
        size: the size at ``values``.
        values: the unchanged values of the symbols.
        seen: the sizes with one symbol changed.
        pairs: the sizes with two symbols changed. Other pairs are assumed not to interact.

    Returns:
        The simplest polynomial that fits all points: a product such as ``3*D`` or ``A*K``, a
        product and a number (``image_size**2//patch_size**2 + 1``), a sum such as ``L + 2`` or
        ``A*K + 2*A_kv*K``, a square such as ``4*W**2 - 4*W + 1``. ``None`` if none of these fits.
    """
    varying = {name: seen[name] for name in varying_names(size, seen)}
    if len(varying) > MAX_VARYING:
        return None
    one_term = _fit_product(size, values, varying)
    if one_term is not None:
        return one_term
    for candidate in _two_terms(size, values, varying):
        if all(
            candidate.at({**values, one: value, other: other_value}) == both
            for (one, other), (value, other_value, both) in pairs.items()
            if {one, other} <= candidate.symbols
        ):
            return candidate.tidied()
    groups = _groups(size, varying, pairs)
    if len(groups) > 1:
        some = [{x: varying[x] for x in varying if x in group} for group in groups]
        parts = [fit(size, values, part, pairs) for part in some]
        known = [part for part in parts if part is not None]
        # Each part contains the share of the others as a constant.
        shared = Polynomial.constant((len(parts) - 1) * size)
        return (total(known) - shared).tidied() if len(known) == len(parts) else None
    return _expand(size, values, varying, pairs)


def symbols_to_pair(size: int, values: Mapping[str, int], seen: Seen) -> tuple[str, ...]:
    """Return the symbols that must be changed in pairs to fit the size."""
    varying = {name: seen[name] for name in varying_names(size, seen)}
    if not 2 <= len(varying) <= MAX_VARYING or _fit_product(size, values, varying):
        return ()
    return tuple(varying)


def _fit_product(size: int, values: Mapping[str, int], varying: Seen) -> Polynomial | None:
    """Fit one term; there is none for a size of 0."""
    if not size:
        return None if varying else Polynomial.constant(0)
    powers = {}
    for name, points in varying.items():
        for power in POWERS:
            ratios = ((Fraction(point, values[name]), changed) for point, changed in points)
            if all(changed == size * ratio**power for ratio, changed in ratios):
                powers[name] = power
                break
        else:
            return None
    return _term(Fraction(size), values, powers)


def _term(size: Fraction, values: Mapping[str, int], powers: Mapping[str, int]) -> Polynomial:
    """Return the term with these powers whose value is ``size``."""
    for name, power in powers.items():
        size /= Fraction(values[name]) ** power
    return Polynomial.term(size, powers)


def _two_terms(size: int, values: Mapping[str, int], varying: Seen) -> Iterator[Polynomial]:
    """Yield sums of two terms: patches of an image and the class token, D + A_kv*K.

    Each symbol allows some powers; all must agree on the values of the two terms.
    """
    if len(varying) == 1 and all(len(points) < 2 for points in varying.values()):
        return
    shares = [_shares(size, values[name], points) for name, points in varying.items()]
    for first in dict.fromkeys(first for by_first in shares for first in by_first if first):
        choices = [
            sorted([*by_first.get(first, ()), *by_first.get(None, ())], key=_ALL_POWERS.index)
            for by_first in shares
        ]
        for powers in islice(product(*choices), MAX_CHOICES):
            yield total(
                _term(part, values, {k: two[at] for k, two in zip(varying, powers, strict=True)})
                for at, part in enumerate((first, size - first))
            )


def _shares(size: int, value: int, points: Sequence[Point]) -> dict[Fraction | None, list[Powers]]:
    """Return possible values of the first of two terms, with the powers of one symbol for each.

    When the symbol is multiplied by r, terms a and b become a*r**p and b*r**q, which determines a.
    Under ``None`` are powers that allow every a, as both terms have the same.
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


def _groups(size: int, varying: Seen, pairs: Pairs) -> list[set[str]]:
    """Return the symbols in groups that do not interact: their effects are added."""
    groups = [{name} for name in varying]
    for (one, other), pair in pairs.items():
        if one in varying and other in varying and _interaction(size, varying, (one, other), pair):
            mine = next(group for group in groups if one in group)
            others = next(group for group in groups if other in group)
            if mine is not others:
                mine |= others
                groups.remove(others)
    return groups


def _interaction(size: int, varying: Seen, two: tuple[str, str], pair: tuple[int, int, int]) -> int:
    """Return the interaction of two symbols: the effect of both minus that of each."""
    value, other, both = pair
    return both - dict(varying[two[0]])[value] - dict(varying[two[1]])[other] + size


def _expand(size: int, values: Mapping[str, int], varying: Seen, pairs: Pairs) -> Polynomial | None:
    """Fit a sum of one power of each symbol and of interactions of two.

    A single symbol may also have a square: ``(2*W - 1)**2``.
    """
    shifts: dict[str, Polynomial] = {}
    parts = [Polynomial.constant(size)]
    for name, points in varying.items():
        for power in POWERS:
            shift = Polynomial.term(Fraction(1), {name: power})
            shift -= Polynomial.term(shift.at(values), {})
            slopes = {(changed - size) / shift.at({name: point}) for point, changed in points}
            if len(slopes) == 1:
                shifts[name] = shift
                parts.append(Polynomial.term(slopes.pop(), {}) * shift)
                break
        else:
            return _fit_square(size, values[name], name, points) if len(varying) == 1 else None
    for two in combinations(varying, 2):
        if two in pairs and (interaction := _interaction(size, varying, two, pairs[two])):
            shift = shifts[two[0]] * shifts[two[1]]
            slope = interaction / shift.at(dict(zip(two, pairs[two][:2], strict=True)))
            parts.append(Polynomial.term(slope, {}) * shift)
    return total(parts)


def _fit_square(size: int, start: int, name: str, points: Sequence[Point]) -> Polynomial | None:
    """Return the parabola through three points."""
    if len(points) != 2:
        return None
    (near, near_size), (far, far_size) = points
    slope = Fraction(near_size - size, near - start)
    bend = (Fraction(far_size - size, far - start) - slope) / (far - near)
    rest = size - slope * start + bend * near * start
    powers = ((2, bend), (1, slope - bend * (near + start)), (0, rest))
    return total(Polynomial.term(value, {name: power}) for power, value in powers)
