"""Formulas of every tensor's shape and every module's number of parameters.

No family is known here. The model is built again on the meta device with one number of its
configuration changed at a time; a dimension that changes with the number is written with its
symbol, and a list of blocks as so many times the last one. The formulas are then verified on
models that no fit has seen (see ``solver``). What has no formula keeps its plain number.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import lcm
from typing import Any

from bertviewer.core.budget import OverBudget
from bertviewer.core.expressions.domains import joined, letters_in
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.expressions.grouping import Relation, substituted
from bertviewer.core.expressions.letters import LABELS_KEY
from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_standard,
    others_of,
    quantity_of,
    symbols_of,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.symbolic.divisibility import of_shapes
from bertviewer.core.symbolic.model_formulas import (
    Shape,
    count_modules,
    fit_repeats,
    fit_shapes,
    template_path,
    unfitted,
    unfitted_reasons,
)
from bertviewer.core.symbolic.models import (
    TENSOR,
    Build,
    ModelBuilder,
    ModelSizes,
    Values,
    blanked,
    owners,
)
from bertviewer.core.symbolic.observations import Observations, observe
from bertviewer.core.symbolic.probes import PROOFS
from bertviewer.core.symbolic.solver import Formulas, Solver

ROUNDS = 3
"""Depths that no formula follows are fixed in the second round, and all depths in the third."""


@frozen
class Derivation:
    """The formulas of one model.

    Attributes:
        symbols: those in the formulas and conditions, and the standard ones of the configuration.
        shapes: each tensor's dimensions, such as ``("V", "D")``, ``("3*D", "D")``; plain numbers
            without a verified formula. They hold under the conditions of the tensor's module.
        counts: each module's number of elements, a tied tensor counted at its first name, as an
            expression of ``evaluation``; the plain number without a verified formula.
        domains: the conditions under which a module's formula holds, as of
            ``expressions.domains``; a module without an entry has none.
        unproven: why the count of a module is a plain number.
    """

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, str]
    domains: Mapping[str, str]
    unproven: Mapping[str, str]


@frozen
class _Round:
    """What was found with some depths fixed, by the names of the real model.

    Attributes:
        observed: what the formulas were fitted to.
        proven: the verified formulas.
        conditions: what has to be met for them to hold.
        reasons: why the others are not verified.
        unfollowed: depths for whose other values no formula could be found.
    """

    observed: Observations
    proven: Formulas
    conditions: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str]
    unfollowed: frozenset[str]


def derive(config: Mapping[str, Any], build: Build, progress: Progress = no_progress) -> Derivation:
    """Derive and verify the symbolic shapes and counts of a model.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises is raised here.

    Raises:
        Exception: whatever ``build`` raises for ``config`` itself.
    """
    symbols, others = symbols_of(config), others_of(config)
    # The real model, the base, about two changes for each number, and the probes.
    expected = 10 + 2 * len(symbols) + PROOFS
    builder = ModelBuilder(config, symbols, build, ModelSizes.of, progress, expected)
    real = builder.real()
    depths = frozenset(s.letter for s in symbols if quantity_of(s) == "layers")
    fixed = frozenset[str]()
    limits = _limits_of_others(builder, real, others)
    rounds: list[tuple[_Round, frozenset[str]]] = []
    for number in range(ROUNDS):
        free = tuple(symbol for symbol in symbols if symbol.letter not in fixed)
        try:
            found = _explain(
                replace(builder, symbols=free),
                real,
                collect=bool(fixed),
                is_last=number == ROUNDS - 1,
            )
        except OverBudget:
            if not rounds:
                raise
            break  # what the rounds before found is kept
        rounds.append((found, fixed))
        more = (found.unfollowed if number == 0 else depths) - fixed or depths - fixed
        if not found.reasons or not more:
            break
        fixed |= more
    best, fixed = max(rounds, key=lambda each: len(each[0].proven))
    depth_limits = _limits_of_fixed(builder, real, (s for s in symbols if s.letter in fixed))
    proven, observed = best.proven, rounds[0][0].observed
    conditions = {
        name: (*best.conditions.get(name, ()), *limits.get(name, ()), *depth_limits.get(name, ()))
        for name in real.facts
    }
    known = {
        name: _with_fixed(proven[name], conditions[name], builder.values)
        if name in proven
        else tuple(map(str, fact))
        for name, fact in real.facts.items()
    }
    domains = {path: joined(conditions[path]) for path in real.sizes}
    symbols = tuple(replace(s, variable=observed.variable_of(s.letter)) for s in symbols)
    return Derivation(
        _shown((*symbols, *others), known.values(), domains.values()),
        {name: known[TENSOR + name] for name in real.shapes},
        {path: known[path][0] for path in real.sizes},
        {path: domain for path, domain in domains.items() if domain is not None},
        {path: best.reasons[path] for path in real.sizes if path in best.reasons},
    )


def _explain(builder: ModelBuilder, real: ModelSizes, *, collect: bool, is_last: bool) -> _Round:
    """Fit and verify formulas with all of a builder's symbols.

    Args:
        builder: builds the models.
        real: the model itself.
        collect: whether equal blocks are written as so many times one.
        is_last: whether formulas are searched even if some depths have to be fixed.
    """
    observed = observe(builder, real, every_kind=True)
    repeats, shapes = fit_repeats(observed), fit_shapes(observed)
    if (unfitted := _unfitted_depths(builder, observed, shapes, repeats)) and not is_last:
        return _Round(observed, {}, {}, {"": "the depths follow no formula"}, unfitted)
    lengths = {path: observed.base.lengths[path] for path in repeats}
    counts = count_modules(observed.base, shapes, repeats, collect=collect)
    formulas = {
        **{TENSOR + name: tuple(map(str, shape)) for name, shape in shapes.items()},
        **{path: (str(count),) for path, count in counts.items()},
    }
    solver = Solver(
        builder,
        observed,
        formulas,
        lambda model: model.facts,
        lambda name: template_path(name, lengths),
    )
    divisibility = of_shapes(shapes, builder.symbols)
    steps, powers = _denominators(shapes.values())
    found = solver.solve({TENSOR + n: texts for n, texts in divisibility.items()}, steps, powers)
    reasons = {**unfitted_reasons(observed, shapes), **found.reasons}
    proven: dict[str, tuple[str, ...]] = {}
    missing: dict[str, str] = {}
    for name, fact in real.facts.items():
        template = template_path(name, lengths)
        if template not in found.proven:
            missing[name] = reasons.get(template, "a part of it has no formula")
        elif not _gives(found.proven[template], fact, builder.values):
            missing[name] = "its formula is wrong for the real model"
        else:
            proven[name] = found.proven[template]
    lengthening = dict[str, list[str]]()
    for path, letter in _lengthening(builder, observed):
        lengthening.setdefault(path, []).append(f"{letter} == {builder.values[letter]}")
    conditions = {
        name: (
            *found.conditions.get(template_path(name, lengths), ()),
            # In a list whose length has no formula a number may mean another block elsewhere.
            *(x for path in owners(name) if path not in proven for x in lengthening.get(path, ())),
        )
        for name in proven
    }
    return _Round(observed, proven, conditions, missing, found.unfollowed | unfitted)


def _with_fixed(
    formula: tuple[str, ...], conditions: Iterable[str], values: Values
) -> tuple[str, ...]:
    """Return a formula with the values of its symbols that have to keep them."""
    fixed = {x for part in formula for x in letters_of(part) if f"{x} == {values[x]}" in conditions}
    if not fixed:
        return formula
    numbers = [Relation(letter, str(values[letter]), "") for letter in fixed]
    return tuple(substituted(part, numbers) for part in formula)


def _unfitted_depths(
    builder: ModelBuilder,
    observed: Observations,
    shapes: Mapping[str, Shape],
    repeats: Mapping[str, Polynomial],
) -> frozenset[str]:
    """Return the depths that change what could not be fitted."""
    changing = {x for _, text in unfitted(observed, shapes).values() for x in text.split(", ")}
    changing |= {x for path, x in _lengthening(builder, observed) if path not in repeats}
    depths = {symbol.letter for symbol in builder.symbols if quantity_of(symbol) == "layers"}
    return frozenset(x for x in changing if x in depths or observed.changes_depth(x))


def _lengthening(builder: ModelBuilder, observed: Observations) -> dict[tuple[str, str], None]:
    """Return the lists and the symbols that were seen to change their lengths."""
    base = observed.base.lengths
    return {
        (path, next(iter(changed))): None
        for values, model in _models(builder)
        if len(changed := {x for x, value in values.items() if value != observed.values[x]}) == 1
        for path, length in base.items()
        if model.lengths.get(path, 0) != length
    }


def _models(builder: ModelBuilder) -> Iterator[tuple[Values, ModelSizes]]:
    """Yield the models that were built with the builder's symbols alone, with their values."""
    for key, model in list(builder.built.items()):
        if model is not None and {letter for letter, _ in key} <= builder.values.keys():
            yield {**builder.values, **dict(key)}, model


def _denominators(shapes: Iterable[Shape]) -> tuple[dict[str, int], dict[str, int]]:
    """Return what formulas divide terms with each symbol by, and the highest power divided by."""
    steps: dict[str, int] = {}
    powers: dict[str, int] = {}
    for shape in shapes:
        for dimension in shape:
            for letters, coefficient in dimension.terms.items():
                for letter, power in letters:
                    steps[letter] = lcm(steps.get(letter, 1), coefficient.denominator)
                    powers[letter] = max(powers.get(letter, 1), -power)
    return steps, powers


def _gives(formula: tuple[str, ...], fact: tuple[int, ...], values: Values) -> bool:
    try:
        return tuple(evaluate(part, values) for part in formula) == fact
    except FormulaError:
        return False


def _limits_of_others(
    builder: ModelBuilder, real: ModelSizes, others: tuple[Symbol, ...]
) -> dict[str, list[str]]:
    """Return which formulas need which of the numbers that are no sizes, such as ids, by name.

    They are changed by one, all of them at once, and fewer where a model differs or refuses them.
    """
    found: dict[str, list[str]] = {}
    values = {symbol.letter: symbol.value for symbol in (*builder.symbols, *others)}
    for by in (1, -1):
        waiting = [[other for other in others if other.value + by >= 0]]
        while waiting:
            some = waiting.pop()
            moved = {other.letter: other.value + by for other in some}
            model = builder.variant({**values, **moved}, others)
            if model is not None and model.facts == real.facts:
                continue
            if len(some) > 1:
                middle = len(some) // 2
                waiting += [some[:middle], some[middle:]]
            elif some and model is not None:
                _limit(found, some[0], _affected(real, model))
    return found


def _limits_of_fixed(
    builder: ModelBuilder, real: ModelSizes, fixed: Iterable[Symbol]
) -> dict[str, list[str]]:
    """Return which formulas need which of the sizes that they do not follow, by name."""
    found: dict[str, list[str]] = {}
    for symbol in fixed:
        with suppress(OverBudget):
            for by in (1, -1):
                builder.variant({**builder.values, symbol.letter: symbol.value + by})
        alone = [
            model
            for key, model in builder.built.items()
            if model is not None and {letter for letter, _ in key} == {symbol.letter}
        ]
        for model in alone:
            _limit(found, symbol, _affected(real, model))
        if not alone:
            _limit(found, symbol, real.facts)
    moved_ever = {x for key, model in builder.built.items() if model for x, _ in key}
    for symbol in builder.symbols:
        if symbol.letter not in moved_ever:
            _limit(found, symbol, real.facts)  # it may matter to everything
    return found


def _limit(found: dict[str, list[str]], symbol: Symbol, names: Iterable[str]) -> None:
    condition = f"{symbol.letter} == {symbol.value}"
    for name in names:
        if condition not in (texts := found.setdefault(name, [])):
            texts.append(condition)


def _affected(real: ModelSizes, model: ModelSizes) -> Iterator[str]:
    """Yield the names that have another size in a changed model, and those that may in others.

    What one more changes in one layer, some more may change in another.
    """
    facts, now = real.facts, model.facts
    like = {blanked(name) for name in facts.keys() & now.keys() if now[name] != facts[name]}
    lists = {path for path, n in real.lengths.items() if model.lengths.get(path, 0) != n}
    affected: dict[str, None] = {}
    for name in facts:
        around = list(owners(name))
        if blanked(name) in like or not lists.isdisjoint((name, *around)):
            affected |= dict.fromkeys((name, *around))
    yield from affected


def _shown(
    symbols: Iterable[Symbol],
    formulas: Iterable[tuple[str, ...]],
    domains: Iterable[str | None],
) -> tuple[Symbol, ...]:
    """Return the symbols in formulas and conditions, those that follow one, and the standard ones.

    The number of heads changes no count, and is standard; the labels only where they count.
    """
    used = {letter for formula in formulas for text in formula for letter in letters_of(text)}
    used = used.union(*map(letters_in, domains))
    return tuple(
        symbol
        for symbol in symbols
        if symbol.letter in used
        or (symbol.variable != symbol.letter and symbol.variable in used)
        or (is_standard(symbol) and symbol.key != LABELS_KEY)
    )
