"""The comparison of the open model with another one, while its window is open."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.labels import shortened
from bertviewer.core.util.text import printable

if TYPE_CHECKING:
    from bertviewer.core.comparison.comparison import Comparison

LONGEST = 32  # letters of a title


def short_name(name: str) -> str:
    """Return what a model is called where there is little room: the end of its path."""
    end = name if "://" in name else Path(name).name or name
    return shortened(printable(end), LONGEST)


class KeptComparison(QObject):
    """How far each module of the open model is from the other one's.

    ``window_wanted`` says that the window of the comparison shall be shown.

    Attributes:
        comparison: how the two models differ; ``None`` where nothing is compared.
        changes: ‖Δ‖ / ‖left‖ by the module's path; empty where nothing is compared.
        other: the name of the other model, "" where there is none.
    """

    changed = Signal()
    window_wanted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.comparison: Comparison | None = None
        self.changes: Mapping[str, float] = {}
        self.other = ""

    @property
    def title(self) -> str:
        """What the other model is called where there is little room."""
        return short_name(self.other)

    def keep(self, comparison: "Comparison", other: str) -> None:
        """Keep another comparison in place of the one that there was."""
        from bertviewer.core.comparison.comparison import module_changes

        self.comparison = comparison
        self.changes, self.other = module_changes(comparison), other
        self.changed.emit()

    def close(self) -> None:
        """Keep none."""
        if self.other:
            self.comparison, self.changes, self.other = None, {}, ""
            self.changed.emit()
