"""Links to modules and tensors, alone and in explanations, and functions that follow them."""

import re
from collections.abc import Collection, Sequence

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget
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
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)+")
_ROOT = re.compile(r"\bsqrt\(([^()]*)\)")
_SYMBOL = re.compile(r"(?<![\w.])([A-Za-z])_([A-Za-z0-9]{1,2})(?![\w.]*\w)")
"""A letter with a subscript of one or two letters, such as W_Q or d_k. Names have more."""
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


def rich_html(text: str, paths: Collection[str] = ()) -> str:
    """Return a text as HTML, escaped, with subscripts, roots and links.

    ``paths`` are the paths of modules and the names of tensors that become links.
    """
    from html import escape  # not needed at the start

    def link(found: re.Match[str]) -> str:
        path = found.group()
        return f'<a href="{path}">{path}</a>' if path in paths else path

    html = _ROOT.sub(r"√\1", _PATH.sub(link, escape(text)))
    html = _SYMBOL.sub(r"<i>\1</i><sub>\2</sub>", html)
    return f"<p>{html}</p>".replace("\n", "<br>")


class RichLabel(QLabel):
    """Label whose ``text()`` is HTML; a link selects a module or shows a tensor."""

    def __init__(self, text: str, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setMinimumWidth(1)  # a long path does not widen the panel
        self.linkActivated.connect(self._follow)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show a text."""
        architecture = self._workspace.architecture
        paths: set[str] = set()
        if architecture is not None and "." in text:
            paths = {node.path for node in architecture.modules}
            paths |= {tensor.name for tensor in architecture.parameters}
        html = rich_html(text, paths)
        self.setText(html)
        self.setAccessibleName(text)
        flags, has_links = plain_label("").textInteractionFlags(), "<a " in html
        if has_links:
            flags |= Qt.TextInteractionFlag.LinksAccessibleByMouse
            flags |= Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        self.setTextInteractionFlags(flags)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_links else Qt.FocusPolicy.NoFocus)

    def _follow(self, path: str) -> None:
        architecture = self._workspace.architecture
        assert architecture is not None
        if any(tensor.name == path for tensor in architecture.parameters):
            show_tensor(self._workspace, path)
        else:
            self._workspace.selection.select(path)
