"""An architecture as text, CSV and Markdown."""

import csv as csv_module
import io
from collections.abc import Iterator, Sequence

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.costs import bytes_by_dtype
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.source_info import SEED, SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.presets import DEMO_NAME
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import NO_BREAK_SPACE, markdown_cell, markdown_table, printable
from bertviewer.report.costs import kv_cache_text, why_no_formula

Table = list[tuple[str, ...]]

MODULE_HEADER = ("Module", "Class", "Parameters", "Share", "Shape")
TENSOR_HEADER = ("Name", "Shape", "Elements", "Dtype", "Trainable", "Tied to")


def text(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return the folded module table and the totals as aligned plain text."""
    parts = [
        provenance(architecture.source),
        *notice_lines(architecture.source),
        "",
        aligned(MODULE_HEADER, _rows(architecture, depth)),
    ]
    if with_parameters:
        parts += ["", aligned(TENSOR_HEADER, _tensors(architecture))]
    parts += ["", *(f"{name}: {value}" for name, value in totals(architecture))]
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
    """Return one line that says what the model is and whether its weights are trained ones."""
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
    """Return a line for each notice that qualifies the figures of a model."""
    return [f"Note: {printable(notice)}" for notice in source.notices]


def totals(architecture: Architecture) -> Table:
    """Return the totals in torchinfo's words, formatted."""
    root = architecture.root
    sizes = bytes_by_dtype(root.parameters)
    return [
        ("Total params", f"{root.parameters:,}"),
        ("Trainable params", f"{root.trainable:,}"),
        ("Tensors", f"{architecture.tensor_count:,}"),
        ("Modules", f"{len(architecture.modules):,}"),
        *((f"Weights in {dtype}", f"{size / 1e6:,.2f} MB") for dtype, size in sizes.items()),
        *_kv_cache(architecture),
        *_without_costs(architecture),
    ]


def _kv_cache(architecture: Architecture) -> Table:
    text = kv_cache_text(architecture, bindings(architecture))
    return [("KV cache", text)] if text else []


def _without_costs(architecture: Architecture) -> Table:
    """Say why nothing is known of the multiply-adds, where they were looked for."""
    reason = why_no_formula(architecture, "")
    return [("Mult-Adds", f"no formula found: {reason}")] if reason else []


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


def aligned(header: tuple[str, ...], rows: Table, right: Sequence[int] = (2, 3)) -> str:
    """Return a table as text; the columns ``right`` hold numbers and stand to the right."""
    # Names and tokens come from strangers.
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
