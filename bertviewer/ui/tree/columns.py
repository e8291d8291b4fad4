"""Which columns the module tree has, and how wide they are."""

from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QSettings, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QHeaderView

from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.numbers import short_count
from bertviewer.ui.settings.settings import store
from bertviewer.ui.tree.cells import (
    CHANGE,
    CLASS,
    COLUMNS,
    MACS,
    MODULE,
    ORDER,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    SHARE,
    STATISTIC,
    look,
    sizes_of,
)
from bertviewer.ui.tree.delegate import NAME_LEFT, PAD, shortened
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import INDENT, NARROW_INDENT, ModuleTreeView

# All in pixels.
NAME_LEAST, NAME_ENOUGH, NAME_MOST, NARROW = 110, 150, 420, 260
CLASS_MOST, SHAPE_MOST = 190, 150
COUNT_LEAST, COLUMN_LEAST, TITLE_PAD = 52, 40, 14

NAMES = {
    CLASS: "class",
    PARAMETERS: "parameters",
    SHARE: "share",
    SHAPE: "shape",
    OUTPUT_SHAPE: "output",
    MACS: "macs",
    STATISTIC: "statistic",
}
"""Columns that a person can choose, as settings have them."""
USUAL = frozenset({SHAPE, PARAMETERS})
COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING = "tree/columns", "tree/exact", "tree/statistic"


class TreeColumns(QObject):
    """Gives each column the width of its texts, and the names what is left.

    Names give way first, as they are cut in the middle; numbers never do. Where there is no room
    for names, the shapes go. Counts have all digits where there is room for them, or where a person
    wants them. Where a person moves the edge of a column, it stays as it is put.
    """

    def __init__(self, view: ModuleTreeView, model: ModuleTreeModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._header = view.header()
        self._put: dict[int, int] = {}  # widths that a person has chosen
        self._is_fitting = False
        self._wishes: dict[tuple[int, bool], int] = {}
        self.chosen = _stored_columns()
        self.has_changes = False  # whether another model is compared
        self.is_exact = QSettings().value(EXACT_SETTING, False, bool) is True
        header = self._header
        header.setStretchLastSection(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setMinimumSectionSize(COLUMN_LEAST)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for place, column in enumerate(ORDER):
            header.moveSection(header.visualIndex(column), place)
        header.sectionResized.connect(self._on_moved)
        view.viewport().installEventFilter(self)
        model.modelReset.connect(self._forget)
        model.figures_changed.connect(self._forget)
        model.headerDataChanged.connect(self._forget)

    def choose(self, column: int, is_shown: bool) -> None:
        """Show a column or not, now and in sessions to come."""
        self.chosen = self.chosen | {column} if is_shown else self.chosen - {column}
        names = [NAMES[each] for each in ORDER if each in self.chosen and each in NAMES]
        store(COLUMNS_SETTING, ",".join(names))
        self.fit()

    def offer_changes(self, are_there: bool) -> None:
        """Have a column of changes for as long as another model is compared."""
        if are_there != self.has_changes:
            self.has_changes = are_there
            self.chosen = self.chosen | {CHANGE} if are_there else self.chosen - {CHANGE}
        self.fit()

    def set_exact(self, is_exact: bool) -> None:
        """Show counts in all their digits, whatever room there is."""
        self.is_exact = is_exact
        store(EXACT_SETTING, is_exact)
        self.fit()

    def reset(self) -> None:
        """Show the usual columns, as wide as they are by themselves."""
        self._put.clear()
        self.chosen = USUAL | {CHANGE} if self.has_changes else USUAL
        QSettings().remove(COLUMNS_SETTING)
        self.set_exact(False)

    def fit(self) -> None:
        """Fit all columns to what is shown now, and to the room that there is."""
        room = self._view.viewport().width()
        indent = NARROW_INDENT if room < NARROW else INDENT
        if indent != self._view.indentation():
            self._view.setIndentation(indent)
        shown = [column for column in ORDER[1:] if column in self.chosen]
        is_exact = self.is_exact
        widths = {column: self._width(column, is_exact) for column in shown}
        if SHAPE in widths and room - sum(widths.values()) < NAME_ENOUGH:
            del widths[SHAPE]
        name = self._put.get(MODULE, self._width(MODULE, is_exact))
        if not is_exact:
            whole = {column: self._width(column, True) for column in widths}
            if name + sum(whole.values()) <= room:
                is_exact, widths = True, whole
        left = room - sum(widths.values())
        widths[MODULE] = max(NAME_LEAST, min(self._put.get(MODULE, left), left))
        self._view.cells.is_exact = is_exact
        self._is_fitting = True
        for column in range(COLUMNS):
            self._view.setColumnHidden(column, column not in widths)
        for column, width in widths.items():
            self._header.resizeSection(column, width)
        self._is_fitting = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the view's width and its type; Qt calls it."""
        if event.type() == QEvent.Type.FontChange:
            self._view.cells.follow_look()
            self._wishes.clear()
        if event.type() in (QEvent.Type.Resize, QEvent.Type.FontChange):
            self.fit()
        return super().eventFilter(watched, event)

    def _width(self, column: int, is_exact: bool) -> int:
        if column in self._put:
            return self._put[column]
        if (column, is_exact) not in self._wishes:
            self._wishes[column, is_exact] = self._wish(column, is_exact)
        return self._wishes[column, is_exact]

    def _wish(self, column: int, is_exact: bool) -> int:
        """Return how wide a column would be with all of its texts in sight."""
        model, cells = self._model, self._view.cells
        if column == MODULE:
            return min(NAME_MOST, self._names())
        title = self._title(column)
        if column in (SHAPE, OUTPUT_SHAPE):
            shapes = set(model.rows.figures.outputs())
            if column == SHAPE:
                shapes |= {sizes_of(item.row.shape) for item in model.rows.looks.values()}
            width = _widest(cells.shape_font, set(map(look, shapes)))
            return max(title, min(SHAPE_MOST, width) + PAD + 1)
        if column == CLASS:
            return max(title, min(CLASS_MOST, _widest(cells.name_font, model.texts(CLASS)))) + PAD
        texts = set(model.texts(column))
        if column == PARAMETERS and not is_exact:
            counts = {short_count(item.row.parameters) for item in model.rows.looks.values()}
            return max(COUNT_LEAST, title, _widest(cells.count_font, counts) + PAD * 3 // 2)
        if column == MACS and not is_exact:
            texts = {short_count(int(text.replace(",", ""))) for text in texts if text}
        return max(title, _widest(cells.count_font, texts)) + 2 * PAD

    def _title(self, column: int) -> int:
        """Return how wide a column's title is."""
        across = Qt.Orientation.Horizontal
        font = self._model.headerData(column, across, Qt.ItemDataRole.FontRole)
        return _widest(font, {str(self._model.headerData(column, across))}) + TITLE_PAD

    def _names(self) -> int:
        """Return how wide the column of names would be, with all of them in sight."""
        metrics = QFontMetrics(self._view.cells.name_font)
        items = self._model.rows.items
        widths = (
            (depth + 1) * INDENT + NAME_LEFT + metrics.horizontalAdvance(shortened(label))
            for depth, label in (_labels(items[0].row, 0) if items else ())
        )
        return max(widths, default=0) + PAD

    def _on_moved(self, column: int, before: int, now: int) -> None:
        """Keep a width that a person has chosen."""
        if not self._is_fitting and before and now:
            self._put[column] = now
            self.fit()

    def _forget(self) -> None:
        """Have widths measured anew when they are next asked for: other texts are shown."""
        self._wishes.clear()


def _stored_columns() -> frozenset[int]:
    stored = QSettings().value(COLUMNS_SETTING)
    if not isinstance(stored, str):
        return USUAL
    names = stored.split(",")
    return frozenset(column for column, name in NAMES.items() if name in names)


def _labels(row: TreeRow, depth: int) -> Iterator[tuple[int, str]]:
    """Yield names with how deep they stand; of equal layers those of the first."""
    yield depth, row.label
    if row.is_folded:
        depth += 1
        yield depth, row.members[-1].label
    for child in row.children:
        yield from _labels(child, depth + 1)


def _widest(font: QFont, texts: set[str] | frozenset[str]) -> int:
    return max(map(QFontMetrics(font).horizontalAdvance, texts), default=0)
