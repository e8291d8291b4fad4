"""One way to explain a model: formulas that are fitted, confirmed, and limited to their domains."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import lcm

from bertviewer.core.counting.contradictions import Contradictions
from bertviewer.core.counting.evenness import of_shapes
from bertviewer.core.counting.fitted import fit_repeats, fit_shapes, unfitted, unfitted_reasons
from bertviewer.core.counting.fresh_models import (
    Fresh,
    Requirements,
    fresh_models,
    partly_fresh_models,
)
from bertviewer.core.counting.limits import Limits
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import (
    PROOFS,
    TENSOR,
    Formulas,
    Gathered,
    Trial,
    gathered,
    holds,
    judge,
)
from bertviewer.core.counting.templates import (
    Shape,
    count_modules,
    like_path,
    resemblance,
    template_path,
)
from bertviewer.core.counting.variants import ModelShapes, Values, VariantBuilder, owners
from bertviewer.core.expressions.counts import Count
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.frozen import frozen


@frozen
class Explanation:
    """What one way to explain a model gave, by the names of its tensors and modules.

    Attributes:
        proven: the formulas that are confirmed.
        conditions: what has to be met for them to hold.
        reasons: why the others have none.
        pinned: the letters that change numbers of modules in a way that no formula follows.
    """

    proven: Formulas
    conditions: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str]
    pinned: frozenset[str]


def with_letters_for_layers(
    variants: VariantBuilder, observed: Observations, real: ModelShapes
) -> Explanation:
    """Explain blocks as a letter times their template."""
    repeats = fit_repeats(observed)
    lengths = {path: observed.base.lengths[path] for path in repeats}
    shapes = fit_shapes(observed)
    counts = count_modules(observed.base, shapes, repeats)
    return _explained(
        variants, observed, real, (shapes, counts), lambda name: template_path(name, lengths)
    )


def with_plain_layers(
    variants: VariantBuilder, observed: Observations, real: ModelShapes
) -> Explanation:
    """Explain blocks of several kinds, in plain numbers of each: the depth stays as it is."""
    counting = {v.letter: v for v in observed.variables if observed.counts_modules(v)}
    values = {symbol.letter: symbol.value for symbol in variants.symbols}
    plain = replace(observed.without_counting(), values=values)
    likeness = resemblance(real, plain.base) or {}
    shapes = fit_shapes(plain)
    counts = count_modules(plain.base, shapes, {}, likeness)
    found = _explained(
        variants,
        plain,
        real,
        (shapes, counts),
        lambda name: like_path(name, likeness),
        exactly=True,
    )
    return pinned_to(found, (symbol for v in counting.values() for symbol in v.symbols))


def pinned_to(found: Explanation, symbols: Iterable[Symbol]) -> Explanation:
    """Return an explanation that holds as long as some letters keep their values."""
    fixed = tuple(f"{symbol.letter} == {symbol.value}" for symbol in symbols)
    conditions = {name: (*found.conditions.get(name, ()), *fixed) for name in found.proven}
    return replace(found, conditions=conditions)


def _explained(
    variants: VariantBuilder,
    observed: Observations,
    real: ModelShapes,
    fitted: tuple[Mapping[str, Shape], Mapping[str, Count]],
    template: Callable[[str], str],
    *,
    exactly: bool = False,
) -> Explanation:
    """Judge formulas, find their domains, and name them as the real model does.

    Args:
        variants: builds the fresh models.
        observed: what the formulas were fitted to.
        real: the model to explain.
        fitted: shapes and counts by the names of the model with few layers.
        template: gives such a name for the name in any other model.
        exactly: whether fresh models must have the real model's tensors, other sizes apart.
    """
    shapes, counts = fitted
    formulas = {
        **{TENSOR + name: tuple(map(str, shape)) for name, shape in shapes.items()},
        **{path: (str(count),) for path, count in counts.items()},
    }
    requirements = _requirements(shapes.values(), frozenset(real.shapes) if exactly else None)
    fresh = fresh_models(variants, observed, PROOFS, requirements)
    trials = [_trial(observed, one, template) for one in fresh]
    verdict = judge(formulas, trials)
    models = Contradictions(
        variants, observed.values, lambda model: _gathered(model, template), formulas
    )
    limits = Limits(models, observed, doubtful=frozenset(verdict.reasons), is_plain=exactly)
    even = of_shapes(shapes, variants.symbols)
    limits.search({TENSOR + name: texts for name, texts in even.items()}, fresh)
    if verdict.reasons or limits.reasons or models.conditions:
        trials += models.trials()
        verdict = judge(models.formulas, trials, models.conditions)
    if verdict.is_open():
        for one in partly_fresh_models(variants, observed, requirements):
            trials.append(_trial(observed, one, template))
            verdict = judge(models.formulas, trials, models.conditions)
            if not verdict.is_open():
                break
    moving = unfitted(observed, shapes).values()
    return _named(
        real,
        lambda name: _template_of(name, template),
        Explanation(
            verdict.proven,
            {name: tuple(texts) for name, texts in models.conditions.items()},
            {**unfitted_reasons(observed, shapes), **verdict.reasons, **limits.reasons},
            frozenset(limits.pinned).union(
                *(filter(limits.broken.counts, letters) for letters in moving)
            ),
        ),
        # In a list whose length no formula follows, a number may stand for another block elsewhere.
        _lengthening(limits),
        {symbol.letter: symbol.value for symbol in variants.symbols},
    )


def _named(
    real: ModelShapes,
    template: Callable[[str], str],
    found: Explanation,
    lengthening: Mapping[str, Iterable[str]],
    values: Values,
) -> Explanation:
    """Return an explanation of the real model, by its own names.

    Args:
        real: the model.
        template: gives for a name of it that of what explains it.
        found: formulas by such names.
        lengthening: the letters that change the length of a list, by its path.
        values: the letters' values in the real model.
    """
    proven: dict[str, tuple[str, ...]] = {}
    missing: dict[str, str] = {}
    for name, fact in facts_of(real).items():
        like = template(name)
        if like not in found.proven:
            missing[name] = found.reasons.get(like, "a part of it has no formula")
        elif not holds(found.proven[like], fact, values):
            missing[name] = "its formula is wrong for the real model"
        else:
            proven[name] = found.proven[like]
    conditions = {
        name: (
            *found.conditions.get(template(name), ()),
            *(
                f"{letter} == {values[letter]}"
                for owner in owners(name.removeprefix(TENSOR))
                if owner not in proven
                for letter in lengthening.get(owner, ())
            ),
        )
        for name in proven
    }
    return Explanation(proven, conditions, missing, found.pinned)


def _lengthening(limits: Limits) -> dict[str, list[str]]:
    """Return the letters that were seen to change the lengths of lists, by the lists' paths."""
    found: dict[str, list[str]] = {}
    observed = limits.observed
    seen = [(v.letter, m) for v in observed.variables for _, m in observed.seen[v.letter]]
    seen += [(letter, model) for change, model in observed.misfits for letter in change]
    for change, model in limits.models.built:
        # With several at once it would not be known which of them did it.
        counting = [letter for letter in change if limits.broken.counts(letter)]
        seen += [(letter, model) for letter in counting if len(counting) == 1]
    for letter, model in seen:
        for path, length in observed.base.lengths.items():
            letters = found.setdefault(path, [])
            if model.lengths.get(path, 0) != length and letter not in letters:
                letters.append(letter)
    return found


def _requirements(shapes: Iterable[Shape], names: frozenset[str] | None) -> Requirements:
    """Return what fresh models must be like for divisions in the shapes to come out even."""
    steps: dict[str, int] = {}
    powers: dict[str, int] = {}
    for shape in shapes:
        for dimension in shape:
            for letters, coefficient in dimension.terms.items():
                for letter, power in letters:
                    steps[letter] = lcm(steps.get(letter, 1), coefficient.denominator)
                    powers[letter] = max(powers.get(letter, 1), -power)
    return Requirements(steps, powers, names)


def _template_of(name: str, template: Callable[[str], str]) -> str:
    if name.startswith(TENSOR):
        return TENSOR + template(name.removeprefix(TENSOR))
    return template(name)


def _trial(observed: Observations, fresh: Fresh, template: Callable[[str], str]) -> Trial:
    model, values = fresh
    moved = {letter for letter, value in values.items() if value != observed.values[letter]}
    return Trial(_gathered(model, template), values, frozenset(moved))


def _gathered(model: ModelShapes, template: Callable[[str], str]) -> Gathered:
    return gathered(facts_of(model), lambda name: _template_of(name, template))


def facts_of(model: ModelShapes) -> dict[str, tuple[int, ...]]:
    """Return what formulas have to give: shapes of tensors and counts of modules."""
    return {
        **{TENSOR + name: shape for name, shape in model.shapes.items()},
        **{path: (size,) for path, size in model.sizes.items()},
    }
