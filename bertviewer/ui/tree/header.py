"""The header of the module tree: a click orders siblings, its menu chooses columns."""

from functools import partial

from PySide6.QtCore import QObject, QPoint, QSettings, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.ui.settings.settings import store
from bertviewer.ui.tree.cells import (
    CHANGE,
    NUMBERS,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    STATISTIC,
    title,
)
from bertviewer.ui.tree.columns import NAMES, STATISTIC_SETTING, TreeColumns
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from bertviewer.ui.widgets.layouts import named

FALLING = (*NUMBERS, SHAPE, OUTPUT_SHAPE)
"""Columns that a first click orders from the largest on."""


class TreeHeader(QObject):
    """Orders the rows below each row: up, down, and with the third click as in the model."""

    def __init__(self, view: ModuleTreeView, model: ModuleTreeModel, columns: TreeColumns) -> None:
        super().__init__(view)
        self._model = model
        self._columns = columns
        self._header = header = view.header()
        header.setObjectName("treeHeader")
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.sectionClicked.connect(self._on_click)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_menu)
        stored = QSettings().value(STATISTIC_SETTING)
        if stored in STATISTIC_NAMES:
            model.set_statistic(str(stored))

    def menu(self, parent: QWidget) -> QMenu:
        """Return a menu of all columns, those in sight marked."""
        menu = named(QMenu(self.tr("Columns"), parent), "treeColumns")
        for column, name in NAMES.items():
            if column == STATISTIC:
                continue
            action = named(menu.addAction(title(column, "")), f"column-{name}")
            action.setCheckable(True)
            action.setChecked(column in self._columns.chosen)
            action.toggled.connect(partial(self._columns.choose, column))
            if column == PARAMETERS:
                exact = named(menu.addAction(self.tr("Exact parameter counts")), "column-exact")
                exact.setCheckable(True)
                exact.setChecked(self._columns.is_exact)
                exact.toggled.connect(self._columns.set_exact)
        if self._columns.has_changes:
            change = named(menu.addAction(title(CHANGE, "")), "column-change")
            change.setCheckable(True)
            change.setChecked(CHANGE in self._columns.chosen)
            change.toggled.connect(partial(self._columns.choose, CHANGE))
        menu.addMenu(self._statistics(menu))
        menu.addSeparator()
        menu.addAction(self.tr("Reset columns"), self._columns.reset)
        return menu

    def _statistics(self, parent: QWidget) -> QMenu:
        menu = QMenu(self.tr("Run statistic"), parent)
        group = QActionGroup(menu)
        is_shown = STATISTIC in self._columns.chosen
        none = menu.addAction(self.tr("None"), partial(self._columns.choose, STATISTIC, False))
        none.setCheckable(True)
        none.setChecked(not is_shown)
        group.addAction(none)
        for name in STATISTIC_NAMES:
            action = menu.addAction(name, partial(self._show_statistic, name))
            action.setObjectName(f"column-{name}")
            action.setCheckable(True)
            action.setChecked(is_shown and self._model.statistic == name)
            group.addAction(action)
        return menu

    def _show_statistic(self, name: str) -> None:
        store(STATISTIC_SETTING, name)
        self._model.set_statistic(name)
        self._columns.choose(STATISTIC, True)

    def _show_menu(self, place: QPoint) -> None:
        menu = self.menu(self._header)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self._header.mapToGlobal(place))

    def _on_click(self, column: int) -> None:
        first, order = column in FALLING, self._model.order
        if order is None or order[0] != column:
            self._model.set_order(column, first)
        elif order[1] == first:
            self._model.set_order(column, not first)
        else:
            self._model.set_order(None)
        self._columns.fit()
