"""Count formulas that derive themselves: every tensor's shape and every module's count in letters.

No family is known here. The model is built again on the meta device with one number of its
configuration changed at a time; a dimension that moves with the number is written with its letter,
and modules that multiply with it are that many times one template. What comes out is then proven:
each formula is evaluated for the real model, and for models freshly built at values that no fit
has seen. A formula that is wrong once is dropped, and the plain number stands in its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bertviewer.core.counting.experiments import observe
from bertviewer.core.counting.explaining import (
    Explanation,
    facts_of,
    pinned_to,
    with_letters_for_layers,
    with_plain_layers,
)
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.other_numbers import conditions_of_others
from bertviewer.core.counting.proving import PROOFS, TENSOR
from bertviewer.core.counting.sums import ModelFormulas, put_together
from bertviewer.core.counting.variants import Build, ModelShapes, VariantBuilder
from bertviewer.core.expressions.domains import joined, letters_in
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.letters import LABELS_KEY
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_standard,
    others_of,
    quantity_of,
    symbols_of,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress, no_progress

PINNINGS = 2
"""So many times letters that no formula follows are left at their values for the others' sake."""


@frozen
class Derivation:
    """What was derived for one model.

    Attributes:
        symbols: the letters of the formulas and of their domains, and the family's standard ones.
        shapes: each tensor's dimensions, as ``("V", "D")``, ``("3*D", "D")``, ``("L + 2", "D")``;
            plain numbers where there is no proof. They hold in the domain of the tensor's module.
        counts: each module's number of elements, a tied tensor counted at its first name, as an
            expression of ``evaluation`` with the letters as integers; the plain number where there
            is no proof. A module's is the sum of those of its children and its own tensors.
        domains: the conditions under which a module's formula holds, as of
            ``expressions.domains``; a module without an entry has none.
        unproven: the modules whose count is a plain number for want of a proof, and why.
    """

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, str]
    domains: Mapping[str, str]
    unproven: Mapping[str, str]


def derive(config: Mapping[str, Any], build: Build, progress: Progress = no_progress) -> Derivation:
    """Derive and prove the symbolic shapes and counts of a model.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises comes through.

    Returns:
        A formula for everything that has one; plain numbers for the rest.

    Raises:
        Exception: whatever ``build`` raises for ``config`` itself.
    """
    symbols = symbols_of(config)
    # The real model, the start, about two changes for each number, and the proofs.
    variants = VariantBuilder(
        config, symbols, build, ModelShapes.of, progress, 10 + 2 * len(symbols) + PROOFS
    )
    real = variants.real()
    observed = observe(variants, real, every_kind=True)
    whole = _explained(variants, observed, real)
    known = {n: whole.proven.get(n, tuple(map(str, fact))) for n, fact in facts_of(real).items()}
    others = others_of(config)
    more = conditions_of_others(variants, real, others)
    domains = {path: joined((*whole.conditions.get(path, ()), *more[path])) for path in real.sizes}
    symbols = tuple(replace(s, variable=observed.variable_of(s.letter)) for s in symbols)
    return Derivation(
        _shown((*symbols, *others), known.values(), domains.values()),
        {name: known[TENSOR + name] for name in real.shapes},
        {path: known[path][0] for path in real.sizes},
        {path: domain for path, domain in domains.items() if domain is not None},
        {path: whole.reasons[path] for path in real.sizes if path in whole.reasons},
    )


def _explained(
    variants: VariantBuilder, observed: Observations, real: ModelShapes
) -> ModelFormulas:
    """Explain a model with letters for its layers; with plain numbers of some, or all, if need be.

    Few models need more than the first way. In some a number of layers changes what no formula
    follows, as the stages of Swin do; it keeps its value then, so that the others can be letters.
    """
    found = [with_letters_for_layers(variants, observed, real)]
    counting = {
        symbol.letter: symbol.value
        for variable in observed.variables
        if observed.counts_modules(variable)
        for symbol in variable.symbols
    }
    pinned = frozenset[str]()
    for _ in range(PINNINGS):
        if not found[-1].reasons or not found[-1].pinned:
            break
        pinned |= found[-1].pinned
        if not counting.keys() - pinned:
            break
        found.append(_with_pinned(variants, real, pinned))
    if found[-1].reasons and real.lengths:
        found.append(with_plain_layers(variants, observed, real))
    depths = {s.letter: s.value for s in variants.symbols if quantity_of(s) == "layers"}
    return put_together(real, found, {**depths, **counting})


def _with_pinned(
    variants: VariantBuilder, real: ModelShapes, pinned: frozenset[str]
) -> Explanation:
    """Explain a model as one of which some numbers of the configuration never change."""
    fixed = [symbol for symbol in variants.symbols if symbol.letter in pinned]
    others = replace(variants, symbols=tuple(s for s in variants.symbols if s.letter not in pinned))
    observed = observe(others, real, every_kind=True)
    return pinned_to(with_letters_for_layers(others, observed, real), fixed)


def _shown(
    symbols: Iterable[Symbol],
    formulas: Iterable[tuple[str, ...]],
    domains: Iterable[str | None],
) -> tuple[Symbol, ...]:
    """Return the symbols in formulas and domains, those that follow one, and the standard ones.

    The number of heads changes no count, and belongs to the picture all the same; the labels do
    only where they count.
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
