"""Answers to the questions that apply to a module, a view of a run, or a section of a report."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bertviewer.core.explain import attention, counts, layers, tokens, vectors
from bertviewer.core.explain.explanation import Answer, Context, Explanation, Section
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

if TYPE_CHECKING:  # they import numpy
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import AttentionMaps, HeadMeasures
    from bertviewer.core.analysis.predictions import Predictions

EXPLANATIONS: tuple[Explanation, ...] = (
    *attention.EXPLANATIONS,
    *counts.EXPLANATIONS,
    *tokens.EXPLANATIONS,
    *layers.EXPLANATIONS,
    *vectors.EXPLANATIONS,
)
"""All explanations, in the order in which they are listed."""


def answers_for_module(
    architecture: Architecture, node: ModuleNode, run: ActivationRun | None = None
) -> tuple[Answer, ...]:
    """Return the answers about a module, with what the run shows."""
    context = Context(architecture, node, run)
    found = (_answer(each, context) for each in EXPLANATIONS if _is_about(each, node))
    return tuple(answer for answer in found if answer is not None)


def answers_for_view(  # noqa: PLR0917
    title: str,
    architecture: Architecture,
    run: ActivationRun,
    maps: "AttentionMaps | None" = None,
    state: int | None = None,
    predictions: "tuple[Predictions, ...]" = (),
) -> tuple[Answer, ...]:
    """Return the answers for a view of a run, those with measurements first.

    Args:
        title: the view's.
        architecture: the open model.
        run: the run that the view shows.
        maps: the visible attention maps.
        state: the visible hidden state, ``None`` for the last one.
        predictions: the visible predictions.
    """
    chosen = (each for each in EXPLANATIONS if title in each.views)
    heads = {} if maps is None else _measures(architecture, run, maps)
    shown = len(run.hidden_states) - 1 if state is None else state
    context = Context(architecture, architecture.root, run, heads, shown, predictions, True)
    return _measured_first(_about_model(chosen, context, "" if maps is None else maps.path))


def answers_for_section(
    section: Section,
    architecture: Architecture,
    run: ActivationRun | None = None,
    heads: "Mapping[AttentionLayer, HeadMeasures] | None" = None,
    predictions: "tuple[Predictions, ...]" = (),
) -> tuple[Answer, ...]:
    """Return the answers for a part of a report, those with measurements first.

    Args:
        section: the part.
        architecture: the model.
        run: the run of the report.
        heads: the measures of all heads.
        predictions: all predictions of the report.
    """
    chosen = (each for each in EXPLANATIONS if section == each.section)
    context = Context(architecture, architecture.root, run, heads or {}, None, predictions, True)
    return _measured_first(_about_model(chosen, context))


def _measured_first(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    return tuple(sorted(answers, key=lambda answer: not answer.measured))


def _measures(
    architecture: Architecture, run: ActivationRun, maps: "AttentionMaps"
) -> "Mapping[AttentionLayer, HeadMeasures]":
    """Return the measures of the heads of one layer."""
    from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
    from bertviewer.core.analysis.attention_maps import head_measures  # imports numpy

    known = attention_layers(architecture, run)
    one = next((each for each in known if (each.path, each.call) == (maps.path, maps.call)), None)
    return {one or AttentionLayer(maps.path, maps.call): head_measures(maps, run)}


def _is_about(explanation: Explanation, node: ModuleNode) -> bool:
    is_model = explanation.of_model and not node.path
    return is_model or node.role in explanation.roles or node.name in explanation.names


def _about_model(
    chosen: Iterator[Explanation], context: Context, shown: str = ""
) -> Iterator[Answer]:
    found = (_first_answer(explanation, context, shown) for explanation in chosen)
    return (answer for answer in found if answer is not None)


def _first_answer(explanation: Explanation, context: Context, shown: str) -> Answer | None:
    """Return the answer about the model, or about the first module that it is true of.

    If only one module is shown, it is the only one.
    """
    if not explanation.roles and not explanation.names:
        return _answer(explanation, context)
    tried: set[str] = set()
    for node in context.architecture.modules:
        if not _is_about(explanation, node) or node.class_name in tried:
            continue
        if shown and node.path != shown:
            continue
        if node.path:  # modules of one class usually have the same answer
            tried.add(node.class_name)
        if found := _answer(explanation, replace(context, node=node)):
            return found
    return None


def _answer(explanation: Explanation, context: Context) -> Answer | None:
    numbers = explanation.condition(context)
    if numbers is None:
        return None
    measured = numbers if explanation.measured is None else explanation.measured(context)
    return Answer(
        name=explanation.name,
        question=explanation.question.format_map(numbers),
        text=explanation.text.format_map(numbers),
        measured="" if measured is None else explanation.measured_text.format_map(measured),
        source=explanation.sources,
        path=context.node.path,
    )
