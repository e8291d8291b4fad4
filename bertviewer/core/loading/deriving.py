"""Puts the formulas of counts and costs, once they are derived, into an architecture."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Letters
from bertviewer.core.architecture.forward_costs import Costs
from bertviewer.core.building.building import build_config, build_on_meta
from bertviewer.core.costs.costs import derive_costs
from bertviewer.core.counting.counting import derive
from bertviewer.core.counting.variants import Build
from bertviewer.core.expressions.symbols import Symbol, symbols_of
from bertviewer.core.flow.inputs.texts import TARGET_TOKENS
from bertviewer.core.flow.letters import derive_letters
from bertviewer.core.flow.reading import FlowReader
from bertviewer.core.flow.tracing_models import LENGTHS, trace_model
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource


def with_counts(
    architecture: Architecture, source: ModelSource, progress: Progress
) -> Architecture:
    """Return the architecture with formulas for its counts."""
    found = derive(architecture.config, builder(source), progress)
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


def with_costs(architecture: Architecture, source: ModelSource, progress: Progress) -> Architecture:
    """Return an architecture that has counts with what a forward pass costs."""
    costs = derive_costs(architecture.config, builder(source), progress)
    symbols = _symbols(architecture.config, architecture.symbols, costs)
    return replace(architecture, symbols=symbols, costs=costs)


def with_flows(architecture: Architecture, source: ModelSource, progress: Progress) -> Architecture:
    """Return an architecture with what each of its modules computes."""
    progress(0, 0, "Tracing the flow of data")
    is_pair = bool(architecture.config.get("is_encoder_decoder"))
    lengths = {key: size for key, size in LENGTHS.items() if key != TARGET_TOKENS or is_pair}
    traced = trace_model(source, architecture.config, LENGTHS)
    letters: Mapping[int, Letters] = {}
    if architecture.costs is not None and traced.device == "meta":
        letters = derive_letters(traced.trace, architecture, lengths, builder(source), progress)
    flows = FlowReader(traced.trace, architecture, letters).flows(lengths)
    return with_formulas(replace(architecture, flows=flows))


def builder(source: ModelSource) -> Build:
    """Return what builds a source's model on the meta device from a changed configuration."""

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
    config: Mapping[str, Any], counted: tuple[Symbol, ...], costs: Costs
) -> tuple[Symbol, ...]:
    """Return the symbols of the counts, and those that only the costs need, in their order."""
    known = {symbol.letter: symbol for symbol in counted}
    used, symbols = costs.letters, symbols_of(config)
    letters = {symbol.letter for symbol in symbols}
    return (
        *(
            known.get(symbol.letter, replace(symbol, variable=symbol.letter))
            for symbol in symbols
            if symbol.letter in known or symbol.letter in used
        ),
        # What domains speak of beside the sizes: ids and places.
        *(symbol for symbol in counted if symbol.letter not in letters),
    )
