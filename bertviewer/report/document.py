"""The report as plain data: what the PDF shows is this, through a template.

A new section is a key in the data of ``build_document``, which ``PARTS`` of its tests names, and
what shows it in ``resources/report/report.typ``: there, or in a template beside it that it imports.
What a run is needed for is a key of ``_run_data``; a picture is drawn in ``draw_run``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bertviewer import __version__
from bertviewer.charts.layers import layer_chart
from bertviewer.charts.naming import names_of_states, shortened
from bertviewer.charts.token_norms import norms_chart
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.statistics import figure
from bertviewer.core.analysis.token_classes import second_start
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.count_steps import count_steps
from bertviewer.core.architecture.folding import TreeRow, fold
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.families.families import kind_of_class
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.frozen import frozen
from bertviewer.core.source.tasks import find_task
from bertviewer.core.text.numerals import with_minus
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.paper import plot_pdf
from bertviewer.report.check import check_data
from bertviewer.report.costs import cost_data, memory_rows, terms_data
from bertviewer.report.random_words import random_words
from bertviewer.report.summaries import RUN_FIGURES, number, provenance, tokenizer_note, totals
from bertviewer.report.walk import walk_data

SCHEMA = "bertviewer.report/1"

PLOT_SIZE = (680, 270)  # pixels, drawn to the width of the page
HEATMAP_SIZE = (680, 290)
LONG_WORD = 40
TOKEN_LENGTH = 32

# Formulas that say nothing that a reader of the report would look for.
_PLAIN_ROLES = frozenset({"composition", "dropout"})


@frozen
class ReportDocument:
    """``data`` is the whole document, ready for JSON; ``plots`` its drawings, PDFs by file name."""

    data: dict[str, Any]
    plots: dict[str, bytes]


@frozen
class DrawnRun:
    """A run with its plots as PDFs by file name; ``statistic`` is what is plotted per layer."""

    run: ActivationRun
    statistic: str
    plots: dict[str, bytes]


def build_document(architecture: Architecture, drawn: DrawnRun | None = None) -> ReportDocument:
    """Gather the report of a model, and of a run if there is one."""
    source = architecture.source
    run = None if drawn is None else drawn.run
    tree = fold(architecture)
    parts = (tree, *tree.children)
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "title": source.name,
        "class": architecture.root.class_name,
        "task": find_task(source.task).title,
        "provenance": provenance(source),
        "source": source.to_json(),
        "program": f"bertviewer {__version__}",
        "libraries": [f"{name} {_version(name)}" for name in ("torch", "transformers")],
        "totals": totals(architecture),
        "config": [[k, json.dumps(v, ensure_ascii=False)] for k, v in architecture.config.items()],
        "symbols": [asdict(symbol) for symbol in architecture.symbols],
        "breakdown": [_breakdown_row(row, architecture) for row in parts],
        "costs": cost_data([(row.label, row.node) for row in parts], architecture, run),
        "memory": [list(row) for row in memory_rows(architecture.root.parameters)],
        "walk": walk_data(architecture, run),
        "modules": list(_module_rows(tree, 0)),
        "formulas": list(_formulas(tree, architecture)),
        "run": None,
        "check": None if drawn is None else check_data(drawn.run),
    }
    if drawn is None:
        return ReportDocument(data, {})
    data["run"] = _run_data(architecture, drawn.run, drawn.statistic)
    return ReportDocument(data, drawn.plots)


def _breakable(text: str) -> str:
    """Let words that are longer than a line break; the mark for it has no width."""
    return re.sub(rf"(\S{{{LONG_WORD}}})(?=\S)", "\\1\u200b", text)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(unknown version)"


def _breakdown_row(row: TreeRow, architecture: Architecture) -> dict[str, Any]:
    steps = count_steps(row.node, architecture)
    return {
        "name": row.label,
        "class": row.class_label,
        "parameters": f"{row.parameters:,}",
        "share": row.share,
        "percent": f"{row.share:.2%}",
        "terms": [] if steps is None else terms_data(steps),
    }


def _module_rows(row: TreeRow, level: int) -> Iterator[dict[str, Any]]:
    yield {
        "level": level,
        "name": row.label,
        "class": row.class_label,
        "parameters": f"{row.parameters:,}",
        "share": f"{row.share:.2%}",
        "shape": shape_text(row.shape),
    }
    for child in row.children:
        yield from _module_rows(child, level + 1)


def _formulas(tree: TreeRow, architecture: Architecture) -> Iterator[dict[str, Any]]:
    """Yield the formula of the first module of each class, in the order of the tree."""
    seen = set()
    rows = [tree]
    while rows:
        row = rows.pop(0)
        rows = [*row.children, *rows]
        kind, formula = kind_of_class(row.node.class_name), formula_of(row.node, architecture)
        is_plain = kind is not None and kind.role in _PLAIN_ROLES
        if formula is None or is_plain or row.node.class_name in seen:
            continue
        seen.add(row.node.class_name)
        yield {
            "class": row.node.class_name,
            "path": row.node.path,
            "title": formula.title,
            "summary": formula.summary,
            "maths": formula.maths,
            "terms": [asdict(term) for term in formula.terms],
            "source": formula.source,
        }


def _run_data(architecture: Architecture, run: ActivationRun, statistic: str) -> dict[str, Any]:
    figures = [layer_chart(architecture, run, name).lines for name in RUN_FIGURES]
    stacks = []
    for index, line in enumerate(figures[0]):
        columns = [lines[index].values for lines in figures]
        stacks.append(
            {
                "label": line.label,
                "rows": [
                    [str(layer), *(_number(column[layer]) for column in columns)]
                    for layer in range(len(line.values))
                ],
            }
        )
    root = run.modules[0].statistics
    random = random_words(run.source, architecture.tensor_count)
    states = names_of_states(run)
    return {
        "document": run.to_json(),
        "statistic": statistic,
        "text": _breakable(run.sentence.text),
        "pair": run.sentence.pair and _breakable(run.sentence.pair),
        "tokens": [
            [str(t.id), shortened(t.text, TOKEN_LENGTH), str(t.segment)] for t in run.tokens
        ],
        "second_start": second_start(run.tokens),
        "tokenizer": tokenizer_note(run),
        "random": None if random is None else asdict(random),
        "header": ["Layer", *RUN_FIGURES],
        "stacks": stacks,
        # GPT-2's last hidden state is not what its last layer gave.
        "last_state": states[-1] if states else "the last layer",
        "output": [[name, _number(figure(root, name))] for name in RUN_FIGURES],
        "nan_count": sum(module.statistics.nan_count for module in run.modules),
        "inf_count": sum(module.statistics.inf_count for module in run.modules),
    }


def _number(value: float | None) -> str:
    """Return a figure as the terminal has it, but with a true minus."""
    return with_minus(number(value))


def draw_run(architecture: Architecture, run: ActivationRun, statistic: str = "std") -> DrawnRun:
    """Draw a run's plots, under the names that the template knows.

    Plots are widgets: a ``QApplication`` must exist, and this must be its thread.
    """
    layers, heatmap = LinePlot(), GridPlot()
    layers.show_chart(layer_chart(architecture, run, statistic))
    heatmap.show_chart(norms_chart(run))
    drawn = {
        "layers.pdf": plot_pdf(layers, *PLOT_SIZE),
        "heatmap.pdf": plot_pdf(heatmap, *HEATMAP_SIZE),
    }
    for plot in (layers, heatmap):
        plot.close()
        plot.deleteLater()
    return DrawnRun(run, statistic, drawn)
