"""The tokens of a run as a table, which follows the selection and moves it."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QLabel,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.run.token_rows import JOIN_ROLE, SEGMENT, TOKEN, TokenRows
from bertviewer.ui.state.selection import Selection
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.tables import make_table

INDENT = 10  # pixels before a token's text, where its bracket is
PADDING = 10  # pixels around a number
TICK = 3  # pixels of a bracket's ends


class TokenTable(QWidget):
    """Number, text, id and segment of each token, under a line that counts them.

    Where all are of one segment, that column is left out.
    """

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self._run: ActivationRun | None = None
        self._rows = TokenRows(self)
        self._summary = named(QLabel(), "tokenSummary")
        self._summary.setTextFormat(Qt.TextFormat.PlainText)
        self._table = make_table(self._rows, "tokenTable", self.tr("Tokens of the sentence"))
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        # Else it scrolls when it is shown for the first time and has no height yet.
        self._table.setAutoScroll(False)
        self._table.setItemDelegateForColumn(TOKEN, _TokenDelegate(self))
        header = self._table.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(TOKEN, QHeaderView.ResizeMode.Stretch)
        vbox(self._summary, (self._table, 1), parent=self)

        self._table.selectionModel().currentRowChanged.connect(self._on_current)
        selection.token_changed.connect(self._follow)

    def show_run(self, run: ActivationRun | None) -> None:
        """Show the tokens of a run, unless they are shown."""
        if run is self._run:
            return
        self._run = run
        self._rows.set_run(run)
        self._table.setColumnHidden(SEGMENT, not self._rows.has_segments)
        self._summary.setText("" if run is None else self._rows.summary())
        self._set_widths()
        self._follow()
        # What was selected with the run is at its beginning.
        self._table.scrollToTop()

    def _set_widths(self) -> None:
        """Make the columns of numbers as wide as their longest one; the tokens get the rest."""
        header, metrics = self._table.horizontalHeader(), self._table.fontMetrics()
        for column, digits in self._rows.digits().items():
            width = max(metrics.horizontalAdvance("0" * digits), header.sectionSizeHint(column))
            self._table.setColumnWidth(column, width + PADDING)

    def _follow(self) -> None:
        token = self._selection.token
        if token is None or not 0 <= token < self._rows.rowCount():
            self._table.clearSelection()
            self._table.setCurrentIndex(QModelIndex())
        elif self._table.currentIndex().row() != token:
            self._table.setCurrentIndex(self._rows.index(token, TOKEN))

    def _on_current(self, current: QModelIndex) -> None:
        self._table.scrollTo(current)
        if current.isValid() and current.row() != self._selection.token:
            self._selection.go(SelectionKey(token=current.row()))


class _TokenDelegate(QStyledItemDelegate):
    """Draws a thin bracket at the left of the pieces of one word."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one cell; Qt calls it."""
        self.initStyleOption(option, index)
        style = option.widget.style() if option.widget else QApplication.style()
        whole = QRect(option.rect)
        style.drawPrimitive(
            QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, option.widget
        )
        option.rect = whole.adjusted(INDENT, 0, 0, 0)
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        above, below = index.data(JOIN_ROLE)
        if not (above or below):
            return
        role = QPalette.ColorRole.Accent
        x = whole.left() + INDENT - TICK
        top = whole.top() if above else whole.top() + TICK
        bottom = whole.bottom() if below else whole.bottom() - TICK
        painter.save()
        painter.setPen(QPen(option.palette.color(role), 1))
        painter.drawLine(x, top, x, bottom)
        if not above:
            painter.drawLine(x, top, x + TICK, top)
        if not below:
            painter.drawLine(x, bottom, x + TICK, bottom)
        painter.restore()
