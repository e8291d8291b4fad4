"""Header of the module tree: which columns are shown, their widths, and the order of rows."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSettings, Qt
from PySide6.QtGui import QAction, QActionGroup, QFont, QFontMetrics
from PySide6.QtWidgets import QHeaderView, QMenu, QWidget
from typing_extensions import override

from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.core.util.numbers import short_count
from bertviewer.ui.settings.settings import store
from bertviewer.ui.tree.columns import (
    CHANGE,
    CLASS,
    COLUMNS,
    MACS,
    MODULE,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    STATISTIC,
    VISUAL_ORDER,
    column_title,
    shape_sizes,
    sizes_text,
)
from bertviewer.ui.tree.delegate import NAME_LEFT, PADDING, shortened
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import INDENT, NARROW_INDENT, ModuleTreeView
from bertviewer.ui.widgets.layouts import named

# Pixels.
MIN_NAME_WIDTH, ENOUGH_NAME_WIDTH, MAX_NAME_WIDTH, NARROW = 110, 150, 420, 260
MAX_CLASS_WIDTH, MAX_SHAPE_WIDTH = 190, 150
MIN_COUNT_WIDTH, MIN_COLUMN_WIDTH, TITLE_PADDING = 52, 40, 14

CHOOSABLE = {number: column for number, column in enumerate(COLUMNS) if column.setting}
DEFAULT_COLUMNS = frozenset({SHAPE, PARAMETERS})
COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING = "tree/columns", "tree/exact", "tree/statistic"


class TreeHeader(QObject):
    """Gives each column the width of its texts, and the remaining width to the names.

    Names are elided first; numbers never are. Where there is no room for names, the shapes are
    hidden. Counts have all digits where there is room for them, or where the user wants them. A
    width that the user has dragged stays. Clicks on a title sort in both directions, and the third
    one restores the model's order.
    """

    def __init__(self, view: ModuleTreeView, model: ModuleTreeModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._header = header = view.header()
        self._dragged: dict[int, int] = {}  # widths by column
        self._is_fitting = False
        self._natural: dict[tuple[int, bool], int] = {}  # widths by column and exactness
        self.chosen = _stored_columns()
        self.is_comparing = False
        self.is_exact = QSettings().value(EXACT_SETTING, False, bool) is True
        header.setObjectName("treeHeader")
        header.setStretchLastSection(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setMinimumSectionSize(MIN_COLUMN_WIDTH)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        for place, column in enumerate(VISUAL_ORDER):
            header.moveSection(header.visualIndex(column), place)
        header.sectionResized.connect(self._on_resized)
        header.sectionClicked.connect(self._on_click)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_menu)
        view.viewport().installEventFilter(self)
        for signal in (model.modelReset, model.figures_changed, model.headerDataChanged):
            signal.connect(self._forget_widths)
        stored = QSettings().value(STATISTIC_SETTING)
        if stored in STATISTIC_NAMES:
            model.set_statistic(str(stored))

    def choose(self, column: int, is_shown: bool) -> None:
        """Show or hide a column, and store the choice."""
        self.chosen = self.chosen | {column} if is_shown else self.chosen - {column}
        names = [COLUMNS[each].setting for each in VISUAL_ORDER if each in self.chosen]
        store(COLUMNS_SETTING, ",".join(filter(None, names)))
        self.fit()

    def set_comparing(self, is_comparing: bool) -> None:
        """Offer the column of changes while another model is compared."""
        if is_comparing != self.is_comparing:
            self.is_comparing = is_comparing
            self.chosen = self.chosen | {CHANGE} if is_comparing else self.chosen - {CHANGE}
        self.fit()

    def set_exact(self, is_exact: bool) -> None:
        """Show all digits of counts whatever the width, or only where there is room."""
        self.is_exact = is_exact
        store(EXACT_SETTING, is_exact)
        self.fit()

    def reset(self) -> None:
        """Restore the default columns and widths."""
        self._dragged.clear()
        self.chosen = DEFAULT_COLUMNS | {CHANGE} if self.is_comparing else DEFAULT_COLUMNS
        QSettings().remove(COLUMNS_SETTING)
        self.set_exact(False)

    def fit(self) -> None:
        """Fit all columns to their texts and to the width of the view."""
        available = self._view.viewport().width()
        indent = NARROW_INDENT if available < NARROW else INDENT
        if indent != self._view.indentation():
            self._view.setIndentation(indent)
        shown = [column for column in VISUAL_ORDER[1:] if column in self.chosen]
        is_exact = self.is_exact
        widths = {column: self._width(column, is_exact) for column in shown}
        if SHAPE in widths and available - sum(widths.values()) < ENOUGH_NAME_WIDTH:
            del widths[SHAPE]
        if not is_exact:
            exact = {column: self._width(column, True) for column in widths}
            if self._width(MODULE, is_exact) + sum(exact.values()) <= available:
                is_exact, widths = True, exact
        left = available - sum(widths.values())
        widths[MODULE] = max(MIN_NAME_WIDTH, min(self._dragged.get(MODULE, left), left))
        self._view.cells.is_exact = is_exact
        self._is_fitting = True
        for column in range(len(COLUMNS)):
            self._view.setColumnHidden(column, column not in widths)
        for column, width in widths.items():
            self._header.resizeSection(column, width)
        self._is_fitting = False

    def menu(self, parent: QWidget) -> QMenu:
        """Return a menu of all columns."""
        menu = named(QMenu(self.tr("Columns"), parent), "treeColumns")
        for column, record in CHOOSABLE.items():
            if column == STATISTIC:
                continue
            name, title = f"column-{record.setting}", column_title(column, "")
            choose = partial(self.choose, column)
            _add_check(menu, name, title, choose, is_checked=column in self.chosen)
            if column == PARAMETERS:
                exact, title = "column-exact", self.tr("Exact parameter counts")
                _add_check(menu, exact, title, self.set_exact, is_checked=self.is_exact)
        if self.is_comparing:
            title, choose = column_title(CHANGE, ""), partial(self.choose, CHANGE)
            _add_check(menu, "column-change", title, choose, is_checked=CHANGE in self.chosen)
        menu.addMenu(self._statistic_menu(menu))
        menu.addSeparator()
        menu.addAction(self.tr("Reset columns"), self.reset)
        return menu

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange:
            self._view.cells.update_style()
            self._natural.clear()
        if event.type() in (QEvent.Type.Resize, QEvent.Type.FontChange):
            self.fit()
        return super().eventFilter(watched, event)

    def _statistic_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(self.tr("Run statistic"), parent)
        group = QActionGroup(menu)
        shown = self._model.statistic if STATISTIC in self.chosen else ""
        for name in ("", *STATISTIC_NAMES):
            show = partial(self._show_statistic, name)
            object_name = f"column-{name}" if name else ""
            title = name or self.tr("None")
            group.addAction(_add_check(menu, object_name, title, show, is_checked=name == shown))
        return menu

    def _show_statistic(self, name: str, is_shown: bool) -> None:
        if not is_shown:
            return
        if name:
            store(STATISTIC_SETTING, name)
            self._model.set_statistic(name)
        self.choose(STATISTIC, bool(name))

    def _show_menu(self, position: QPoint) -> None:
        menu = self.menu(self._header)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self._header.mapToGlobal(position))

    def _on_click(self, column: int) -> None:
        first, order = COLUMNS[column].is_descending, self._model.order
        if order is None or order[0] != column:
            self._model.set_order(column, first)
        elif order[1] == first:
            self._model.set_order(column, not first)
        else:
            self._model.set_order(None)
        self.fit()

    def _on_resized(self, column: int, before: int, now: int) -> None:
        if not self._is_fitting and before and now:
            self._dragged[column] = now
            self.fit()

    def _forget_widths(self) -> None:
        self._natural.clear()

    def _width(self, column: int, is_exact: bool) -> int:
        if column in self._dragged:
            return self._dragged[column]
        if (column, is_exact) not in self._natural:
            self._natural[column, is_exact] = self._natural_width(column, is_exact)
        return self._natural[column, is_exact]

    def _natural_width(self, column: int, is_exact: bool) -> int:
        """Return the width at which all texts of a column fit, up to a maximum."""
        model, cells = self._model, self._view.cells
        if column == MODULE:
            return min(MAX_NAME_WIDTH, self._names_width())
        title = self._title_width(column)
        if column in (SHAPE, OUTPUT_SHAPE):
            shapes = set(model.rows.figures.outputs())
            if column == SHAPE:
                shapes |= {shape_sizes(item.row.shape) for item in model.rows.looks.values()}
            width = _widest(cells.shape_font, map(sizes_text, shapes))
            return max(title, min(MAX_SHAPE_WIDTH, width) + PADDING + 1)
        if column == CLASS:
            classes = _widest(cells.name_font, model.texts(CLASS))
            return max(title, min(MAX_CLASS_WIDTH, classes)) + PADDING
        if column == PARAMETERS and not is_exact:
            counts = {short_count(item.row.parameters) for item in model.rows.looks.values()}
            width = _widest(cells.count_font, counts) + PADDING * 3 // 2
            return max(MIN_COUNT_WIDTH, title, width)
        texts: Iterable[str] = model.texts(column)
        if column == MACS and not is_exact:
            texts = {short_count(int(text.replace(",", ""))) for text in texts if text}
        return max(title, _widest(cells.count_font, texts)) + 2 * PADDING

    def _title_width(self, column: int) -> int:
        horizontal = Qt.Orientation.Horizontal
        font = self._model.headerData(column, horizontal, Qt.ItemDataRole.FontRole)
        return _widest(font, [str(self._model.headerData(column, horizontal))]) + TITLE_PADDING

    def _names_width(self) -> int:
        metrics = QFontMetrics(self._view.cells.name_font)
        items = self._model.rows.items
        widths = (
            (depth + 1) * INDENT + NAME_LEFT + metrics.horizontalAdvance(shortened(label))
            for depth, label in (_labels(items[0].row, 0) if items else ())
        )
        return max(widths, default=0) + PADDING


def _add_check(
    menu: QMenu, name: str, title: str, toggle: Callable[[bool], object], *, is_checked: bool
) -> QAction:
    action = named(menu.addAction(title), name)
    action.setCheckable(True)
    action.setChecked(is_checked)
    action.toggled.connect(toggle)
    return action


def _stored_columns() -> frozenset[int]:
    stored = QSettings().value(COLUMNS_SETTING)
    if not isinstance(stored, str):
        return DEFAULT_COLUMNS
    names = stored.split(",")
    return frozenset(number for number, column in CHOOSABLE.items() if column.setting in names)


def _labels(row: TreeRow, depth: int) -> Iterator[tuple[int, str]]:
    """Yield names with their depths; of folded layers only those of the first."""
    yield depth, row.label
    if row.is_folded:
        depth += 1
        yield depth, row.members[-1].label
    for child in row.children:
        yield from _labels(child, depth + 1)


def _widest(font: QFont, texts: Iterable[str]) -> int:
    return max(map(QFontMetrics(font).horizontalAdvance, texts), default=0)
