"""Formulas of every tensor's shape and every module's number of parameters.

The model is built again on the meta device with one number of its configuration changed at a time;
a dimension that changes with the number is written with its symbol, and a list of blocks as a
multiple of the last one. The formulas are then verified on models that no fit has used (see
``solver``). What has no formula keeps its plain number.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    evaluate,
    join_conditions,
    names_in,
    names_in_conditions,
)
from bertviewer.core.expressions.polynomials import (
    Count,
    Polynomial,
    Relation,
    product,
    substituted,
    total,
)
from bertviewer.core.expressions.symbols import (
    LABELS_KEY,
    Symbol,
    is_standard,
    other_symbols_of,
    symbols_of,
)
from bertviewer.core.symbolic.conditions import value_conditions
from bertviewer.core.symbolic.models import (
    TENSOR,
    Build,
    ModelBuilder,
    ModelSizes,
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
from bertviewer.core.symbolic.perturbations import PROOFS
from bertviewer.core.symbolic.solver import Formulas, Solver
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.progress import Progress, no_progress

ROUNDS = 3
"""Depths without formulas are fixed in the second round, and all depths in the third."""


class Derivation(Struct, frozen=True):
    """The formulas of one model.

    Attributes:
        symbols: those in the formulas and conditions, and the standard ones of the configuration.
        shapes: each tensor's dimensions, such as ``("V", "D")``, ``("3*D", "D")``; plain numbers
            without a verified formula. They hold under the conditions of the tensor's module.
        counts: each module's number of elements as an expression, a tied tensor counted at its
            first name; the plain number without a verified formula.
        domains: the validity conditions of modules' formulas, of modules that have any.
        unproven: why the count of a module is a plain number.
    """

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, str]
    domains: Mapping[str, str]
    unproven: Mapping[str, str]


class _Round(Struct, frozen=True):
    """The result with some depths fixed, by names of the real model.

    Attributes:
        fixed: the symbols of these depths.
        observed: the models that formulas were fitted to.
        proven: the verified formulas.
        conditions: of the verified formulas.
        reasons: why the others are not verified.
        unfitted_depths: further depths without formulas for their other values.
    """

    fixed: frozenset[str]
    observed: Observations
    proven: Formulas
    conditions: Mapping[str, Iterable[str]]
    reasons: Mapping[str, str]
    unfitted_depths: frozenset[str]


def derive(config: Mapping[str, Any], build: Build, progress: Progress = no_progress) -> Derivation:
    """Derive and verify the symbolic shapes and counts of a model.

    Args:
        config: the configuration as a plain dict.
        build: builds the model on the meta device from a changed configuration.
        progress: is called before each build; its errors are raised.

    Raises:
        Exception: what ``build`` raises for the unchanged ``config``.
    """
    symbols, others = symbols_of(config), other_symbols_of(config)
    # The real model, the base, about two changes for each number, and the probes.
    expected = 10 + 2 * len(symbols) + PROOFS
    builder = ModelBuilder(config, symbols, build, ModelSizes.of, progress, expected)
    real = builder.real()
    limits = [value_conditions(builder, real, others)]
    rounds = list(_rounds(builder, real))
    best = max(rounds, key=lambda found: len(found.proven))
    limits.append(value_conditions(builder, real, [s for s in symbols if s.name in best.fixed]))
    varied = {name for key, model in builder.built.items() if model for name, _ in key}
    # Numbers of which no other value was built may affect everything.
    held = [f"{s.name} == {s.value}" for s in symbols if s.name not in varied]
    known: dict[str, tuple[str, ...]] = {}
    domains: dict[str, str] = {}
    for name, fact in real.facts.items():
        found = (best.conditions, *limits)
        conditions = [text for texts in found for text in texts.get(name, ())] + held
        formula = best.proven.get(name, tuple(map(str, fact)))
        known[name] = _with_fixed(formula, conditions, builder.values)
        if name in real.sizes and (domain := join_conditions(conditions)) is not None:
            domains[name] = domain
    variable_of = rounds[0].observed.variable_of
    symbols = tuple(replace(s, variable=variable_of(s.name)) for s in symbols)
    return Derivation(
        _shown((*symbols, *others), known.values(), domains.values()),
        {name: known[TENSOR + name] for name in real.shapes},
        {path: known[path][0] for path in real.sizes},
        domains,
        {path: best.reasons[path] for path in real.sizes if path in best.reasons},
    )


def _rounds(builder: ModelBuilder, real: ModelSizes) -> Iterator[_Round]:
    """Yield rounds with all depths free, then those that have formulas, then none."""
    depths = frozenset(symbol.name for symbol in builder.depths)
    fixed = frozenset[str]()
    for number in range(ROUNDS):
        try:
            found = _explain(builder, real, fixed, is_last=number == ROUNDS - 1)
        except OverBudget:
            if number == 0:
                raise
            return  # previous rounds are kept
        yield found
        more = (found.unfitted_depths if number == 0 else depths) - fixed or depths - fixed
        if not found.reasons or not more:
            return
        fixed |= more


def _explain(
    every: ModelBuilder, real: ModelSizes, fixed: frozenset[str], *, is_last: bool
) -> _Round:
    """Fit and verify formulas of a model whose fixed depths keep their values.

    If further depths need to be fixed, only these are returned, except in the last round.
    """
    symbols = tuple(s for s in every.symbols if s.name not in fixed)
    builder = replace(every, symbols=symbols)
    observed = observe(builder, real, every_kind=True)
    repeats, shapes = fit_repeats(observed), fit_shapes(observed)
    without, lengths = unfitted(observed, shapes), observed.base.lengths
    lengthening = {
        path: [
            name
            for name, points in observed.seen.items()
            if any(model.lengths.get(path, 0) != length for _, model in points)
        ]
        for path, length in lengths.items()
    }
    changing = {name for names in without.values() for name in names}
    changing |= {name for path in lengths.keys() - repeats for name in lengthening[path]}
    depths = (s.name for s in symbols if observed.is_depth(s))
    unfitted_depths = frozenset(changing.intersection(depths))
    if unfitted_depths and not is_last:
        reasons = {"": "the depths follow no formula"}
        return _Round(fixed, observed, {}, {}, reasons, unfitted_depths)
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
    for name, names in without.items():
        for path in (TENSOR + name, *enclosing_modules(name)):
            varying = ", ".join(names)
            reasons.setdefault(path, f"no formula fits {name}, which varies with {varying}")
    facts = real.facts
    templates = {name: template_path(name, lengths) for name in facts}
    proven = {
        name: verified[template]
        for name, template in templates.items()
        if template in verified and _evaluates_to(verified[template], facts[name], builder.values)
    }
    conditions = {
        name: [
            *solver.conditions.get(templates[name], ()),
            # A list whose length has no formula has to keep it.
            *(
                f"{depth} == {builder.values[depth]}"
                for path in enclosing_modules(name)
                if path not in proven
                for depth in lengthening.get(path, ())
            ),
        ]
        for name in proven
    }
    missing = {
        name: reasons.get(template, "it could not be verified")
        for name, template in templates.items()
        if name not in proven
    }
    return _Round(
        fixed, observed, proven, conditions, missing, unfitted_depths | solver.unfitted_depths
    )


def _evaluates_to(formula: tuple[str, ...], fact: tuple[int, ...], values: Values) -> bool:
    try:
        return tuple(evaluate(part, values) for part in formula) == fact
    except FormulaError:
        return False


def _with_fixed(
    formula: tuple[str, ...], conditions: Iterable[str], values: Values
) -> tuple[str, ...]:
    """Return a formula with values instead of the symbols that have to keep them."""
    fixed = {x for part in formula for x in names_in(part) if f"{x} == {values[x]}" in conditions}
    numbers = [Relation(name, str(values[name]), "") for name in fixed]
    return tuple(substituted(part, numbers) for part in formula) if numbers else formula


def _shown(
    symbols: Iterable[Symbol], formulas: Iterable[tuple[str, ...]], domains: Iterable[str]
) -> tuple[Symbol, ...]:
    """Return the symbols in formulas and conditions, those proportional to one, and standard ones.

    Standard symbols such as the number of heads may be in no formula; labels only if they are.
    """
    used = {name for formula in formulas for text in formula for name in names_in(text)}
    used = used.union(*map(names_in_conditions, domains))
    return tuple(
        symbol
        for symbol in symbols
        if symbol.name in used
        or (symbol.variable != symbol.name and symbol.variable in used)
        or (is_standard(symbol) and symbol.key != LABELS_KEY)
    )


def count_modules(
    model: ModelSizes,
    shapes: Mapping[str, Shape],
    repeats: Mapping[str, Polynomial],
    *,
    collect: bool = False,
) -> dict[str, Count]:
    """Return every module's count, summed from its tensors and its children.

    Args:
        model: the model with few layers.
        shapes: its tensors' symbolic shapes. A module with a tensor that has none, and all modules
            above it, have no count.
        repeats: the number of blocks, by the path that holds them; further ones equal the last.
        collect: whether equal blocks of other lists are written as a multiple of one.

    Returns:
        Counts by module path. A tied tensor counts at its first name.
    """
    own: dict[str, list[Polynomial | None]] = {path: [] for path in model.modules}
    for name in model.shapes:
        if name not in model.first_names:
            size = product(shapes[name]) if name in shapes else None
            own[name.rpartition(".")[0]].append(size)
    children: dict[str, list[str]] = {path: [] for path in model.modules}
    for path in model.modules[1:]:
        children[path.rpartition(".")[0]].append(path)
    counts: dict[str, Count] = {}
    # named_modules() lists children after their parents.
    for path in reversed(model.modules):
        tensors = [tensor for tensor in own[path] if tensor is not None]
        below = {child: counts[child] for child in children[path] if child in counts}
        if len(tensors) != len(own[path]) or len(below) != len(children[path]):
            continue
        blocks = [count for child, count in below.items() if child.rpartition(".")[2].isdigit()]
        others = [count for child, count in below.items() if not child.rpartition(".")[2].isdigit()]
        parts: list[Polynomial | Count] = [total(tensors)]
        if path in repeats:
            parts += _repeated(repeats[path], blocks)
        elif collect and len(set(map(str, blocks))) < len(blocks):
            parts += _collected(blocks)
        else:
            others = list(below.values())
        counts[path] = Count.of((*parts, *(part for count in others for part in count.parts)))
    return counts


def _repeated(times: Polynomial, blocks: list[Count]) -> list[Polynomial | Count]:
    """Multiply the last block, and add the differences of the first ones.

    T5's first layer alone holds the position biases, ModernBERT's has no norm.
    """
    template = blocks[-1]
    return [template.repeated(times), total(block.value - template.value for block in blocks)]


def _collected(blocks: Iterable[Count]) -> list[Polynomial | Count]:
    """Return blocks of several kinds, each multiplied by its number."""
    kinds: dict[str, list[Count]] = {}
    for block in blocks:
        kinds.setdefault(str(block), []).append(block)
    return [some[0].repeated(Polynomial.constant(len(some))) for some in kinds.values()]
