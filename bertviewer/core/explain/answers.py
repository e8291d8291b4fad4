"""Answers to the questions that apply to a module, a view of a run, or a section of a report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bertviewer.core.explain import attention, counts, layers, tokens, vectors
from bertviewer.core.explain.explanation import Answer, Context, Explanation, Section
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps  # imports numpy

EXPLANATIONS: tuple[Explanation, ...] = (
    *attention.EXPLANATIONS,
    *layers.EXPLANATIONS,
    *tokens.EXPLANATIONS,
    *vectors.EXPLANATIONS,
    *counts.EXPLANATIONS,
)
"""All explanations, in the order in which they are listed."""


def answers_for_module(
    architecture: Architecture, node: ModuleNode, run: ActivationRun | None = None
) -> tuple[Answer, ...]:
    """Return the answers about a module, with what the run shows."""
    context = Context(architecture, node, run)
    found = (_answer(each, context) for each in EXPLANATIONS if _is_about(each, node))
    return tuple(answer for answer in found if answer is not None)


def answers_for_view(
    title: str,
    architecture: Architecture,
    run: ActivationRun,
    *,
    maps: "AttentionMaps | None" = None,
    state: int | None = None,
) -> tuple[Answer, ...]:
    """Return the answers for a view of a run, those with measurements first.

    Args:
        title: the view's.
        architecture: the open model.
        run: the run that the view shows.
        maps: the visible attention maps.
        state: the visible hidden state, ``None`` for the last one.
    """
    chosen = (each for each in EXPLANATIONS if title in each.views)
    found = _about_model(chosen, Context(architecture, architecture.root, run, maps, state))
    return tuple(sorted(found, key=lambda answer: not answer.measured))


def answers_for_section(
    section: Section,
    architecture: Architecture,
    run: ActivationRun | None = None,
    *,
    maps: "AttentionMaps | None" = None,
) -> tuple[Answer, ...]:
    """Return the answers for a part of a report; arguments as of ``answers_for_view``."""
    chosen = (each for each in EXPLANATIONS if section in each.sections)
    return tuple(_about_model(chosen, Context(architecture, architecture.root, run, maps)))


def _is_about(explanation: Explanation, node: ModuleNode) -> bool:
    is_model = explanation.of_model and not node.path
    return is_model or node.role in explanation.roles or node.name in explanation.names


def _about_model(chosen: Iterator[Explanation], context: Context) -> Iterator[Answer]:
    found = (_first_answer(explanation, context) for explanation in chosen)
    return (answer for answer in found if answer is not None)


def _first_answer(explanation: Explanation, context: Context) -> Answer | None:
    """Return the answer about the model, or about the first module that it is true of.

    If there are attention maps, their module is tried first.
    """
    if not explanation.roles and not explanation.names:
        return _answer(explanation, context)
    shown = None if context.maps is None else context.maps.path
    tried: set[str] = set()
    for node in sorted(context.architecture.modules, key=lambda node: node.path != shown):
        if not _is_about(explanation, node) or node.class_name in tried:
            continue
        if node.path:  # modules of one class usually have the same answer
            tried.add(node.class_name)
        maps = context.maps if shown in (None, node.path) else None
        if found := _answer(explanation, replace(context, node=node, maps=maps)):
            return found
    return None


def _answer(explanation: Explanation, context: Context) -> Answer | None:
    numbers = explanation.condition(context)
    if numbers is None:
        return None
    measured = explanation.measured(context)
    return Answer(
        name=explanation.name,
        question=explanation.question.format_map(numbers),
        text=explanation.text.format_map(numbers),
        measured="" if measured is None else explanation.measured_text.format_map(measured),
        source=explanation.sources,
        path=context.node.path,
    )
