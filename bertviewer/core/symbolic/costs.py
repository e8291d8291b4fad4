"""Formulas of what a forward pass costs: multiply-adds, shapes and memory.

A forward pass on the meta device is repeated with one number changed at a time, the batch size B
and the tokens S among them, and each matrix product's dimensions are fitted. The formulas are
verified on models and inputs that no fit has seen, the shortest and the longest input among them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from bertviewer.core.expressions.domains import joined, letters_in
from bertviewer.core.expressions.letters import LETTERS
from bertviewer.core.expressions.symbols import Symbol, others_of, quantity_of, symbols_of
from bertviewer.core.graph.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.symbolic.conditions import even_conditions
from bertviewer.core.symbolic.formulas import (
    Shape,
    count_modules,
    factored,
    fit_repeats,
    fit_shapes,
    template_path,
    unfitted,
)
from bertviewer.core.symbolic.forward_pass import (
    INPUT,
    OUTPUT,
    PRODUCT,
    ForwardPass,
    entry_kind,
    owner_of,
    read_forward,
)
from bertviewer.core.symbolic.models import Build, ModelBuilder, owners
from bertviewer.core.symbolic.observations import Observations, fixed_numbers, observe
from bertviewer.core.symbolic.peaks import ForwardTrial, derive_peak, run_trials
from bertviewer.core.symbolic.perturbations import PROOFS
from bertviewer.core.symbolic.solver import Solver
from bertviewer.core.util.errors import Stopped, describe_error
from bertviewer.core.util.progress import Progress, no_progress

USUAL_TOKENS = 128
"""Figures are given for one sentence of so many tokens, by default."""
NOT_ALWAYS = "modified models do not all multiply there, or not equally often"


def derive_costs(
    config: Mapping[str, Any], build: Build, progress: Progress = no_progress
) -> Costs:
    """Derive and verify what a forward pass costs, in the configuration's symbols and B and S.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises is raised here.

    Returns:
        A formula for everything that has one. Where the model does not read text, or cannot be
        run without the values of its activations, there is none, and a reason.
    """
    usual = _usual_tokens(config)
    # Several sentences, and another length for the decoder's: what is 1, or equal, hides much.
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
    if any(not symbol.key and symbol.letter not in observed.seen for symbol in symbols):
        return no_costs(config, "the model accepts only sentences of one length")
    if not (trials := run_trials(builder, observed)):
        return no_costs(config, "too few modified configurations run to verify a formula")
    layers = tuple(symbol.letter for symbol in symbols if quantity_of(symbol) == "layers")
    trials.append((real, builder.values))
    peak, peak_fixed = derive_peak(builder, observed, layers, trials)
    # Sizes of chunks share out the work, which shapes depend on, but not multiply-adds.
    others = [symbol for symbol in others_of(config) if not symbol.key.startswith("chunk_size_")]
    are_places = any(symbol.key.rpartition(".")[2].isdigit() for symbol in others)
    start, values = (real, {}) if are_places else (observed.base, observed.values)
    fixed = fixed_numbers(builder, replace(start, shapes={}), others, values)
    modules, domain = _modules(builder, observed, layers, trials, fixed)
    followed = {symbol.letter: observed.variable_of(symbol.letter) for symbol in symbols}
    variables = {letter: variable for letter, variable in followed.items() if variable}
    inputs = _input_symbols(config, 1, usual, usual)
    return Costs(inputs, modules, peak, peak_fixed, variables, domain)


def no_costs(config: Mapping[str, Any], reason: str) -> Costs:
    """Return costs without formulas, and why there are none."""
    usual = _usual_tokens(config)
    return Costs(_input_symbols(config, 1, usual, usual), {}, (), reason=reason)


def _usual_tokens(config: Mapping[str, Any]) -> int:
    """Return a number of tokens that leaves room for longer sentences."""
    longest = next((s.value for s in symbols_of(config) if s.letter == "L"), 4 * USUAL_TOKENS)
    return max(1, min(USUAL_TOKENS, longest // 4))


def _input_symbols(config: Mapping[str, Any], *values: int) -> tuple[Symbol, ...]:
    """Return the symbols of a forward pass's inputs with the values of B, S and S_d."""
    letters = (SENTENCES, TOKENS, *([TARGET_TOKENS] if config.get("is_encoder_decoder") else []))
    meanings = {letter.letter: letter.meaning for letter in LETTERS}
    return tuple(
        Symbol(x, "", value, meanings[x], x) for x, value in zip(letters, values, strict=False)
    )


def _modules(
    builder: ModelBuilder,
    observed: Observations,
    layers: Sequence[str],
    trials: Sequence[ForwardTrial],
    fixed: Mapping[str, Iterable[str]],
) -> tuple[dict[str, ModuleCosts], str | None]:
    """Return the formulas of every module that the last trial, the real model, calls.

    And the conditions under which all of them hold, ``fixed`` among them. There are none on B and
    S: what depends on the sentence is no formula of it.
    """
    base, repeats = observed.base, fit_repeats(observed)
    inputs = {symbol.letter for symbol in builder.symbols if not symbol.key}
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
    solver = Solver(builder, observed, formulas, shapes, lengths=lengths, unlimited=inputs)
    solver.refute(trials)
    solver.search()
    real, _ = trials[-1]
    called = {path for call in real.called for path in (call, *owners(call))}
    paths = [path for path in real.modules if path in called]
    found = {name: solver.formulas.get(template_path(name, lengths)) for name in real.facts}
    causes = dict(solver.reasons)
    for name, letters in unfitted(observed, shapes).items():
        if name in products:
            reason = "no formula fits the sizes of its products, which vary with "
            causes.setdefault(owner_of(name), reason + ", ".join(letters))
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
    return modules, joined(conditions)


def _divides_inputs(shape: Shape, builder: ModelBuilder, inputs: set[str]) -> bool:
    """Return whether a division of a formula depends on the inputs."""
    symbols = {symbol.letter: symbol for symbol in builder.symbols}
    even = (text for size in shape for text in even_conditions(size, builder.values, symbols))
    return any(letters_in(text) & inputs for text in even)


def _reasons(causes: Mapping[str, str | None]) -> dict[str, str]:
    """Return why modules have no formula: their own cause, or the first part's that has one.

    Args:
        causes: of the modules without a formula, in the order of ``named_modules()``.
    """
    parts = {owner for path in causes for owner in owners(path) if path}
    reasons: dict[str, str] = {}
    for path, cause in causes.items():
        if path in parts:
            continue  # a part of it without a formula is cause enough
        reasons[path] = cause or NOT_ALWAYS
        for above in owners(path) if path else ():
            reasons.setdefault(above, f"{path}: {reasons[path]}")
    return reasons
