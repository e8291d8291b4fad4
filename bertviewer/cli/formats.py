"""What the commands write to the standard output: for each command the one list of its formats.

Whoever adds a format adds an entry here. Nothing is imported until a format is written.
"""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from bertviewer.cli.printing import print_bytes, print_json, print_text
from bertviewer.core.frozen import frozen

if TYPE_CHECKING:
    from bertviewer.core.activations.activation_run import ActivationRun
    from bertviewer.core.architecture.architecture import Architecture
    from bertviewer.core.architecture.flow import Flow
    from bertviewer.core.comparing.comparison import Comparison
    from bertviewer.core.loading.loaded_model import LoadedModel

Result = TypeVar("Result")


@frozen
class Format(Generic[Result]):
    """One form of a command's result.

    Attributes:
        name: as ``--format`` takes it.
        write: writes a result to the standard output; it gets the command's options, too.
        needs_formulas: whether all formulas are in it, which take a second of a new model.
        is_binary: whether it is no text that a terminal can show.
    """

    name: str
    write: Callable[[Result, argparse.Namespace], None]
    needs_formulas: bool = False
    is_binary: bool = False


def _summary_text(model: "LoadedModel", options: argparse.Namespace) -> None:
    from bertviewer.report import summaries
    from bertviewer.report.key_report import key_lines

    text = summaries.text(model.architecture, options.depth, options.parameters)
    lines = () if model.keys is None else ("", *key_lines(model.keys))
    print_text("\n".join((text, *lines)))


def _summary_json(model: "LoadedModel", options: argparse.Namespace) -> None:
    document = model.architecture.to_json()
    if options.depth is not None:
        document["modules"] = [m for m in document["modules"] if m["depth"] <= options.depth]
    document["checkpoint"] = None if model.keys is None else model.keys.to_json()
    print_json(document)


def _summary_csv(model: "LoadedModel", options: argparse.Namespace) -> None:
    from bertviewer.report import summaries

    print_text(summaries.csv(model.architecture, options.depth, options.parameters))


def _summary_markdown(model: "LoadedModel", options: argparse.Namespace) -> None:
    from bertviewer.report import summaries

    print_text(summaries.markdown(model.architecture, options.depth, options.parameters))


def _run_text(run: "ActivationRun", _options: argparse.Namespace) -> None:
    from bertviewer.report.summaries import run_text

    print_text(run_text(run))


def _run_json(run: "ActivationRun", _options: argparse.Namespace) -> None:
    print_json(run.to_json())


def _comparison_text(comparison: "Comparison", _options: argparse.Namespace) -> None:
    from bertviewer.report.comparison_text import comparison_text

    print_text(comparison_text(comparison))


def _comparison_json(comparison: "Comparison", _options: argparse.Namespace) -> None:
    print_json(comparison.to_json())


Flowing = tuple["Flow", "Architecture"]
"""The flow of one module, and the model that it is in."""


def _flow_text(found: Flowing, _options: argparse.Namespace) -> None:
    from bertviewer.report.flow_text import flow_text

    print_text(flow_text(*found))


def _flow_json(found: Flowing, _options: argparse.Namespace) -> None:
    flow, architecture = found
    print_json(flow.to_json(architecture.source))


def _flow_svg(found: Flowing, _options: argparse.Namespace) -> None:
    from bertviewer.report.flow_drawing import flow_svg

    print_text(flow_svg(*found))


def _flow_pdf(found: Flowing, _options: argparse.Namespace) -> None:
    from bertviewer.report.flow_drawing import flow_pdf

    print_bytes(flow_pdf(*found))


def _flow_dot(found: Flowing, _options: argparse.Namespace) -> None:
    from bertviewer.charts.flow.dot import dot_of

    print_text(dot_of(found[0]))


SUMMARY: tuple[Format["LoadedModel"], ...] = (
    Format("text", _summary_text),
    Format("json", _summary_json, needs_formulas=True),
    Format("csv", _summary_csv),
    Format("markdown", _summary_markdown),
)
RUN: tuple[Format["ActivationRun"], ...] = (Format("text", _run_text), Format("json", _run_json))
COMPARISON: tuple[Format["Comparison"], ...] = (
    Format("text", _comparison_text),
    Format("json", _comparison_json),
)
FLOW: tuple[Format[Flowing], ...] = (
    Format("text", _flow_text),
    Format("json", _flow_json, needs_formulas=True),
    Format("svg", _flow_svg),
    Format("pdf", _flow_pdf, is_binary=True),
    Format("dot", _flow_dot),
)


def names(formats: tuple[Format[Result], ...]) -> tuple[str, ...]:
    """Return what ``--format`` takes; the first is the default."""
    return tuple(each.name for each in formats)


def chosen(formats: tuple[Format[Result], ...], options: argparse.Namespace) -> Format[Result]:
    """Return the format that the options ask for."""
    return next(each for each in formats if each.name == options.format)
