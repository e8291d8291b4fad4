"""What a checkpoint holds of a model, as lines of plain text."""

from collections.abc import Iterable

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.schema.architecture import Architecture
from bertviewer.report import summaries

LISTED = 12
"""Names of a group that are listed where there is not room for all."""


def summary_text(
    architecture: Architecture, keys: LoadReport | None, depth: int | None, with_parameters: bool
) -> str:
    """Return what is known of a model: its modules, its totals, and what its checkpoint holds."""
    text = summaries.text(architecture, depth, with_parameters)
    return text if keys is None else "\n".join((text, "", *key_lines(keys)))


def key_lines(keys: LoadReport, listed: int | None = LISTED) -> list[str]:
    """Return a paragraph's lines on files, dtypes and names; ``listed`` ``None`` lists all names.

    What is simply in its place is not listed.
    """
    sizes = ", ".join(f"{name} ({size / 1e6:,.2f} MB)" for name, size in keys.files.items())
    if len(keys.files) > 1:
        sizes = f"{len(keys.files)} files, {keys.nbytes / 1e6:,.2f} MB in total: {sizes}"
    stored = ", ".join(f"{count} × {dtype}" for dtype, count in keys.stored_dtypes.items())
    lines = [f"Checkpoint: {sizes}", f"Stored as: {stored}; computed in {keys.dtype}"]
    groups: list[tuple[str, list[str]]] = [
        (
            # True before the model is used, when nothing is drawn yet, and after that.
            "Missing from the checkpoint, initialised randomly when the model is used: "
            f"{len(keys.missing)} of {keys.tensors}",
            list(keys.missing),
        ),
        (
            f"Stored under another name: {len(keys.renamed)}",
            [f"{name} is stored as {key}" for key, name in keys.renamed.items()],
        ),
        (
            f"In the checkpoint but not in this model: {len(keys.unexpected)}",
            list(keys.unexpected),
        ),
        (
            f"Tied to another tensor: {len(keys.tied)}",
            [f"{name} is tied to {first}" for name, first in keys.tied.items()],
        ),
        (
            f"Tied by the model’s class but stored with different values: {len(keys.untied)}",
            list(keys.untied),
        ),
        (
            f"Buffers, computed by the model instead of read: {len(keys.buffers)}",
            list(keys.buffers),
        ),
    ]
    for title, names in groups:
        if names:
            lines += [title, *_indented(names, listed)]
    return lines


def _indented(names: list[str], listed: int | None) -> Iterable[str]:
    shown = names if listed is None or len(names) <= listed else names[: listed - 1]
    yield from (f"  {name}" for name in shown)
    if len(shown) < len(names):
        yield f"  … and {len(names) - len(shown)} more"
