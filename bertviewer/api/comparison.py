"""Two models side by side, as a script reads it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertviewer.api.tables import Row, flat
from bertviewer.core.text.special_floats import decoded

if TYPE_CHECKING:
    from bertviewer.core.comparing import comparison as core


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
        """Return a row for each tensor: what became of it, both forms, and how far it moved."""
        none = dict.fromkeys(("equal", "count", "max_abs", "rms", "relative", "cosine"))
        no_form = dict.fromkeys(("shape", "dtype"))
        return [
            flat(
                {
                    "name": row["name"],
                    "state": row["state"],
                    "left": row["left"] or no_form,
                    "right": row["right"] or no_form,
                    **(decoded(row["change"]) or none),
                }
            )
            for row in self.to_json()["tensors"]
        ]

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
