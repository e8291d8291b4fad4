"""Paths in a text, each of which selects what it names: plain text, whatever it is called."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.labels import shortened, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import LinkButton
from bertviewer.ui.widgets.labels import plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import FlowLayout

LONGEST = 300
"""Letters of a path in a tip."""
MOST = 60
"""Links one after the other; those left are counted."""
_MORE = QT_TRANSLATE_NOOP("PathLink", "and 1 more"), QT_TRANSLATE_NOOP("PathLink", "and {0} more")


class Link(Struct, frozen=True):
    """What stands there, and the key of the row or the path of the module that it selects."""

    text: str
    key: str


def show_tensor(workspace: Workspace, name: str) -> None:
    """Select the module that holds a tensor, and look into the tensor."""
    workspace.selection.select(name.rpartition(".")[0])
    workspace.page_wanted.emit("Tensors")
    workspace.tensor_wanted.emit(name)


def show_values(workspace: Workspace, place: SelectionKey) -> None:
    """Select a place of the last run, and show what the module gave there, number by number."""
    workspace.selection.go(place)
    workspace.page_wanted.emit("Tensors")
    workspace.values_wanted.emit(TensorKey("output", ""), place.token)


def show_step(workspace: Workspace, step: CheckStep) -> None:
    """Show what a step of a check compared, number by number."""
    workspace.page_wanted.emit("Tensors")
    workspace.values_wanted.emit(step, None)


class PathLink(LinkButton):
    """A word that selects a module."""

    def __init__(self, link: Link, workspace: Workspace) -> None:
        super().__init__("pathLink")
        self.setText(visible(link.text))
        path = shortened(visible(link.key), LONGEST) or self.text()
        self.setToolTip(plain_tooltip(self.tr("Select {0}").format(path)))
        self.setAccessibleName(self.tr("Select {0}").format(path))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(lambda: workspace.selection.select(link.key))

    def minimumSizeHint(self) -> QSize:
        """Return room for a few letters: a long name is cut in its middle. Qt calls it."""
        room = self.sizeHint()
        return QSize(
            min(room.width(), self.fontMetrics().horizontalAdvance("…") * 6), room.height()
        )

    def shown_text(self) -> str:
        """Return its name, cut where it is too long."""
        middle = Qt.TextElideMode.ElideMiddle
        return self.fontMetrics().elidedText(self.text(), middle, self.width())


def links(found: Sequence[Link], workspace: Workspace, after: str = "") -> QWidget:
    """Return links one after the other, in as many lines as they need, and words after them."""
    widget = QWidget()
    layout = FlowLayout(widget, 3 * GRID, GRID // 2)
    for link in found[:MOST]:
        layout.addWidget(PathLink(link, workspace))
    left = len(found) - MOST
    more = count_text(left, *(translate("PathLink", text) for text in _MORE)) if left > 0 else ""
    if words := " ".join(filter(None, (more, after))):
        label = plain_label(words)
        label.setWordWrap(False)
        layout.addWidget(label)
    return widget
