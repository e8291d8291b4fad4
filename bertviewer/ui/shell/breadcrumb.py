"""The selected module's path, each part of it a link, with what stands beside it."""

from functools import partial

from msgspec import Struct
from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from bertviewer.charts.labels import shortened, visible
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.plots.fonts import weighted
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox


class Crumb(Struct, frozen=True):
    """A part of a path: what it is called, the key of its row, and the module that it is in."""

    label: str
    key: str
    parent: str


def crumbs_of(row: TreeRow) -> tuple[Crumb, ...]:
    """Return the parts of a row's path from the outermost on; the model itself has its class."""
    if not row.key:
        return (Crumb(row.node.class_name, "", ""),)
    crumbs: list[Crumb] = []
    path = row.node.parent or "" if row.is_folded else row.node.path
    parent = ""
    for name in path.split(".") if path else ():
        key = f"{parent}.{name}" if parent else name
        # A number says nothing without the list that it is of.
        before = crumbs.pop().label if name.isdecimal() and crumbs else ""
        crumbs.append(Crumb(f"{before} {name}".strip(), key, parent))
        parent = key
    if row.is_folded:
        before = crumbs.pop().label if crumbs else ""
        crumbs.append(Crumb(f"{before} {row.label}".strip(), row.key, path))
    return tuple(crumbs)


def beside(crumb: Crumb, architecture: Architecture) -> tuple[Crumb, ...]:
    """Return the modules in the same module, the crumb's own among them."""
    words = crumb.label.rpartition(" ")[0]
    return tuple(
        Crumb(f"{words} {node.name}".strip(), node.path, crumb.parent)
        for node in architecture.children(crumb.parent)
    )


LONGEST = 28
"""Letters of a name; a longer one is cut."""
MOST = 60
"""Modules in a menu, those around the one that it is of."""
SIGN = "›"


class Breadcrumb(QWidget):
    """Follows the selection; where there is no room, the outer parts are behind an ellipsis."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("breadcrumb")
        self.setAccessibleName(self.tr("Path of the selected module"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._workspace = workspace
        self._crumbs: tuple[Crumb, ...] = ()
        self._parts: list[tuple[QToolButton, QToolButton]] = []  # a sign and a name for each
        self._left_out = self._menu_button("crumbsLeftOut", "…", self.tr("Parent modules"))
        self._left_out_menu = QMenu(self._left_out)
        self._left_out_menu.aboutToShow.connect(self._show_left_out)
        self._left_out.setMenu(self._left_out_menu)
        self._first = 0  # the first one that there is room for
        self._line = hbox(self._left_out, STRETCH, parent=self, spacing=0)
        self._left_out.hide()
        workspace.selection.row_changed.connect(self._on_row)
        self._on_row()

    def minimumSizeHint(self) -> QSize:
        """Return little: what there is no room for is left out. Qt calls it."""
        return QSize(80, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        """Return room for all of the path; Qt calls it."""
        height = super().sizeHint().height()
        return QSize(sum(map(self._width, range(len(self._crumbs)))), height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as much of the path as there is room for; Qt calls it."""
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
        # The first has none before it, and stands beside what goes back and forward.
        text, icon = (SIGN, "") if number else ("", "stack")
        tip = self.tr("Sibling modules")
        sign = self._menu_button(f"crumbSign{number}", text, tip, icon)
        menu = QMenu(sign)
        menu.aboutToShow.connect(partial(self._show_beside, menu, number))
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
        """Leave out what there is no room for, from the left."""
        count, room = len(self._crumbs), self.width()
        first = 0
        if sum(map(self._width, range(count))) > room:
            room -= self._left_out.sizeHint().width()
            first = count
            while first > 0 and (first == count or self._width(first - 1) <= room):
                first -= 1
                room -= self._width(first)
        self._first = first
        self._left_out.setVisible(first > 0)
        for number, widgets in enumerate(self._parts):
            for widget in widgets:
                widget.setVisible(first <= number < count)

    def _width(self, number: int) -> int:
        return sum(widget.sizeHint().width() for widget in self._parts[number])

    def _show_left_out(self) -> None:
        self._fill(self._left_out_menu, self._crumbs[: self._first], "")

    def _show_beside(self, menu: QMenu, number: int) -> None:
        architecture, crumb = self._workspace.architecture, self._crumbs[number]
        if architecture is None:
            return
        others = beside(crumb, architecture)
        own = next((n for n, each in enumerate(others) if each.key == crumb.key), 0)
        first = max(0, min(own - MOST // 2, len(others) - MOST))
        root = (Crumb(architecture.root.class_name, "", ""),) if number == 0 else ()
        self._fill(menu, (*root, *others[first : first + MOST]), crumb.key)

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
    return shortened(visible(crumb.label), LONGEST).replace("&", "&&")
