"""Popup of the palette: the search field and the results below it."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListView, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.ui.palette.matching import LONGEST_QUERY
from bertviewer.ui.palette.results import HitDelegate, HitList
from bertviewer.ui.palette.search import Search
from bertviewer.ui.palette.sources import Source
from bertviewer.ui.widgets.card import CardPopup
from bertviewer.ui.widgets.labels import muted, plain_label
from bertviewer.ui.widgets.layouts import named, vbox

WIDTH, LINES = 640, 16
"""In pixels, and in lines of the list."""
SLICE = 0.006
"""Seconds of search per event-loop turn."""

_STEPS: dict[int, int] = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Tab: 1,
    Qt.Key.Key_Backtab: -1,
    Qt.Key.Key_PageDown: LINES // 2,
    Qt.Key.Key_PageUp: -LINES // 2,
}


class PalettePopup(CardPopup):
    """Searches while the user types.

    Not a QCompleter: it would complete one model in the GUI thread, while here several sources are
    searched in slices and listed under headings.

    Signals:
        chosen: the item that the user chose.
        left: whether the focus returns to where it was; it does not after a click elsewhere.
    """

    chosen = Signal(object)
    left = Signal(bool)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("palette")
        self._window = window
        self._place = QPoint()  # the middle of its upper edge
        self._sources: Sequence[Source] = ()
        self._at_first: Sequence[Source] = ()
        self._search: Search | None = None
        self._field = named(
            QLineEdit(), "paletteEdit", accessible_name=self.tr("Search modules, tensors, commands")
        )
        self._field.setMaxLength(LONGEST_QUERY)
        self._field.setPlaceholderText(
            self.tr("Search      > commands   # tensors   @ tokens   : settings   ? questions")
        )
        self._hits = HitList(self)
        self._list = self._make_list()
        self._nothing = named(muted(plain_label(self.tr("No results"))), "paletteNothing")
        self._nothing.setContentsMargins(3 * GRID, GRID, 0, 2 * GRID)
        vbox(
            self._field,
            self._list,
            self._nothing,
            parent=self,
            margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID),
            spacing=GRID,
        )
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._continue)
        self._field.textChanged.connect(self._start)
        self._field.installEventFilter(self)

    @property
    def is_searching(self) -> bool:
        """Whether more results may come."""
        return self._timer.isActive()

    def open_at(
        self, place: QPoint, sources: Sequence[Source], at_first: Sequence[Source], typed: str
    ) -> None:
        """Show the popup below a point, with ``at_first`` until something is typed."""
        self._place, self._sources, self._at_first = place, sources, at_first
        self._field.blockSignals(True)
        self._field.setText(typed)
        self._field.blockSignals(False)
        self._start()
        self.show_popup()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)

    def dismiss(self, *, restores_focus: bool = True) -> None:
        """Hide the popup and forget the results."""
        if self.isHidden():
            return
        self.hide_popup()
        self._timer.stop()
        self._search, self._sources, self._at_first = None, (), ()
        self._hits.show_groups(())
        self.left.emit(restores_focus)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field:
            if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
                return self._handle_key(event.key())
            if isinstance(event, QFocusEvent) and _loses_focus(event):
                self.dismiss(restores_focus=False)
            return False
        return super().eventFilter(watched, event)

    def _make_list(self) -> QListView:
        view = named(QListView(), "paletteHits", accessible_name=self.tr("Results"))
        view.setModel(self._hits)
        view.setItemDelegate(HitDelegate(view))
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the focus stays in the field
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.setMouseTracking(True)
        view.entered.connect(self._select)
        view.clicked.connect(self._choose)
        return view

    def _handle_key(self, key: int) -> bool:
        """Handle a key; return whether it does anything here."""
        if key == Qt.Key.Key_Escape:
            self.dismiss()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not self._list.currentIndex().isValid():
                self._finish()  # the key was faster than the search
            self._choose(self._list.currentIndex())
        elif key in _STEPS:
            self._step(_STEPS[key])
        else:
            return False
        return True

    def _step(self, by: int) -> None:
        number = self._list.currentIndex().row()
        for _ in range(abs(by)):
            number = self._hits.next(number, 1 if by > 0 else -1)
        self._select(self._hits.index(number))
        # Scroll to the heading above it, too.
        above = self._hits.row(number - 1)
        if above is not None and above.hit is None:
            self._list.scrollTo(self._hits.index(number - 1))
        self._list.scrollTo(self._hits.index(number))

    def _select(self, index: QModelIndex) -> None:
        row = self._hits.row(index.row())
        if row is not None and row.hit is not None:
            self._list.setCurrentIndex(index)
            self._field.setAccessibleDescription(str(index.data()))

    def _choose(self, index: QModelIndex) -> None:
        row = self._hits.row(index.row())
        if row is None or row.item is None or row.item.disabled_reason:
            return
        self.dismiss()
        self.chosen.emit(row.item)

    def _start(self) -> None:
        """Start a search for the text of the field."""
        query = self._field.text()
        self._search = Search(query, self._sources if query.strip() else self._at_first)
        self._search.work(SLICE)
        self._show()
        if not self._search.is_done:
            self._timer.start(0)

    def _continue(self) -> None:
        search = self._search
        if search is not None:
            search.work(SLICE)
        if search is None or search.is_done:
            self._timer.stop()
            self._show()

    def _finish(self) -> None:
        while self.is_searching:
            self._continue()

    def _show(self) -> None:
        """Show the results; the current one stays current if it is among them."""
        search = self._search
        if search is None:
            return
        row = self._hits.row(self._list.currentIndex().row())
        self._hits.show_groups(search.groups())
        is_later = self._timer.isActive() or not self._field.text()
        places = range(self._hits.rowCount())
        same = (n for n in places if is_later and row is not None and self._hits.row(n) == row)
        self._list.scrollToTop()
        self._select(self._hits.index(next(same, self._hits.next(-1, 1))))
        self._nothing.setVisible(search.is_done and not self._hits.rowCount())
        self.fit()

    def fit(self) -> None:
        """Fit the height to the results, within the window."""
        width = min(WIDTH, self._window.width() - 4 * GRID)
        lines = min(self._hits.rowCount(), LINES)
        height = self._list.sizeHintForRow(0) * lines if lines else 0
        layout = self.layout()
        assert layout is not None
        self._list.setVisible(lines > 0)
        around = layout.sizeHint().height() - (self._list.sizeHint().height() if lines else 0)
        room = self._window.height() - self._place.y() - 2 * GRID - around
        self._list.setFixedHeight(max(0, min(height, room)))
        most = self._window.width() - width - 2 * GRID
        left = max(2 * GRID, min(self._place.x() - width // 2, most))
        self.setGeometry(left, self._place.y(), width, layout.sizeHint().height())


def _loses_focus(event: QFocusEvent) -> bool:
    """Return whether the focus goes elsewhere, and not to the field's own context menu."""
    return event.lostFocus() and event.reason() != Qt.FocusReason.PopupFocusReason
