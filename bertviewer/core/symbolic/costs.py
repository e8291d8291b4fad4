"""Formulas of the costs of a forward pass: multiply-adds, shapes and peak memory.

A forward pass on the meta device is repeated with one number changed at a time, including the batch
size B and the tokens S, and the dimensions of each matrix product are fitted. The formulas are
verified on models and inputs that no fit has used, including the shortest and the longest input.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    evaluate,
    join_conditions,
    names_in_conditions,
)
from bertviewer.core.expressions.polynomials import Monomial, Polynomial, factored, product, total
from bertviewer.core.expressions.symbols import (
    SENTENCES,
    STANDARD_SYMBOLS,
    TARGET_TOKENS,
    TOKENS,
    Symbol,
    is_standard,
    other_symbols_of,
    symbols_of,
)
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.symbolic.conditions import divisibility_conditions, value_conditions
from bertviewer.core.symbolic.counts import count_modules
from bertviewer.core.symbolic.forward_pass import (
    INPUT,
    OUTPUT,
    PRODUCT,
    ForwardPass,
    entry_kind,
    owner_of,
    read_forward,
)
from bertviewer.core.symbolic.models import (
    Build,
    ModelBuilder,
    Values,
    enclosing_modules,
    template_path,
)
from bertviewer.core.symbolic.observations import (
    Observations,
    Shape,
    fit_repeats,
    fit_shapes,
    observe,
    unfitted,
)
from bertviewer.core.symbolic.perturbations import PROOFS, Perturbations
from bertviewer.core.symbolic.solver import Solver
from bertviewer.core.util.errors import Stopped, describe_error
from bertviewer.core.util.progress import Progress, no_progress

LONGEST_TOKENS = 1400
"""Limit of the tokens that formulas are tried with."""

ForwardProbe = tuple[ForwardPass, Values]
"""A forward pass that no formula was fitted to, with the symbols' values."""

USUAL_TOKENS = 128
"""Default number of tokens for figures."""

NOT_ALWAYS = "modified models do not all multiply there, or not equally often"


def derive_costs(
    config: Mapping[str, Any], build: Build, progress: Progress = no_progress
) -> Costs:
    """Derive and verify the costs of a forward pass in the configuration's symbols, B and S.

    Args:
        config: the configuration as a plain dict.
        build: builds the model on the meta device from a changed configuration.
        progress: is called before each build; its errors are raised.

    Returns:
        The formulas, or a reason without formulas if the model does not read text or depends on
        the values of its activations.
    """
    usual = _usual_tokens(config)
    # Several sentences, and different lengths: sizes of 1 and equal sizes are ambiguous.
    symbols = (*_input_symbols(config, 2, usual, usual * 3 // 4 + 1), *symbols_of(config))
    expected = 2 * (len(symbols) + PROOFS)
    builder = ModelBuilder(config, symbols, build, read_forward, progress, expected)
    try:
        real = cast(ForwardPass, builder.real())
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - a model's forward fails with any kind of error
        return no_costs(config, describe_error(error))
    observed = observe(builder, real)
    if any(not symbol.key and symbol.name not in observed.seen for symbol in symbols):
        return no_costs(config, "the model accepts only sentences of one length")
    if not (probes := run_probes(builder, observed)):
        return no_costs(config, "too few modified configurations run to verify a formula")
    layers = tuple(symbol.name for symbol in builder.depths)
    probes.append((real, builder.values))
    peak, peak_fixed = derive_peak(builder, observed, layers, probes)
    # Chunk sizes divide the work: shapes depend on them, but not multiply-adds.
    others = [
        symbol for symbol in other_symbols_of(config) if not symbol.key.startswith("chunk_size_")
    ]
    are_in_lists = any(symbol.key.rpartition(".")[2].isdigit() for symbol in others)
    start, values = (real, {}) if are_in_lists else (observed.base, observed.values)
    fixed = value_conditions(builder, replace(start, shapes={}), others, values)
    modules, domain = _modules(builder, observed, layers, probes, fixed)
    followed = {symbol.name: observed.variable_of(symbol.name) for symbol in symbols}
    variables = {name: variable for name, variable in followed.items() if variable}
    inputs = _input_symbols(config, 1, usual, usual)
    return Costs(inputs, modules, peak, peak_fixed, variables, domain)


def no_costs(config: Mapping[str, Any], reason: str) -> Costs:
    """Return costs without formulas, with the reason."""
    usual = _usual_tokens(config)
    return Costs(_input_symbols(config, 1, usual, usual), {}, (), reason=reason)


def _usual_tokens(config: Mapping[str, Any]) -> int:
    """Return a number of tokens that is less than the longest sentence."""
    longest = next((s.value for s in symbols_of(config) if s.name == "L"), 4 * USUAL_TOKENS)
    return max(1, min(USUAL_TOKENS, longest // 4))


def _input_symbols(config: Mapping[str, Any], *values: int) -> tuple[Symbol, ...]:
    """Return the symbols B, S and S_d of the inputs with these values."""
    names = (SENTENCES, TOKENS, *([TARGET_TOKENS] if config.get("is_encoder_decoder") else []))
    meanings = {symbol.name: symbol.meaning for symbol in STANDARD_SYMBOLS}
    return tuple(
        Symbol(x, "", value, meanings[x], x) for x, value in zip(names, values, strict=False)
    )


def _modules(
    builder: ModelBuilder,
    observed: Observations,
    layers: Sequence[str],
    probes: Sequence[ForwardProbe],
    fixed: Mapping[str, Iterable[str]],
) -> tuple[dict[str, ModuleCosts], str | None]:
    """Return the formulas of every module that the last probe, the real model, calls.

    Also the conditions under which all of them hold, ``fixed`` included; none on B and S.
    """
    base, repeats = observed.base, fit_repeats(observed)
    inputs = {symbol.name for symbol in builder.symbols if not symbol.key}
    shapes = {
        name: shape
        for name, shape in fit_shapes(observed).items()
        if not _divides_inputs(shape, builder, inputs)
    }
    lengths = {path: base.lengths[path] for path in repeats}
    products = {name: shape for name, shape in base.shapes.items() if entry_kind(name) == PRODUCT}
    counts = count_modules(replace(base, shapes=products), shapes, repeats)
    formulas = {
        **{path: (factored(count.value, layers),) for path, count in counts.items()},
        **{name: tuple(map(str, shape)) for name, shape in shapes.items() if name not in products},
    }
    solver = Solver(builder, observed, formulas, shapes, lengths=lengths, unconditional=inputs)
    solver.refute(probes)
    solver.search()
    real, _ = probes[-1]
    called = {path for call in real.called for path in (call, *enclosing_modules(call))}
    paths = [path for path in real.modules if path in called]
    found = {name: solver.formulas.get(template_path(name, lengths)) for name in real.facts}
    causes = dict(solver.reasons)
    for name, names in unfitted(observed, shapes).items():
        if name in products:
            reason = "no formula fits the sizes of its products, which vary with "
            causes.setdefault(owner_of(name), reason + ", ".join(names))
    without = [path for path in paths if not found[path]]
    reasons = _reasons({path: causes.get(template_path(path, lengths)) for path in without})
    ends = {(entry_kind(name), owner_of(name)): formula for name, formula in found.items()}
    modules = {
        path: ModuleCosts(
            macs=macs[0] if (macs := found[path]) else None,
            input_shape=ends.get((INPUT, path)),
            output_shape=ends.get((OUTPUT, path)),
            reason=reasons.get(path, ""),
        )
        for path in paths
    }
    needed = {text for name in solver.formulas for text in solver.conditions.get(name, ())}
    conditions = [text for text in solver.conditions.get("", ()) if text in needed]
    conditions += (
        text for name, formula in found.items() if formula for text in fixed.get(name, ())
    )
    return modules, join_conditions(conditions)


def _divides_inputs(shape: Shape, builder: ModelBuilder, inputs: set[str]) -> bool:
    """Return whether a formula divides by inputs or divides them."""
    symbols = {symbol.name: symbol for symbol in builder.symbols}
    divisible = divisibility_conditions(shape, builder.values, symbols)
    return any(names_in_conditions(text) & inputs for text in divisible)


def _reasons(causes: Mapping[str, str | None]) -> dict[str, str]:
    """Return why modules have no formula: their own cause, or that of a part of them.

    Args:
        causes: of the modules without a formula, in the order of ``named_modules()``.
    """
    parts = {owner for path in causes for owner in enclosing_modules(path) if path}
    reasons: dict[str, str] = {}
    for path, cause in causes.items():
        if path in parts:
            continue  # the cause is a part of it
        reasons[path] = cause or NOT_ALWAYS
        for above in enclosing_modules(path) if path else ():
            reasons.setdefault(above, f"{path}: {reasons[path]}")
    return reasons


def run_probes(builder: ModelBuilder, observed: Observations) -> list[ForwardProbe]:
    """Run other configurations, and the shortest and longest sentences.

    Returns:
        ``PROOFS`` passes with all numbers changed, and those with other lengths that the model
        accepts; none if it refuses too many configurations.
    """
    base = observed.values
    changes = Perturbations.of(observed, builder.symbols)
    models = changes.fresh(lambda change: builder.variant({**base, **change}))
    found = [(model, {**base, **change}) for change, model in islice(models, PROOFS)]
    if len(found) < PROOFS:
        return []
    longest = min(base.get("L", LONGEST_TOKENS), LONGEST_TOKENS)
    # The longest may be refused: RoBERTa's table has two rows that no token uses.
    lengths = (longest, longest - 2, longest * 3 // 4)
    for attempts in (((1, 1, 1),), ((3, 7, 5),), tuple((1, length, 9) for length in lengths)):
        for sizes in attempts:
            sentences = zip((SENTENCES, TOKENS, TARGET_TOKENS), sizes, strict=True)
            values = {**base, **{name: size for name, size in sentences if name in base}}
            if (model := builder.variant(values)) is not None:
                found.append((model, values))
                break
    return cast(list[ForwardProbe], found)


def derive_peak(
    builder: ModelBuilder,
    observed: Observations,
    layers: Sequence[str],
    probes: Sequence[ForwardProbe],
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return an expression for each moment that may be the peak, and the symbols that are fixed.

    Their maximum must be the real peak in every probe of more than one token; the last probe is the
    real model. Else they are verified with changes of standard symbols only, the others fixed.
    """
    *changed, real = probes
    base = cast(ForwardPass, observed.base)
    memory = _observe_storages(observed, base)
    shapes = fit_shapes(memory)
    moments = tuple(sorted(factored(moment, layers) for moment in _largest(base.moments, shapes)))
    if not _give_peak(moments, [(base, observed.values), real]):
        return (), {}
    known = memory
    if not _proven(moments, shapes, changed):
        standard = tuple(v for v in memory.variables if is_standard(v.symbols[0]))
        known = replace(observed, variables=standard)
        is_less = len(standard) < len(observed.variables)
        if not is_less or not _proven(moments, shapes, run_probes(builder, known)):
            return (), {}
    return moments, {s.name: s.value for s in builder.symbols if not known.variable_of(s.name)}


def _proven(
    moments: Sequence[str], shapes: Mapping[str, Shape], probes: Sequence[ForwardProbe]
) -> bool:
    """Return whether the moments give the peak, and each storage's shape is right, in all probes.

    Sentences of one token, which need fewer copies, do not count. A moment that is the peak in no
    probe might be it elsewhere, so all storages are compared.
    """
    several = [probe for probe in probes if probe[1][TOKENS] > 1]
    same = [probe for probe in several if shapes.keys() <= probe[0].storages.keys()]
    return (
        len(same) >= PROOFS
        and _give_peak(moments, several)
        and all(
            tuple(size.at(values) for size in shape) == model.storages[name]
            for model, values in same
            for name, shape in shapes.items()
        )
    )


def _give_peak(moments: Sequence[str], probes: Sequence[ForwardProbe]) -> bool:
    """Return whether the largest of the moments is the real peak in all probes."""
    try:
        return all(
            max((evaluate(moment, values) for moment in moments), default=0) == model.peak
            for model, values in probes
        )
    except FormulaError:
        return False


def _observe_storages(observed: Observations, base: ForwardPass) -> Observations:
    """Return observations of storages, of the models that have all storages of the base.

    Some have not: the scores of one head need no copy.
    """
    seen = {
        name: tuple(
            (value, replace(model, shapes=model.storages))
            for value, model in points
            if isinstance(model, ForwardPass) and base.storages.keys() <= model.storages.keys()
        )
        for name, points in observed.seen.items()
    }
    variables = tuple(variable for variable in observed.variables if seen[variable.name])
    return Observations(replace(base, shapes=base.storages), observed.values, variables, seen)


def _largest(
    moments: Iterable[frozenset[str]], shapes: Mapping[str, Shape]
) -> tuple[Polynomial, ...]:
    """Return the elements alive at moments that are not always exceeded by another moment.

    None if a storage has no symbolic shape.
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
    """Return whether ``one`` is at least ``other`` for all symbols of at least 1.

    Each term that only ``other`` has must be bounded by one: ``B*D`` is at most ``B*S*D``.
    """
    difference = one - other
    spare = {names: value for names, value in difference.terms.items() if value > 0}
    for names, value in difference.terms.items():
        missing = -value
        for larger, left in spare.items():
            if missing > 0 and _divides(names, larger):
                spare[larger] = left - min(missing, left)
                missing -= min(missing, left)
        if missing > 0:
            return False
    return True


def _divides(one: Monomial, other: Monomial) -> bool:
    powers, needed = dict(other), dict(one)
    return all(powers.get(x, 0) >= needed.get(x, 0) for x in powers | needed)
