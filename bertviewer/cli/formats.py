"""The output formats of the commands, a table for each. To add one, add a line.

A format imports what it needs when it is used.
"""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from bertviewer.cli.printing import print_bytes, print_json, print_text

if TYPE_CHECKING:
    from bertviewer.api.comparison import Comparison, CorpusComparison
    from bertviewer.api.model import Model
    from bertviewer.api.run import Run

Subject = TypeVar("Subject")


class Format(Struct, Generic[Subject], frozen=True):
    """An output format of a command.

    Attributes:
        name: its name in ``--format``.
        result: returns the output for a model, run or comparison and the command's options.
        write: writes the output to stdout.
    """

    name: str
    result: Callable[[Subject, argparse.Namespace], Any]
    write: Callable[[Any], None]

    @property
    def is_binary(self) -> bool:
        """Whether the output is not text."""
        return self.write is print_bytes


def _summary_text(model: "Model", options: argparse.Namespace) -> str:
    return model.summary(depth=options.depth, parameters=options.parameters)


def _summary_json(model: "Model", options: argparse.Namespace) -> dict[str, Any]:
    document = model.to_json()
    if options.depth is not None:
        document["modules"] = [m for m in document["modules"] if m["depth"] <= options.depth]
    return document


def _summary_csv(model: "Model", options: argparse.Namespace) -> str:
    from bertviewer.report import summary

    return summary.csv(model.architecture, options.depth, options.parameters)


def _summary_markdown(model: "Model", options: argparse.Namespace) -> str:
    from bertviewer.report import summary

    architecture = model.loaded.with_kv_cache()
    return summary.markdown(architecture, options.depth, options.parameters)


SUMMARY: tuple[Format["Model"], ...] = (
    Format("text", _summary_text, print_text),
    Format("json", _summary_json, print_json),
    Format("csv", _summary_csv, print_text),
    Format("markdown", _summary_markdown, print_text),
)
RUN: tuple[Format["Run"], ...] = (
    Format("text", lambda run, _: run.summary(), print_text),
    Format("json", lambda run, _: run.to_json(), print_json),
)
COMPARISON: tuple[Format["Comparison | CorpusComparison"], ...] = (
    Format("text", lambda comparison, _: comparison.summary(), print_text),
    Format("json", lambda comparison, _: comparison.to_json(), print_json),
)
FLOW: tuple[Format["Model"], ...] = (
    Format("text", lambda model, options: model.flow_text(options.path), print_text),
    Format("json", lambda model, options: model.flow(options.path), print_json),
    Format("svg", lambda model, options: model.figure(options.path).svg(), print_text),
    Format("pdf", lambda model, options: model.figure(options.path).pdf(), print_bytes),
    Format("dot", lambda model, options: model.figure(options.path).dot(), print_text),
)


def names(formats: tuple[Format[Subject], ...]) -> tuple[str, ...]:
    """Return the names for ``--format``; the first is the default."""
    return tuple(each.name for each in formats)


def chosen(formats: tuple[Format[Subject], ...], options: argparse.Namespace) -> Format[Subject]:
    """Return the format of ``--format``."""
    return next(each for each in formats if each.name == options.format)
