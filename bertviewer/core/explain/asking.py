"""Which questions are asked where, with their answers for the model and the run at hand."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bertviewer.core.explain import attended, attention, counts, layers, tokens, vectors
from bertviewer.core.explain.explanation import (
    Answer,
    Asked,
    Explanation,
    Section,
)
from bertviewer.core.explain.references import reference
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps  # and with it numpy

EXPLANATIONS: tuple[Explanation, ...] = (
    *attended.EXPLANATIONS,
    *attention.EXPLANATIONS,
    *layers.EXPLANATIONS,
    *tokens.EXPLANATIONS,
    *vectors.EXPLANATIONS,
    *counts.EXPLANATIONS,
)
"""All of them; of several in one place the order is this one."""


def answers_for_module(
    architecture: Architecture, node: ModuleNode, run: ActivationRun | None = None
) -> tuple[Answer, ...]:
    """Return what is asked at a module, with what the run shows of it."""
    asked = Asked(architecture, node, run)
    found = (_answer(one, asked) for one in EXPLANATIONS if _is_asked_of(one, node))
    return tuple(answer for answer in found if answer is not None)


def answers_for_view(
    title: str,
    architecture: Architecture,
    run: ActivationRun,
    *,
    maps: "AttentionMaps | None" = None,
    state: int | None = None,
) -> tuple[Answer, ...]:
    """Return what is asked in a view of a run, what the run shows something of first.

    Args:
        title: the view's.
        architecture: the open model.
        run: what the view shows.
        maps: what the heads of the attention in sight look at.
        state: the hidden state in sight, ``None`` for the last one.
    """
    chosen = (one for one in EXPLANATIONS if title in one.views)
    found = _of_model(chosen, Asked(architecture, architecture.root, run, maps, state))
    return tuple(sorted(found, key=lambda answer: not answer.measured))


def answers_for_section(
    section: Section,
    architecture: Architecture,
    run: ActivationRun | None = None,
    *,
    maps: "AttentionMaps | None" = None,
    state: int | None = None,
) -> tuple[Answer, ...]:
    """Return what is answered in a part of a report, with arguments as of ``answers_for_view``."""
    chosen = (one for one in EXPLANATIONS if section in one.sections)
    return _of_model(chosen, Asked(architecture, architecture.root, run, maps, state))


def _is_asked_of(one: Explanation, node: ModuleNode) -> bool:
    is_model = one.of_model and not node.path
    return is_model or node.role in one.roles or node.name in one.names


def _of_model(chosen: Iterator[Explanation], asked: Asked) -> tuple[Answer, ...]:
    found = (_first_answer(one, asked) for one in chosen)
    return tuple(answer for answer in found if answer is not None)


def _first_answer(one: Explanation, asked: Asked) -> Answer | None:
    """Return the answer for the model, or for the first module that the question is asked of.

    An attention whose maps are given is asked before others.
    """
    if not one.roles and not one.names:
        return _answer(one, asked)
    shown = None if asked.maps is None else asked.maps.path
    nodes = sorted(asked.architecture.modules, key=lambda node: node.path != shown)
    tried: set[str] = set()
    for node in nodes:
        if not _is_asked_of(one, node) or node.class_name in tried:
            continue
        if node.path:  # modules of one class mostly give one answer
            tried.add(node.class_name)
        same = shown is None or node.path == shown
        maps = asked.maps if same else None
        found = _answer(one, Asked(asked.architecture, node, asked.run, maps, asked.state))
        if found is not None:
            return found
    return None


def _answer(one: Explanation, asked: Asked) -> Answer | None:
    numbers = one.facts(asked)
    if numbers is None:
        return None
    measured = one.measured(asked) if one.measured_text else None
    return Answer(
        name=one.name,
        question=_put_in(one.question, numbers),
        text=_put_in(one.text, numbers),
        measured="" if measured is None else _put_in(one.measured_text, measured),
        references=tuple(map(reference, one.sources)),
        path=asked.node.path,
    )


def _put_in(text: str, numbers: Mapping[str, str]) -> str:
    return text.format_map(numbers)
