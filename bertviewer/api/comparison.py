"""Two models side by side, as a script reads it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertviewer.api.tables import Row

if TYPE_CHECKING:
    from bertviewer.core.comparison import comparison as core


class Comparison:
    """How the right model differs from the left one.

    Attributes:
        data: all of it, as plain frozen data.
    """

    def __init__(self, data: "core.Comparison") -> None:
        """Comparisons come from ``bertviewer.compare`` and ``Model.compare``."""
        self.data = data

    def __repr__(self) -> str:
        left, right = self.data.left.name, self.data.right.name
        return f"<bertviewer.Comparison of {left!r} with {right!r}>"

    @property
    def counts(self) -> Mapping[str, int]:
        """How many tensors are the same, changed, of another shape, only left, only right …."""
        return {str(state): count for state, count in self.data.counts.items()}

    @property
    def config(self) -> Mapping[str, tuple[Any, Any]]:
        """The keys of the configuration that differ, with both values; ``None`` for no value."""
        return {key.key: (key.left, key.right) for key in self.data.keys}

    def tensors(self) -> list[Row]:
        """Return a row for each tensor: what became of it, both forms, and how far it moved.

        Where nothing is compared, no element is, and distances are NaN.
        """
        return [_row(tensor) for tensor in self.data.tensors]

    def summary(self) -> str:
        """Return what ``bertviewer compare`` prints."""
        from bertviewer.report.comparison_text import comparison_text

        return comparison_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.comparison/1``."""
        return self.data.to_json()

    def _repr_html_(self) -> str:
        from bertviewer.api.notebook import table_html

        rows = [
            (row["name"], row["state"], row["relative"], row["max_abs"])
            for row in self.tensors()
            if row["state"] != "same"
        ]
        title = f"{self.data.left.name} → {self.data.right.name}: " + ", ".join(
            f"{count:,} {state}" for state, count in self.counts.items() if count
        )
        return table_html(title, ("Tensor", "State", "‖Δ‖ / ‖left‖", "Max |Δ|"), rows)


def _row(tensor: "core.ComparedTensor") -> Row:
    change, nan = tensor.change, float("nan")
    measures = ("max_abs", "rms", "relative", "cosine")
    found = {name: None if change is None else getattr(change, name) for name in measures}
    return {
        "name": tensor.name,
        "state": tensor.state,
        "left_shape": [] if tensor.left is None else list(tensor.left.shape),
        "left_dtype": "" if tensor.left is None else tensor.left.dtype,
        "right_shape": [] if tensor.right is None else list(tensor.right.shape),
        "right_dtype": "" if tensor.right is None else tensor.right.dtype,
        "equal": 0 if change is None else change.equal,
        "count": 0 if change is None else change.count,
        **{name: nan if value is None else value for name, value in found.items()},
    }
