"""A model as text, CSV and Markdown: its modules, parameters, totals and the state of its weights.

Two models are compared as text here, too.
"""

import csv as csv_module
import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import kv_cache_text, why_no_formula
from bertviewer.core.schema.costs import bytes_by_dtype
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SEED, SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.presets import DEMO_NAME
from bertviewer.core.util.numbers import count_text, deviation_text
from bertviewer.core.util.text import NO_BREAK_SPACE, markdown_cell, markdown_table, printable

if TYPE_CHECKING:
    from bertviewer.core.comparison.comparison import ComparedTensor, Comparison

Table = list[tuple[str, ...]]

MODULE_HEADER = ("Module", "Class", "Parameters", "Share", "Shape")
TENSOR_HEADER = ("Name", "Shape", "Elements", "Dtype", "Trainable", "Tied to")


_COMPARED_HEADER = ("Tensor", "State", "Left", "Right", "|Δ|/|left|", "Max |Δ|", "Changed")

_ALL_RANDOM = (
    "The activations in this report come from random weights. They show how the architecture "
    "behaves, not what a trained model has learned."
)
_ONE_RANDOM = (
    "1 of {1} tensors is missing from the checkpoint and was initialised randomly: results that "
    "use it are not meaningful."
)
_SOME_RANDOM = (
    "{0} of {1} tensors are missing from the checkpoint and were initialised randomly: results "
    "that use them are not meaningful."
)


def text(
    architecture: Architecture,
    depth: int | None,
    with_parameters: bool,
    load_report: LoadReport | None = None,
) -> str:
    """Return the folded module table, the totals and the checkpoint as aligned plain text."""
    parts = [
        provenance(architecture.source),
        *notice_lines(architecture.source),
        "",
        aligned(MODULE_HEADER, _rows(architecture, depth)),
    ]
    if with_parameters:
        parts += ["", aligned(TENSOR_HEADER, _tensors(architecture))]
    parts += ["", *(f"{name}: {value}" for name, value in totals(architecture))]
    if load_report is not None:
        parts += ["", *load_report.lines()]
    return "\n".join(parts)


def csv(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return every module, unfolded, or every named parameter, as CSV with a header line."""
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    if with_parameters:
        writer.writerow(("name", "shape", "numel", "dtype", "trainable", "tied_to"))
        for tensor in architecture.parameters:
            writer.writerow(
                (tensor.name, shape_text(tensor.shape), tensor.numel,
                 architecture.stored_dtype(tensor), tensor.trainable, tensor.tied_to or "")
            )  # fmt: skip
    else:
        writer.writerow(
            ("path", "class", "depth", "parameters", "own_parameters", "trainable", "share")
        )
        for node in architecture.modules:
            if depth is None or node.depth <= depth:
                writer.writerow(
                    (node.path, node.class_name, node.depth, node.parameters,
                     node.own_parameters, node.trainable, node.share)
                )  # fmt: skip
    return out.getvalue().rstrip("\n")


def markdown(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return the same tables as ``text``, in Markdown."""
    parts = [
        f"# {markdown_cell(architecture.source.name)}",
        "",
        markdown_cell(provenance(architecture.source)),
        "",
        *(f"> {markdown_cell(line)}\n" for line in notice_lines(architecture.source)),
        *markdown_table(MODULE_HEADER, _rows(architecture, depth, indent=NO_BREAK_SPACE * 2)),
        "",
        *markdown_table(("Total", ""), totals(architecture)),
    ]
    if with_parameters:
        parts += ["", *markdown_table(TENSOR_HEADER, _tensors(architecture))]
    return "\n".join(parts)


def provenance(source: SourceInfo) -> str:
    """Return one line on where a model comes from and whether its weights are pretrained."""
    name = printable(source.name)
    where = {
        "demo": f"Demo model ({DEMO_NAME})",
        "preset": f"Preset {name}",
        "folder": f"Folder {name}",
        "config": f"Configuration {name}",
        "weights": f"Weights {name}",
        "pickle": f"Pickle {name}",
        "hub": f"Hub model {name}",
        "runs": f"Saved runs {name}",
    }[source.kind]
    weights = {
        "none": "no weights",
        "pretrained": "pretrained weights" if source.quantization is None else "quantized weights",
        "random": f"randomly initialised weights (seed {SEED}); no value reflects training",
    }[source.weights]
    line = f"{where} · {find_task(source.task).title} · {weights}"
    if source.random_tensors:
        one, many = (
            ", but 1 tensor is missing from the checkpoint and initialised randomly",
            ", but {0} tensors are missing from the checkpoint and initialised randomly",
        )
        line += count_text(len(source.random_tensors), one, many)
    return f"{line}, read layer by layer" if source.offloaded else line


def notice_lines(source: SourceInfo) -> list[str]:
    """Return a line for each notice on the figures of a model."""
    return [f"Note: {printable(notice)}" for notice in source.notices]


class WarningText(Struct, frozen=True):
    """A warning: ``text`` for the first page, ``short`` for the head of all others."""

    text: str
    short: str


def random_weights_warning(source: SourceInfo, tensors: int) -> WarningText | None:
    """Return a warning of random weights and of the model's notices, ``None`` if there are none.

    Args:
        source: the weights of the run.
        tensors: number of tensors of the model, tied ones counted once.
    """
    texts, short = [], "see the model’s notices"
    if source.weights == "random":
        texts, short = [_ALL_RANDOM], "random weights"
    elif count := len(source.random_tensors):
        texts = [count_text(count, _ONE_RANDOM, _SOME_RANDOM, tensors)]
        short = f"{count} of {tensors} tensors random"
    texts += source.notices
    return WarningText(" ".join(texts), short) if texts else None


def comparison_text(comparison: "Comparison") -> str:
    """Return the totals of two models, the keys that differ, and the tensors that differ."""
    counts = ", ".join(f"{count:,} {state}" for state, count in comparison.counts.items() if count)
    lines = [
        f"Left:  {provenance(comparison.left)} · {comparison.left_parameters:,} parameters",
        *notice_lines(comparison.left),
        f"Right: {provenance(comparison.right)} · {comparison.right_parameters:,} parameters",
        *notice_lines(comparison.right),
        f"Tensors: {counts}",
    ]
    if comparison.keys:
        keys: Table = [
            (key.key, value_text(key.left), value_text(key.right)) for key in comparison.keys
        ]
        lines += ["", aligned(("Key", "Left", "Right"), keys, right=())]
    others = [_compared_row(tensor) for tensor in comparison.tensors if tensor.state != "same"]
    if others:
        lines += ["", aligned(_COMPARED_HEADER, others, right=(4, 5, 6))]
    return "\n".join(lines)


def value_text(value: object) -> str:
    """Return a configuration value as JSON; a dash for a missing key."""
    return "–" if value is None else json.dumps(value, ensure_ascii=False)


def totals(architecture: Architecture) -> Table:
    """Return the totals with torchinfo's names, formatted."""
    root = architecture.root
    sizes = bytes_by_dtype(root.parameters)
    kv_cache = kv_cache_text(architecture, bindings(architecture))
    why_no_macs = why_no_formula(architecture, "")
    return [
        ("Total params", f"{root.parameters:,}"),
        ("Trainable params", f"{root.trainable:,}"),
        ("Tensors", f"{architecture.tensor_count:,}"),
        ("Modules", f"{len(architecture.modules):,}"),
        *((f"Weights in {dtype}", f"{size / 1e6:,.2f} MB") for dtype, size in sizes.items()),
        *([("KV cache", kv_cache)] if kv_cache else ()),
        *([("Mult-Adds", f"no formula found: {why_no_macs}")] if why_no_macs else ()),
    ]


def _rows(architecture: Architecture, depth: int | None, indent: str = "  ") -> Table:
    def walk(row: TreeRow, level: int) -> Iterator[tuple[str, ...]]:
        yield (
            indent * level + row.label,
            row.class_label,
            f"{row.parameters:,}",
            f"{row.share:.2%}",
            shape_text(row.shape),
        )
        if depth is None or level < depth:
            for child in row.children:
                yield from walk(child, level + 1)

    return list(walk(fold(architecture), 0))


def _tensors(architecture: Architecture) -> Table:
    return [
        (
            tensor.name,
            shape_text(tensor.shape),
            f"{tensor.numel:,}",
            architecture.stored_dtype(tensor),
            "yes" if tensor.trainable else "no",
            tensor.tied_to or "",
        )
        for tensor in architecture.parameters
    ]


def _compared_row(tensor: "ComparedTensor") -> tuple[str, ...]:
    def form(info: TensorInfo | None) -> str:
        return "" if info is None else f"{shape_text(info.shape)} {info.dtype}"

    forms, change = (form(tensor.left), form(tensor.right)), tensor.change
    if change is None:
        return (tensor.name, tensor.state, *forms, "", "", "")
    figures = (deviation_text(change.relative), deviation_text(change.max_abs))
    return (tensor.name, tensor.state, *forms, *figures, f"{change.count - change.equal:,}")


def aligned(header: tuple[str, ...], rows: Table, right: Sequence[int] = (2, 3)) -> str:
    """Return a table as text; the columns with the indices ``right`` are right-aligned.

    Unprintable characters of names and tokens are escaped.
    """
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def number(value: float | None, digits: int = 5) -> str:
    """Return a number with significant digits; a dash for none."""
    return "–" if value is None else f"{value:.{digits}g}"
