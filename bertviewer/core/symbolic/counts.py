"""Formulas of every tensor's shape and every module's number of parameters.

No family is known here. The model is built again on the meta device with one number of its
configuration changed at a time; a dimension that changes with the number is written with its
symbol, and a list of blocks as so many times the last one. The formulas are then verified on
models that no fit has seen (see ``solver``). What has no formula keeps its plain number.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.expressions.domains import joined, letters_in
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.expressions.grouping import Relation, substituted
from bertviewer.core.expressions.letters import LABELS_KEY
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_standard,
    others_of,
    quantity_of,
    symbols_of,
)
from bertviewer.core.symbolic.formulas import (
    count_modules,
    fit_repeats,
    fit_shapes,
    template_path,
    unfitted,
)
from bertviewer.core.symbolic.models import (
    TENSOR,
    Build,
    ModelBuilder,
    ModelSizes,
    Values,
    owners,
)
from bertviewer.core.symbolic.observations import Observations, fixed_numbers, observe
from bertviewer.core.symbolic.perturbations import PROOFS
from bertviewer.core.symbolic.solver import Formulas, Solver
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.progress import Progress, no_progress

ROUNDS = 3
"""Depths that no formula follows are fixed in the second round, and all depths in the third."""


class Derivation(Struct, frozen=True):
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


class _Round(Struct, frozen=True):
    """What was found with some depths fixed, by the names of the real model.

    Attributes:
        fixed: the symbols of these depths.
        observed: what the formulas were fitted to.
        proven: the verified formulas.
        conditions: what has to be met for them to hold.
        reasons: why the others are not verified.
        unfollowed: further depths for whose other values there was no formula.
    """

    fixed: frozenset[str]
    observed: Observations
    proven: Formulas
    conditions: Mapping[str, Iterable[str]]
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
    limits = [fixed_numbers(builder, real, others)]
    rounds = list(_rounds(builder, real))
    best = max(rounds, key=lambda found: len(found.proven))
    limits.append(fixed_numbers(builder, real, [s for s in symbols if s.letter in best.fixed]))
    moved = {letter for key, model in builder.built.items() if model for letter, _ in key}
    # What no model was built with another value of may matter to everything.
    held = [f"{s.letter} == {s.value}" for s in symbols if s.letter not in moved]
    known: dict[str, tuple[str, ...]] = {}
    domains: dict[str, str] = {}
    for name, fact in real.facts.items():
        found = (best.conditions, *limits)
        conditions = [text for texts in found for text in texts.get(name, ())] + held
        formula = best.proven.get(name, tuple(map(str, fact)))
        known[name] = _with_fixed(formula, conditions, builder.values)
        if name in real.sizes and (domain := joined(conditions)) is not None:
            domains[name] = domain
    variable_of = rounds[0].observed.variable_of
    symbols = tuple(replace(s, variable=variable_of(s.letter)) for s in symbols)
    return Derivation(
        _shown((*symbols, *others), known.values(), domains.values()),
        {name: known[TENSOR + name] for name in real.shapes},
        {path: known[path][0] for path in real.sizes},
        domains,
        {path: best.reasons[path] for path in real.sizes if path in best.reasons},
    )


def _rounds(builder: ModelBuilder, real: ModelSizes) -> Iterator[_Round]:
    """Yield what is found with all depths free, then without those that no formula follows.

    The last round, of three, has none free.
    """
    depths = frozenset(s.letter for s in builder.symbols if quantity_of(s) == "layers")
    fixed = frozenset[str]()
    for number in range(ROUNDS):
        try:
            found = _explain(builder, real, fixed, is_last=number == ROUNDS - 1)
        except OverBudget:
            if number == 0:
                raise
            return  # what the rounds before found is kept
        yield found
        more = (found.unfollowed if number == 0 else depths) - fixed or depths - fixed
        if not found.reasons or not more:
            return
        fixed |= more


def _explain(
    every: ModelBuilder, real: ModelSizes, fixed: frozenset[str], *, is_last: bool
) -> _Round:
    """Fit and verify formulas of a model whose fixed depths keep their values.

    If other depths have to be fixed as well, that is all that is found, but for the last round.
    """
    symbols = tuple(s for s in every.symbols if s.letter not in fixed)
    builder = replace(every, symbols=symbols)
    observed = observe(builder, real, every_kind=True)
    repeats, shapes = fit_repeats(observed), fit_shapes(observed)
    without, lengths = unfitted(observed, shapes), observed.base.lengths
    lengthening = {
        path: [
            letter
            for letter, points in observed.seen.items()
            if any(model.lengths.get(path, 0) != length for _, model in points)
        ]
        for path, length in lengths.items()
    }
    changing = {letter for letters in without.values() for letter in letters}
    changing |= {letter for path in lengths.keys() - repeats for letter in lengthening[path]}
    depths = (s.letter for s in symbols if observed.is_depth(s))
    unfollowed = frozenset(changing.intersection(depths))
    if unfollowed and not is_last:
        reasons = {"": "the depths follow no formula"}
        return _Round(fixed, observed, {}, {}, reasons, unfollowed)
    lengths = {path: lengths[path] for path in repeats}
    counts = count_modules(observed.base, shapes, repeats, collect=bool(fixed))
    sizes = {TENSOR + name: shape for name, shape in shapes.items()}
    formulas = {
        **{name: tuple(map(str, shape)) for name, shape in sizes.items()},
        **{path: (str(count),) for path, count in counts.items()},
    }
    solver = Solver(builder, observed, formulas, sizes, lengths=lengths)
    solver.search()
    verified, reasons = solver.verified(), dict(solver.reasons)
    for name, letters in without.items():
        for path in (TENSOR + name, *owners(name)):
            varying = ", ".join(letters)
            reasons.setdefault(path, f"no formula fits {name}, which varies with {varying}")
    facts = real.facts
    templates = {name: template_path(name, lengths) for name in facts}
    proven = {
        name: verified[template]
        for name, template in templates.items()
        if template in verified and _gives(verified[template], facts[name], builder.values)
    }
    conditions = {
        name: [
            *solver.conditions.get(templates[name], ()),
            # In a list whose length has no formula a number may mean another block elsewhere.
            *(
                f"{letter} == {builder.values[letter]}"
                for path in owners(name)
                if path not in proven
                for letter in lengthening.get(path, ())
            ),
        ]
        for name in proven
    }
    missing = {
        name: reasons.get(template, "it could not be verified")
        for name, template in templates.items()
        if name not in proven
    }
    return _Round(fixed, observed, proven, conditions, missing, unfollowed | solver.unfollowed)


def _gives(formula: tuple[str, ...], fact: tuple[int, ...], values: Values) -> bool:
    try:
        return tuple(evaluate(part, values) for part in formula) == fact
    except FormulaError:
        return False


def _with_fixed(
    formula: tuple[str, ...], conditions: Iterable[str], values: Values
) -> tuple[str, ...]:
    """Return a formula with the values of its symbols that have to keep them."""
    fixed = {x for part in formula for x in letters_of(part) if f"{x} == {values[x]}" in conditions}
    numbers = [Relation(letter, str(values[letter]), "") for letter in fixed]
    return tuple(substituted(part, numbers) for part in formula) if numbers else formula


def _shown(
    symbols: Iterable[Symbol], formulas: Iterable[tuple[str, ...]], domains: Iterable[str]
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
