"""Breadcrumb: the path of the selected module, with a menu of siblings for each part."""

from functools import partial

from msgspec import Struct
from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.labels import shortened, visible
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.plots.fonts import weighted
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox


class Crumb(Struct, frozen=True):
    """A part of a path: its text, the key of its row, and the path of its parent."""

    label: str
    key: str
    parent: str


def crumbs_of(row: TreeRow) -> tuple[Crumb, ...]:
    """Return the parts of a row's path, the outermost first; the root has its class name."""
    if not row.key:
        return (Crumb(row.node.class_name, "", ""),)
    crumbs: list[Crumb] = []
    path = row.node.parent or "" if row.is_folded else row.node.path
    parent = ""
    for name in path.split(".") if path else ():
        key = f"{parent}.{name}" if parent else name
        # A number is shown with the name of its list.
        before = crumbs.pop().label if name.isdecimal() and crumbs else ""
        crumbs.append(Crumb(f"{before} {name}".strip(), key, parent))
        parent = key
    if row.is_folded:
        before = crumbs.pop().label if crumbs else ""
        crumbs.append(Crumb(f"{before} {row.label}".strip(), row.key, path))
    return tuple(crumbs)


def siblings(crumb: Crumb, architecture: Architecture) -> tuple[Crumb, ...]:
    """Return the modules with the same parent, including the crumb's own."""
    name = crumb.label.rpartition(" ")[0]
    return tuple(
        Crumb(f"{name} {node.name}".strip(), node.path, crumb.parent)
        for node in architecture.children(crumb.parent)
    )


MAX_NAME = 28
"""Characters of a name; a longer one is shortened."""
MAX_SIBLINGS = 60
"""Modules in a menu: those around the crumb's own."""
SEPARATOR = "›"


class Breadcrumb(QWidget):
    """Follows the selection; if the path is too long, the outer parts are in a menu."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("breadcrumb")
        self.setAccessibleName(self.tr("Path of the selected module"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._workspace = workspace
        self._crumbs: tuple[Crumb, ...] = ()
        self._parts: list[tuple[QToolButton, QToolButton]] = []  # separator and name of each
        self._hidden = self._menu_button("crumbsLeftOut", "…", self.tr("Parent modules"))
        self._hidden_menu = QMenu(self._hidden)
        self._hidden_menu.aboutToShow.connect(self._show_hidden)
        self._hidden.setMenu(self._hidden_menu)
        self._first = 0  # the first one that fits
        self._line = hbox(self._hidden, STRETCH, parent=self, spacing=0)
        self._hidden.hide()
        workspace.selection.row_changed.connect(self._on_row)
        self._on_row()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, super().minimumSizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        height = super().sizeHint().height()
        return QSize(sum(map(self._width, range(len(self._crumbs)))), height)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _on_row(self) -> None:
        row = self._workspace.selection.row
        self._crumbs = () if row is None else crumbs_of(row)
        while len(self._parts) < len(self._crumbs):
            self._add_part()
        for number, crumb in enumerate(self._crumbs):
            sign, name = self._parts[number]
            is_last = number == len(self._crumbs) - 1
            name.setText(_shown(crumb))
            name.setFont(weighted(self.font()) if is_last else self.font())
            path = visible(crumb.key) or crumb.label
            name.setToolTip(plain_tooltip(shortened(path, 300)))
            name.setAccessibleName(self.tr("Select {0}").format(path))
            sign.setAccessibleName(self.tr("Siblings of {0}").format(path))
        self._fit()
        self.updateGeometry()

    def _add_part(self) -> None:
        number = len(self._parts)
        # The first one has an icon, next to the buttons Back and Forward.
        text, icon = (SEPARATOR, "") if number else ("", "stack")
        tip = self.tr("Sibling modules")
        sign = self._menu_button(f"crumbSign{number}", text, tip, icon)
        menu = QMenu(sign)
        menu.aboutToShow.connect(partial(self._show_siblings, menu, number))
        sign.setMenu(menu)
        name = flat_button(f"crumb{number}", "", "")
        name.clicked.connect(lambda: self._select(self._crumbs[number].key))
        self._parts.append((sign, name))
        for place, widget in enumerate((sign, name)):
            self._line.insertWidget(1 + 2 * number + place, widget)

    def _menu_button(self, name: str, text: str, tip: str, icon: str = "") -> QToolButton:
        button = flat_button(name, text, tip, icon)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _fit(self) -> None:
        """Hide the outer parts that do not fit."""
        count, room = len(self._crumbs), self.width()
        first = 0
        if sum(map(self._width, range(count))) > room:
            room -= self._hidden.sizeHint().width()
            first = count
            while first > 0 and (first == count or self._width(first - 1) <= room):
                first -= 1
                room -= self._width(first)
        self._first = first
        self._hidden.setVisible(first > 0)
        for number, widgets in enumerate(self._parts):
            for widget in widgets:
                widget.setVisible(first <= number < count)

    def _width(self, number: int) -> int:
        return sum(widget.sizeHint().width() for widget in self._parts[number])

    def _show_hidden(self) -> None:
        self._fill(self._hidden_menu, self._crumbs[: self._first], "")

    def _show_siblings(self, menu: QMenu, number: int) -> None:
        architecture, crumb = self._workspace.architecture, self._crumbs[number]
        if architecture is None:
            return
        others = siblings(crumb, architecture)
        own = next((n for n, each in enumerate(others) if each.key == crumb.key), 0)
        first = max(0, min(own - MAX_SIBLINGS // 2, len(others) - MAX_SIBLINGS))
        root = (Crumb(architecture.root.class_name, "", ""),) if number == 0 else ()
        self._fill(menu, (*root, *others[first : first + MAX_SIBLINGS]), crumb.key)

    def _fill(self, menu: QMenu, crumbs: tuple[Crumb, ...], own: str) -> None:
        menu.clear()
        for crumb in crumbs:
            action = menu.addAction(_shown(crumb))
            action.setCheckable(crumb.key == own)
            action.setChecked(crumb.key == own)
            action.triggered.connect(lambda _=False, key=crumb.key: self._select(key))

    def _select(self, key: str) -> None:
        self._workspace.selection.select(key)


def _shown(crumb: Crumb) -> str:
    return shortened(visible(crumb.label), MAX_NAME).replace("&", "&&")
