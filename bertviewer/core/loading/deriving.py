"""Formulas of counts, costs and shapes, derived and added to an architecture.

Each step has a part of a budget of time and memory. If it does not suffice, the architecture says
why the formulas are missing.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from msgspec.structs import replace
from torch import nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.expressions.symbols import TARGET_TOKENS, Symbol, other_symbols_of, symbols_of
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import LENGTHS, trace_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows, SymbolicShape
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.symbolic.costs import derive_costs, no_costs
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.symbolic.kv_cache import derive_kv_cache
from bertviewer.core.symbolic.models import Build
from bertviewer.core.symbolic.size_lookup import derive_symbolic_shapes
from bertviewer.core.util.budget import Budget, OverBudget
from bertviewer.core.util.errors import describe_error
from bertviewer.core.util.progress import Progress

_TRACING = "Tracing the data flow"

LIMITS = (OverBudget, MemoryError, RecursionError)
"""Exceptions that end one step; the others go on."""


def with_counts(
    architecture: Architecture,
    source: ModelSource,
    progress: Progress,
    budget: Budget | None = None,
) -> Architecture:
    """Return an architecture with formulas of its counts.

    If the budget does not suffice, counts stay plain numbers, and a notice says why.
    """
    try:
        with _limited(budget, progress, 0.5) as report:
            found = derive(architecture.config, builder(source), report)
    except LIMITS as error:
        return _with_notice(
            architecture, f"Parameter counts have no formulas: {describe_error(error)}."
        )
    return replace(
        architecture,
        symbols=found.symbols,
        modules=tuple(
            replace(
                node,
                count_formula=found.counts.get(node.path, node.count_formula),
                domain=found.domains.get(node.path),
            )
            for node in architecture.modules
        ),
        parameters=tuple(
            replace(tensor, symbolic_shape=found.shapes.get(tensor.name))
            for tensor in architecture.parameters
        ),
    )


def with_costs(
    architecture: Architecture,
    source: ModelSource,
    progress: Progress,
    budget: Budget | None = None,
) -> Architecture:
    """Return an architecture that has counts with the costs of a forward pass.

    If the budget does not suffice, ``Costs.reason`` says so.
    """
    try:
        with _limited(budget, progress, 0.5) as report:
            costs = derive_costs(architecture.config, builder(source), report)
    except LIMITS as error:
        costs = no_costs(architecture.config, describe_error(error))
    symbols = _symbols(architecture.config, architecture.symbols, costs.names)
    costed = replace(architecture, symbols=symbols, costs=costs, kv_cache=None)
    was_exceeded = budget is not None and budget.was_exceeded
    try:
        return with_kv_cache(costed, source, progress, budget)
    except LIMITS as error:
        text = f"The memory of the cache has no formula: {describe_error(error)}."
        return costed if was_exceeded else _with_notice(costed, text)


def with_kv_cache(
    architecture: Architecture,
    source: ModelSource,
    progress: Progress,
    budget: Budget | None = None,
) -> Architecture:
    """Return an architecture with the memory of its key/value cache, if it has one.

    Without the formulas of counts it is a function of the input lengths only.

    Raises:
        OverBudget: the budget does not suffice.
    """
    with _limited(budget, progress, 0.3) as report:
        kv_cache = derive_kv_cache(architecture, builder(source), report)
    if kv_cache is None:
        return architecture
    used = kv_cache.names
    symbols = _symbols(architecture.config, architecture.symbols, used, followed=False)
    return replace(architecture, symbols=symbols, kv_cache=kv_cache)


def with_flows(
    architecture: Architecture,
    source: ModelSource,
    progress: Progress,
    budget: Budget | None = None,
) -> Architecture:
    """Return an architecture with the data flow of each module.

    If the budget does not suffice, ``Flows.missing`` says why a module has none; earlier flows stay
    if there are more of them.
    """
    is_pair = architecture.is_encoder_decoder
    lengths = {key: size for key, size in LENGTHS.items() if key != TARGET_TOKENS or is_pair}
    symbolic_shapes: Mapping[int, SymbolicShape] = {}
    is_first = architecture.costs is None  # counts and costs need time as well
    try:
        with _limited(budget, progress, 0.2 if is_first else 0.4) as report:
            report(0, 0, _TRACING)
            traced = trace_model(source, architecture.config, LENGTHS)
        if not is_first and traced.device == "meta":
            try:
                with _limited(budget, progress, 0.8) as report:
                    symbolic_shapes = derive_symbolic_shapes(
                        traced.trace, architecture, lengths, builder(source), report
                    )
            except LIMITS as error:
                architecture = _with_notice(
                    architecture,
                    f"Shapes in the data flow have no symbols: {describe_error(error)}.",
                )
        with _limited(budget, progress, 0.1 if is_first else 1.0) as report:
            report(0, 0, _TRACING)
            flows = FlowReader(traced.trace, architecture, symbolic_shapes).flows(lengths)
    except LIMITS as error:
        flows = Flows({}, missing={"": describe_error(error)}, lengths=lengths)
    known = architecture.flows
    if known is not None and len(known.distinct) > len(flows.distinct):
        flows = known
    return with_formulas(replace(architecture, flows=flows))


Step = Literal["counts", "costs", "flows"]
STEPS: Mapping[Step, Callable[[Architecture, ModelSource, Progress, Budget], Architecture]] = {
    "counts": with_counts,
    "costs": with_costs,
    "flows": with_flows,
}


def _limited(
    budget: Budget | None, progress: Progress, part: float
) -> AbstractContextManager[Progress]:
    """Limit work to a part of the remaining budget, if there is one."""
    return nullcontext(progress) if budget is None else budget.spend(progress, part)


def _with_notice(architecture: Architecture, notice: str) -> Architecture:
    source = architecture.source
    return replace(
        architecture,
        source=replace(source, notices=tuple(dict.fromkeys((*source.notices, notice)))),
    )


def builder(source: ModelSource) -> Build:
    """Return a function that builds a source's model on the meta device from a configuration."""

    def build(values: Mapping[str, Any]) -> nn.Module:
        changed = dict(values)
        if (labels := changed.pop("num_labels", None)) is not None:
            changed.pop("id2label", None)
            changed.pop("label2id", None)
            changed["num_labels"] = labels
        config = build_config(changed, source.name)
        return build_on_meta(config, source.task, source.name, source.untied)

    return build


def _symbols(
    config: Mapping[str, Any],
    counted: tuple[Symbol, ...],
    used: frozenset[str],
    *,
    followed: bool = True,
) -> tuple[Symbol, ...]:
    """Return the symbols of the counts and of other formulas, in the order of the configuration.

    Args:
        config: the configuration.
        counted: the symbols of the counts.
        used: the symbols in other formulas.
        followed: whether these formulas contain all that changes with a symbol.
    """
    known = {symbol.name: symbol for symbol in counted}
    sizes = (replace(s, variable=s.name if followed else "") for s in symbols_of(config))
    # Domains also limit ids, places of layers and numbers that are 0.
    return tuple(
        known.get(symbol.name, symbol)
        for symbol in (*sizes, *other_symbols_of(config))
        if symbol.name in known or symbol.name in used
    )
