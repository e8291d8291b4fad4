"""Links that select modules, and functions that show tensors and values."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.labels import shortened, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.pages import Page, RecordedValues
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import LinkButton
from bertviewer.ui.widgets.labels import plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import FlowLayout

MAX_LENGTH = 300
"""Characters of a path in a tooltip."""
MAX_LINKS = 60
"""Further links are counted."""
_MORE = QT_TRANSLATE_NOOP("PathLink", "and 1 more"), QT_TRANSLATE_NOOP("PathLink", "and {0} more")


class Link(Struct, frozen=True):
    """A text, and the key of the row or the path of the module that it selects."""

    text: str
    key: str


def show_tensor(workspace: Workspace, name: str) -> None:
    """Select the module that owns a parameter, and show its values."""
    workspace.selection.select(name.rpartition(".")[0])
    workspace.show_page(Page.TENSORS, name)


def show_values(workspace: Workspace, key: SelectionKey) -> None:
    """Select a module and a token of the current run, and show the module's output."""
    workspace.selection.go(key)
    workspace.show_page(Page.TENSORS, RecordedValues(TensorKey("output", ""), key.token))


def show_step(workspace: Workspace, step: CheckStep) -> None:
    """Show the tensors that a step of a check compared."""
    workspace.show_page(Page.TENSORS, RecordedValues(step))


class PathLink(LinkButton):
    """Link that selects a module; a long path is elided."""

    def __init__(self, link: Link, workspace: Workspace) -> None:
        super().__init__("pathLink")
        self.setText(visible(link.text))
        path = shortened(visible(link.key), MAX_LENGTH) or self.text()
        self.setToolTip(plain_tooltip(self.tr("Select {0}").format(path)))
        self.setAccessibleName(self.tr("Select {0}").format(path))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(lambda: workspace.selection.select(link.key))

    @override
    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        few_letters = self.fontMetrics().horizontalAdvance("…") * 6
        return QSize(min(hint.width(), few_letters), hint.height())

    @override
    def shown_text(self) -> str:
        middle = Qt.TextElideMode.ElideMiddle
        return self.fontMetrics().elidedText(self.text(), middle, self.width())


def links(found: Sequence[Link], workspace: Workspace, after: str = "") -> QWidget:
    """Return links in a row, which is wrapped if necessary, with a text after them."""
    widget = QWidget()
    layout = FlowLayout(widget, 3 * GRID, GRID // 2)
    for link in found[:MAX_LINKS]:
        layout.addWidget(PathLink(link, workspace))
    rest = len(found) - MAX_LINKS
    more = count_text(rest, *(translate("PathLink", text) for text in _MORE)) if rest > 0 else ""
    if text := " ".join(filter(None, (more, after))):
        label = plain_label(text)
        label.setWordWrap(False)
        layout.addWidget(label)
    return widget
