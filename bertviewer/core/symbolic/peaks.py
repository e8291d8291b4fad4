"""The most memory that activations take at one time, as a formula for each moment it may be."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import cast

from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.polynomials import Monomial, Polynomial, product, total
from bertviewer.core.expressions.symbols import is_standard
from bertviewer.core.graph.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.symbolic.formulas import Shape, factored, fit_shapes
from bertviewer.core.symbolic.forward_pass import ForwardPass
from bertviewer.core.symbolic.models import ModelBuilder, Values
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.perturbations import PROOFS, Perturbations

LONGEST_TOKENS = 1400
"""Formulas are tried up to the model's longest sentence, and not beyond this many tokens."""

ForwardTrial = tuple[ForwardPass, Values]
"""A forward pass that no formula was fitted to, with the symbols' values."""


def run_trials(builder: ModelBuilder, observed: Observations) -> list[ForwardTrial]:
    """Run what no fit has seen: other configurations, and the shortest and longest sentences.

    Returns:
        ``PROOFS`` passes with all numbers changed, and those with other sentences that the model
        takes; none where it refuses too many configurations.
    """
    base = observed.values
    changes = Perturbations.of(observed, builder.symbols)
    models = changes.fresh(lambda change: builder.variant({**base, **change}))
    found = [(model, {**base, **change}) for change, model in islice(models, PROOFS)]
    if len(found) < PROOFS:
        return []
    longest = min(base.get("L", LONGEST_TOKENS), LONGEST_TOKENS)
    # RoBERTa's table has two rows that no token uses, so the very longest may be refused.
    lengths = (longest, longest - 2, longest * 3 // 4)
    for attempts in (((1, 1, 1),), ((3, 7, 5),), tuple((1, length, 9) for length in lengths)):
        for sizes in attempts:
            sentences = zip((SENTENCES, TOKENS, TARGET_TOKENS), sizes, strict=True)
            values = {**base, **{letter: size for letter, size in sentences if letter in base}}
            if (model := builder.variant(values)) is not None:
                found.append((model, values))
                break
    return cast(list[ForwardTrial], found)


def derive_peak(
    builder: ModelBuilder,
    observed: Observations,
    layers: Sequence[str],
    trials: Sequence[ForwardTrial],
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return an expression for each moment that may be the peak, and the symbols that are fixed.

    The largest has to be the real peak in every trial of more than one token, of which the last is
    the real model. Where it is not, it may still be so if only the standard symbols change.
    """
    *changed, real = trials
    base = cast(ForwardPass, observed.base)
    memory = _storages_alone(observed, base)
    shapes = fit_shapes(memory)
    moments = tuple(sorted(factored(moment, layers) for moment in _largest(base.moments, shapes)))
    if not _peaks(moments, [(base, observed.values), real]):
        return (), {}
    known = memory
    if not _proven(moments, shapes, changed):
        standard = tuple(v for v in memory.variables if is_standard(v.symbols[0]))
        known = replace(observed, variables=standard)
        is_less = len(standard) < len(observed.variables)
        if not is_less or not _proven(moments, shapes, run_trials(builder, known)):
            return (), {}
    return moments, {s.letter: s.value for s in builder.symbols if not known.variable_of(s.letter)}


def _proven(
    moments: Sequence[str], shapes: Mapping[str, Shape], trials: Sequence[ForwardTrial]
) -> bool:
    """Return whether the moments give the peak, and each storage's shape is right, in all trials.

    Sentences of one token, which spare copies, do not count. A moment that is the peak in no trial
    might be it elsewhere, so all storages are compared.
    """
    several = [trial for trial in trials if trial[1][TOKENS] > 1]
    same = [trial for trial in several if shapes.keys() <= trial[0].storages.keys()]
    return (
        len(same) >= PROOFS
        and _peaks(moments, several)
        and all(
            tuple(size.at(values) for size in shape) == model.storages[name]
            for model, values in same
            for name, shape in shapes.items()
        )
    )


def _peaks(moments: Sequence[str], trials: Sequence[ForwardTrial]) -> bool:
    """Return whether the largest of the moments is the real peak in all trials."""
    try:
        return all(
            max((evaluate(moment, values) for moment in moments), default=0) == model.peak
            for model, values in trials
        )
    except FormulaError:
        return False


def _storages_alone(observed: Observations, base: ForwardPass) -> Observations:
    """Return what was seen of storages, where a model has all those of the first.

    It has not always: one head's scores need no copy that several heads' do.
    """
    seen = {
        letter: tuple(
            (value, replace(model, shapes=model.storages))
            for value, model in points
            if isinstance(model, ForwardPass) and base.storages.keys() <= model.storages.keys()
        )
        for letter, points in observed.seen.items()
    }
    variables = tuple(variable for variable in observed.variables if seen[variable.letter])
    return Observations(replace(base, shapes=base.storages), observed.values, variables, seen)


def _largest(
    moments: Iterable[frozenset[str]], shapes: Mapping[str, Shape]
) -> tuple[Polynomial, ...]:
    """Return the elements alive at each moment that no other moment surely exceeds.

    Nothing where a storage has no symbolic shape.
    """
    moments = tuple(moments)
    if not frozenset[str]().union(*moments) <= shapes.keys():
        return ()
    sizes = {name: product(shape) for name, shape in shapes.items()}
    candidates: dict[frozenset[object], Polynomial] = {}
    for moment in moments:
        alive = total(sizes[name] for name in sorted(moment))
        candidates.setdefault(frozenset(alive.terms.items()), alive)
    largest: list[Polynomial] = []
    for one in candidates.values():
        if not any(_never_less(other, one) for other in largest):
            largest = [other for other in largest if not _never_less(one, other)] + [one]
    return tuple(largest)


def _never_less(one: Polynomial, other: Polynomial) -> bool:
    """Return whether ``one`` is never the smaller, as no symbol is smaller than 1.

    Each term that only ``other`` has must have its match: ``B*D`` is at most ``B*S*D``.
    """
    difference = one - other
    spare = {letters: value for letters, value in difference.terms.items() if value > 0}
    for letters, value in difference.terms.items():
        missing = -value
        for larger, left in spare.items():
            if missing > 0 and _divides(letters, larger):
                spare[larger] = left - min(missing, left)
                missing -= min(missing, left)
        if missing > 0:
            return False
    return True


def _divides(one: Monomial, other: Monomial) -> bool:
    powers, needed = dict(other), dict(one)
    return all(powers.get(x, 0) >= needed.get(x, 0) for x in powers | needed)
