"""Conditions under which formulas may hold: candidates, exact divisions, and fixed values."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import is_met, names_in_conditions
from bertviewer.core.expressions.polynomials import Monomial, Polynomial
from bertviewer.core.expressions.symbols import (
    Symbol,
    config_part,
    dimension_kind,
    is_standard,
    is_width,
    standard_name,
)
from bertviewer.core.symbolic.models import (
    ModelBuilder,
    ModelSizes,
    Values,
    enclosing_modules,
    refused_items,
    without_numbers,
)
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.perturbations import SMALL, Perturbations, Probe
from bertviewer.core.util.budget import OverBudget

Conditions = tuple[str, ...]
"""One condition last, after those without which it has no meaning."""

_DOUBLINGS = 7
"""Doublings of a step to find the multiple to which a model rounds a number."""


class ConditionCandidates(Struct, frozen=True):
    """Generates the conditions that a change may have broken.

    Attributes:
        observed: the models that formulas were fitted to.
        symbols: all numbers of the configuration.
        perturbations: with the known divisors.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    perturbations: Perturbations

    def broken_by(self, probe: Probe, used: Collection[str]) -> Iterator[Conditions]:
        """Yield conditions that a changed model breaks and the real one meets, likely ones first.

        Args:
            probe: the changed model.
            used: the symbols of a formula that is wrong for it.
        """
        # Numbers that select a variant of the model come before sizes.
        order = sorted(probe.changed, key=lambda x: (x in used, is_standard(self.symbols[x])))
        fixed = ((f"{x} == {self.observed.values[x]}",) for x in order if self.is_fixable(x))
        points = (self.observed.values, {x: s.value for x, s in self.symbols.items()})
        others = () if self._is_choice(probe) else self._of_sizes(probe, used)
        for texts in (*others, *fixed):
            if not probe.meets(texts) and all(is_met(text, at) for text in texts for at in points):
                yield texts

    def _is_choice(self, probe: Probe) -> bool:
        """Return whether only a small number is changed, which selects parts of the model.

        Other values, not all of which are tried, may select parts of other blocks.
        """
        (name, *others), symbols = probe.changed, self.symbols
        is_small = symbols[name].value <= SMALL and dimension_kind(symbols[name]) == "width"
        return (
            not others
            and is_small
            and not standard_name(symbols[name])
            and self.is_fixable(name)
            and probe.facts.keys() != self.observed.base.facts.keys()
        )

    def multiples_near(self, name: str) -> Iterator[int]:
        """Yield further values of a symbol: one step more, two steps, four and so on.

        Small numbers stay small, as they may count parts of a model.
        """
        value = self.observed.values[name]
        step = 0 if self.is_depth(name) else self.perturbations.step(name)
        doublings = 1 if value <= SMALL else _DOUBLINGS
        for doubling in range(doublings + 1 if step else 0):
            yield value + (step << doubling)

    def _of_sizes(self, probe: Probe, used: Collection[str]) -> Iterator[Conditions]:
        """Yield divisibilities, multiples, equalities, inequalities and minima."""
        base = self.observed.values
        for texts in self._divisions(used):
            if not names_in_conditions(texts[-1]).isdisjoint(probe.changed):
                yield texts
        changed = {x: value for x, value in probe.changed.items() if not self.is_depth(x)}
        for name in changed:
            step = self.perturbations.step(name)
            for doubling in range(_DOUBLINGS + 1):
                yield (f"{name} % {step << doubling} == 0",)
        for name in changed:
            for other in self._like(name):
                is_equal = base[other] == base[name]
                yield (ratio(other, name, base) if is_equal else f"{name} != {other}",)
        for name, value in changed.items():
            yield from ((f"{name} >= {least}",) for least in (value + 1, base[name]))

    def _divisions(self, used: Collection[str]) -> Iterator[Conditions]:
        """Yield divisibilities by known or likely divisors, by multiples of them, by quotients.

        Rotary positions need heads of an even size, or halves of an even size.
        """
        symbols, values = self.symbols, self.observed.values
        divisors, parts = self.perturbations.divisors, self.perturbations.divisor_names
        parts |= {name for name, symbol in symbols.items() if dimension_kind(symbol) == "heads"}

        def is_near(whole: str, part: str) -> bool:
            is_size = dimension_kind(symbols[whole]) != "layers" and whole != part
            is_like = is_size and config_part(symbols[whole]) == config_part(symbols[part])
            return is_like and values[whole] % values[part] == 0

        # A width that has to keep its value is in no formula, but is still divided by the heads.
        widths = (name for name, symbol in symbols.items() if is_width(symbol))
        for whole in dict.fromkeys((*divisors, *sorted(used), *widths)):
            known = parts & divisors.get(whole, frozenset())
            near = {part for part in parts - known if is_near(whole, part)}
            for part in (*sorted(known), *sorted(near)):
                for divisor in (part, *(f"({times}*{part})" for times in (2, 4, 8))):
                    yield (f"{whole} % {divisor} == 0",)
                for other in sorted(divisors.get(part, ())):
                    needed = f"{part} % {other} == 0"
                    yield needed, f"{whole} % ({part}//{other}) == 0"
                    yield needed, f"{whole} % (2*{part}//{other}) == 0"

    def _like(self, name: str) -> list[str]:
        """Return the symbols of the same kind and part, widths of the hidden state first."""

        def kind(symbol: Symbol) -> tuple[str, str]:
            return dimension_kind(symbol), config_part(symbol)

        ours = kind(self.symbols[name])
        like = [x for x, other in self.symbols.items() if x != name and kind(other) == ours]
        return sorted(like, key=lambda other: not is_width(self.symbols[other]))

    def is_depth(self, name: str) -> bool:
        """Return whether a symbol changes the number of modules."""
        return self.observed.is_depth(self.symbols[name])

    def is_fixable(self, name: str) -> bool:
        """Return whether a condition may fix a symbol to its real value.

        Not depths, for which another round derives formulas without them.
        """
        is_real = self.symbols[name].value == self.observed.values[name]
        return is_real and not self.is_depth(name)


def ratio(first: str, other: str, values: Values) -> str:
    """Return the condition that two symbols keep their ratio: ``D == 32*mamba_n_heads``."""
    one, two = values[first], values[other]
    if one == two:
        return f"{other} == {first}"
    if one % two == 0:
        return f"{first} == {one // two}*{other}"
    if two % one == 0:
        return f"{other} == {two // one}*{first}"
    return f"{two}*{first} == {one}*{other}"


def constant_conditions(
    symbols: Iterable[Symbol], points: Collection[Values], used: Collection[str] = ()
) -> Iterator[str]:
    """Yield the condition for each number that was not varied that it keeps its value.

    Args:
        symbols: the numbers.
        points: all numbers' values in each model, the real one first.
        used: symbols of formulas; a number that was always equal to one has to equal it.
    """
    rows = {s.name: [values[s.name] for values in points] for s in symbols}
    fixed = {name for name, row in rows.items() if len(set(row)) == 1}
    yield from (f"{name} == {row[0]}" for name, row in rows.items() if name in fixed)
    for name in sorted(set(used) & rows.keys() - fixed):
        yield from (f"{x} == {name}" for x, row in rows.items() if x != name and row == rows[name])


def divisibility_conditions(
    sizes: Iterable[Polynomial], values: Values, symbols: Mapping[str, Symbol]
) -> list[str]:
    """Return the conditions under which the divisions of formulas are exact.

    A model rounds each division, as in ``(image_size // patch_size)**2`` patches. A formula is
    right if there is no remainder, which is a condition on the divided symbols.

    Args:
        sizes: the formulas.
        values: the symbols' values in a model in which the divisions are exact.
        symbols: by name.
    """
    found: list[str] = []
    for size in sizes:
        if size.terms.get((), Fraction(0)).denominator != 1:
            # A constant that is no integer is part of one division: (D - 1)//2.
            whole = lcm(*(value.denominator for value in size.terms.values()))
            above = Polynomial({monomial: value * whole for monomial, value in size.terms.items()})
            found.append(f"({above}) % {whole} == 0")
            continue
        for monomial, coefficient in size.terms.items():
            found += _term_divisibility(monomial, coefficient, values, symbols)
    return list(dict.fromkeys(found))


def _term_divisibility(
    monomial: Monomial, coefficient: Fraction, values: Values, symbols: Mapping[str, Symbol]
) -> list[str]:
    """Return a condition on one factor for each divisor, else one on the whole product."""
    above = {name: power for name, power in monomial if power > 0}
    below = {name: -power for name, power in monomial if power < 0}
    divisors = [(name, values[name]) for name, power in below.items() for _ in range(power)]
    if coefficient.denominator != 1:
        divisors.append((str(coefficient.denominator), coefficient.denominator))
    # Inputs of a forward pass come last, as no formula may have conditions on them.
    order = sorted(above, key=lambda x: (not symbols[x].key, not is_width(symbols[x])))
    left, found = dict(above), list[str]()
    for name, value in divisors:
        factor = next((x for x in order if left[x] and value and not values[x] % value), None)
        if factor is None:
            product = Polynomial.term(Fraction(abs(coefficient.numerator)), above)
            divided_by = str(Polynomial.term(Fraction(coefficient.denominator), below))
            return [f"{product} % {f'({divided_by})' if '*' in divided_by else divided_by} == 0"]
        left[factor] -= 1
        found.append(f"{factor} % {name} == 0")
    return found


def value_conditions(
    builder: ModelBuilder,
    start: ModelSizes,
    numbers: Sequence[Symbol],
    values: Values = MappingProxyType({}),
) -> dict[str, dict[str, None]]:
    """Return the conditions that numbers keep their values, by the formulas that need them.

    The numbers are ids, indices of layers, zeros and depths. All are changed by one at the same
    time, and if the model differs or refuses this, groups of them are bisected.

    Args:
        builder: builds the models.
        start: the unchanged model.
        numbers: the numbers to change.
        values: values of other symbols in ``start`` that differ from the real ones.

    Raises:
        OverBudget: a limit was reached, and not all numbers are among the builder's symbols.
    """
    every = replace(builder, symbols=tuple(dict.fromkeys((*builder.symbols, *numbers))))
    others = {(x, value) for x, value in values.items() if value != every.values[x]}
    wrong: list[Symbol] = []
    try:
        for by in (1, -1):

            def changes_nothing(some: Sequence[Symbol], by: int = by) -> bool:
                change = {s.name: s.value + by for s in some}
                model = every.variant({**every.values, **values, **change})
                return model is not None and not _affected(start, model)

            wrong += refused_items((s for s in numbers if s.value + by >= 0), changes_nothing)
    except OverBudget:
        if not {*numbers} <= {*builder.symbols}:
            raise
        wrong += numbers  # decided below by the models that were built
    found: dict[str, dict[str, None]] = {}
    for symbol in dict.fromkeys(wrong):
        models = [
            model
            for key, model in builder.built.items()
            if model and others <= key and dict(key - others).keys() == {symbol.name}
        ]
        names = set[str]().union(*(_affected(start, model) for model in models))
        is_held = not models and symbol in builder.symbols
        for name in start.facts if is_held else sorted(names):
            found.setdefault(name, {})[f"{symbol.name} == {symbol.value}"] = None
    return found


def _affected(real: ModelSizes, model: ModelSizes) -> set[str]:
    """Return the names whose sizes differ in a changed model, and the same ones of other layers."""
    facts, now = real.facts, model.facts
    like = {without_numbers(name) for name in facts.keys() & now.keys() if now[name] != facts[name]}
    lists = {path for path, n in real.lengths.items() if model.lengths.get(path, 0) != n}
    return {
        path
        for name in facts
        if without_numbers(name) in like or not lists.isdisjoint((name, *enclosing_modules(name)))
        for path in (name, *enclosing_modules(name))
    }
