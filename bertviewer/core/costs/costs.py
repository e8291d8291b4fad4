"""Costs that derive themselves: multiply-adds, shapes and memory of a forward pass, in letters.

As for the counts (see ``counting``) no family is known here. A forward pass on the meta device is
done again with one number changed at a time, the sentences' B and S among them, and each matrix
product's dimensions are explained by what moves with them. The formulas are proven on models and
sentences that no fit has seen, the shortest and the longest sentence among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from bertviewer.core.architecture.forward_costs import Costs, ModuleCosts
from bertviewer.core.costs.factoring import factored
from bertviewer.core.costs.forward_pass import (
    INPUT,
    OUTPUT,
    PRODUCT,
    ForwardPass,
    entry_kind,
    owner_of,
    read_forward,
)
from bertviewer.core.costs.peaks import derive_peak
from bertviewer.core.costs.trials import ForwardTrial, find_trials
from bertviewer.core.costs.unexplained import unexplained
from bertviewer.core.counting.contradictions import Contradictions
from bertviewer.core.counting.evenness import of_shapes
from bertviewer.core.counting.experiments import observe
from bertviewer.core.counting.fitted import fit_repeats, fit_shapes
from bertviewer.core.counting.limits import Limits
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import PROOFS, Facts, Formulas, gathered, undisputed
from bertviewer.core.counting.templates import Shape, count_modules, template_path
from bertviewer.core.counting.variants import Build, ModelShapes, Values, VariantBuilder, owners
from bertviewer.core.errors import Stopped
from bertviewer.core.expressions.domains import joined
from bertviewer.core.expressions.letters import LETTERS
from bertviewer.core.expressions.symbols import Symbol, quantity_of, symbols_of
from bertviewer.core.flow.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.system.library_words import words_of

USUAL_TOKENS = 128
"""Figures are given for one sentence of so many tokens, where nothing else is said."""


def derive_costs(
    config: Mapping[str, Any], build: Build, progress: Progress = no_progress
) -> Costs:
    """Derive and prove what a forward pass costs, in the configuration's letters and B and S.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises comes through.

    Returns:
        A formula for everything that has one. Where the model does not read text, or cannot be
        run without the values of its activations, there is none, and a reason.
    """
    usual = _usual_tokens(config)
    # Several sentences, and another length for the decoder's: what is 1, or equal, hides much.
    symbols = (*_input_symbols(config, 2, usual, usual * 3 // 4 + 1), *symbols_of(config))
    variants = VariantBuilder(
        config, symbols, build, read_forward, progress, 2 * (len(symbols) + PROOFS)
    )
    try:
        real = cast(ForwardPass, variants.real())
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        return no_costs(config, words_of(error))
    observed = observe(variants, real)
    inputs = _input_symbols(config, 1, usual, usual)
    if not all(symbol.letter in observed.seen for symbol in inputs):
        return no_costs(config, "the model accepts only sentences of one length")
    trials = find_trials(variants, observed)
    if trials is None:
        return no_costs(config, "too few modified configurations run to verify a formula")
    own = {symbol.letter: symbol.value for symbol in symbols}
    layers = tuple(symbol.letter for symbol in symbols if quantity_of(symbol) == "layers")
    peak, peak_fixed = derive_peak(variants, observed, layers, (real, own), trials)
    modules, domain = _modules(variants, observed, layers, [*trials, (real, own)])
    followed = {symbol.letter: observed.variable_of(symbol.letter) for symbol in symbols}
    variables = {letter: variable for letter, variable in followed.items() if variable}
    return Costs(inputs, modules, peak, peak_fixed, variables, domain)


def no_costs(config: Mapping[str, Any], reason: str) -> Costs:
    """Return costs without formulas, and why there are none."""
    usual = _usual_tokens(config)
    return Costs(_input_symbols(config, 1, usual, usual), {}, (), reason=reason)


def _usual_tokens(config: Mapping[str, Any]) -> int:
    """Return a number of tokens that leaves room for longer sentences."""
    longest = next((s.value for s in symbols_of(config) if s.letter == "L"), None)
    return USUAL_TOKENS if longest is None else max(1, min(USUAL_TOKENS, longest // 4))


def _input_symbols(
    config: Mapping[str, Any], sentences: int, tokens: int, target_tokens: int
) -> tuple[Symbol, ...]:
    values = {SENTENCES: sentences, TOKENS: tokens}
    if config.get("is_encoder_decoder"):
        values[TARGET_TOKENS] = target_tokens
    return tuple(
        Symbol(letter.letter, "", values[letter.letter], letter.meaning, letter.letter)
        for letter in LETTERS
        if letter.letter in values
    )


def _modules(
    variants: VariantBuilder,
    observed: Observations,
    layers: Sequence[str],
    trials: Sequence[ForwardTrial],
) -> tuple[dict[str, ModuleCosts], str | None]:
    """Return what is proven of every module at work in the last trial, the real model.

    And the domain that it is proven in.
    """
    base, shapes = observed.base, fit_shapes(observed)
    repeats = fit_repeats(observed)
    lengths = {path: base.lengths[path] for path in repeats}
    products = {name: shape for name, shape in base.shapes.items() if entry_kind(name) == PRODUCT}
    counts = count_modules(replace(base, shapes=products), shapes, repeats)
    formulas: Formulas = {
        **{path: (factored(count.value, layers),) for path, count in counts.items()},
        **{name: tuple(map(str, shape)) for name, shape in shapes.items() if _is_shown(name)},
    }
    fitted = formulas
    for model, values in trials:
        formulas = _confirmed(formulas, _facts(model), lengths, values)
    limits = _limits(variants, observed, formulas, shapes, lengths)
    formulas = limits.models.formulas
    real, _ = trials[-1]
    at_work = {path for called in real.called for path in (called, *owners(called))}
    found = {name: formulas.get(template_path(name, lengths)) for name in _facts(real)}
    without = [path for path in real.modules if path in at_work and not found[path]]
    reasons = unexplained(observed, shapes, fitted, lengths, trials, paths=without)
    ends = {(entry_kind(name), owner_of(name)): found[name] for name in found if _is_shown(name)}
    modules = {
        path: ModuleCosts(
            macs=macs[0] if (macs := found[path]) else None,
            input_shape=ends.get((INPUT, path)),
            output_shape=ends.get((OUTPUT, path)),
            reason=limits.reasons.get(template_path(path, lengths)) or reasons.get(path, ""),
        )
        for path in real.modules
        if path in at_work
    }
    conditions = (limits.models.conditions.get(name, ()) for name in formulas)
    return modules, joined(text for texts in conditions for text in texts)


def _limits(
    variants: VariantBuilder,
    observed: Observations,
    formulas: Formulas,
    shapes: Mapping[str, Shape],
    lengths: Mapping[str, int],
) -> Limits:
    """Find the formulas that hold in a domain, and the conditions of it.

    They say nothing of B and S: what depends on the sentence is no formula of it.
    """
    models = Contradictions(
        variants,
        observed.values,
        lambda model: gathered(_facts(model), lambda name: template_path(name, lengths)),
        dict(formulas),
    )
    limits = Limits(models, observed, unlimited=frozenset((SENTENCES, TOKENS, TARGET_TOKENS)))
    even = (text for texts in of_shapes(shapes, variants.symbols).values() for text in texts)
    limits.search(dict.fromkeys(formulas, tuple(dict.fromkeys(even))), ())
    return limits


def _facts(model: ModelShapes) -> Facts:
    """Return multiply-adds by module, and what goes in and comes out by entry."""
    shown = {name: shape for name, shape in model.shapes.items() if _is_shown(name)}
    return {**{path: (size,) for path, size in model.sizes.items()}, **shown}


def _is_shown(name: str) -> bool:
    return entry_kind(name) in (INPUT, OUTPUT)


def _confirmed(
    formulas: Formulas, facts: Facts, lengths: Mapping[str, int], values: Values
) -> Formulas:
    """Return the formulas that a trial had facts for, and none that contradicts them."""
    tried = {template_path(name, lengths) for name in facts}
    met = {name: formula for name, formula in formulas.items() if name in tried}
    return undisputed(met, facts, lengths, values)
