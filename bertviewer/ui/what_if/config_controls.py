"""The numbers that can be changed: a field for each letter, with its key and meaning."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from bertviewer.core.expressions.symbols import Symbol, is_standard
from bertviewer.core.what_if.scenario import next_value
from bertviewer.core.what_if.sheet import Sheet
from bertviewer.plots.fonts import weighted
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.what_if.value_spin_box import MAX_VALUE, KnobSpin
from bertviewer.ui.widgets.labels import ElidedLabel, muted_label, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import FlowLayout, hbox, named, vbox

_KNOB_WIDTH, _LEAST = 13, 14
"""Of a knob with its key, and of all, in heights of their type."""
_MOST_COLUMNS = 3


class Knob(QWidget):
    """A letter with its key, and the field beside it; both say when the value is another."""

    def __init__(self, symbol: Symbol, step: Callable[[int, int], int]) -> None:
        super().__init__()
        self.symbol = symbol
        self.spin = KnobSpin(step, min(1, symbol.value))
        self.spin.setObjectName(f"whatIf_{symbol.name}")
        self.spin.setAccessibleName(" ".join(dict.fromkeys((symbol.name, symbol.key))).strip())
        self.spin.setAccessibleDescription(symbol.meaning)
        self._letter = QLabel(symbol.name)
        self._letter.setTextFormat(Qt.TextFormat.PlainText)
        self._letter.setFont(weighted(self._letter.font()))
        # Long keys stand in full in the tip and in the hint below.
        self._note = ElidedLabel()
        self._note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._letter.setMinimumWidth(self._letter.fontMetrics().horizontalAdvance("M"))
        hbox(self._letter, (self._note, 1), self.spin, parent=self, spacing=4)

    def show_value(self, value: int, note: str, is_changed: bool, is_enabled: bool) -> None:
        """Show a value without saying that it changed."""
        if self.spin.value() != value:
            self.spin.blockSignals(True)
            self.spin.setValue(min(max(value, 1), MAX_VALUE))
            self.spin.blockSignals(False)
        self.spin.setEnabled(is_enabled)
        self._note.setText(note)
        role = WARNING if is_changed else QPalette.ColorRole.WindowText
        self._letter.setForegroundRole(role)
        self._note.setForegroundRole(WARNING if is_changed else QPalette.ColorRole.PlaceholderText)


class KnobGroup(QWidget):
    """Knobs in as many columns as there is room for."""

    def __init__(self, knobs: list[Knob]) -> None:
        super().__init__()
        self._knobs = knobs
        self._columns = 0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(2)
        self._lay_out(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use the room there is; Qt calls it."""
        super().resizeEvent(event)
        each = _KNOB_WIDTH * self.fontMetrics().height()
        self._lay_out(min(max(1, event.size().width() // each), _MOST_COLUMNS))

    def _lay_out(self, columns: int) -> None:
        if columns == self._columns:
            return
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._columns = columns
        for index, knob in enumerate(self._knobs):
            self._grid.addWidget(knob, index // columns, index % columns)


class _FieldArea(QScrollArea):
    """As high as its fields, if there is room: what is said of them stands right below."""

    def __init__(self) -> None:
        super().__init__()
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Expanding, policy.Maximum)

    def sizeHint(self) -> QSize:
        """Return the size of all fields; Qt calls it."""
        page = self.widget()
        return super().sizeHint() if page is None else page.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Return room for two fields; Qt calls it."""
        return QSize(0, 4 * self.fontMetrics().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the fields, which Qt has it watch; Qt calls it."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self.updateGeometry()
        return super().eventFilter(watched, event)


class KnobPanel(QWidget):
    """All letters of a model: the standard ones, a sentence's, and those of further keys.

    ``changed`` is emitted with a letter and its new value when the user changes it.
    """

    changed = Signal(str, int)

    def __init__(self) -> None:
        super().__init__()
        self._sheet: Sheet | None = None
        self._values: Mapping[str, int] = {}
        self._knobs: list[Knob] = []
        self._scroll = _FieldArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        self._hint = muted_label("")
        self._hint.setContentsMargins(16, 4, 8, 6)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._message = named(plain_label(""), "whatIfMessage")
        self._message.setContentsMargins(16, 4, 8, 6)
        self._message.setForegroundRole(WARNING)
        self._message.setAlignment(Qt.AlignmentFlag.AlignTop)
        # The room is always there, so that nothing jumps.
        for label in (self._hint, self._message):
            label.setMinimumHeight(2 * label.fontMetrics().lineSpacing() + 10)
        self._offers = QWidget()
        self._offers.setContentsMargins(16, 0, 8, 6)
        self._offer_line = FlowLayout(self._offers, 4, 2)
        self.show_message("")
        vbox((self._scroll, 1), self._hint, self._message, self._offers, 0, parent=self, spacing=0)

    def minimumSizeHint(self) -> QSize:
        """Return room for a column of fields; Qt calls it."""
        return QSize(_LEAST * self.fontMetrics().height(), super().minimumSizeHint().height())

    def show_message(self, text: str, offers: Mapping[str, int] = MappingProxyType({})) -> None:
        """Say what the values break, in the hint's place, and offer what mends it.

        An empty text brings the hint back.
        """
        self._message.setText(text)
        self._message.setVisible(bool(text))
        self._hint.setVisible(not text)
        while (item := self._offer_line.takeAt(0)) is not None:
            if (button := item.widget()) is not None:
                button.hide()
                button.deleteLater()
        for letter, value in offers.items():
            title = f"{letter} = {value:,}"
            name = f"whatIfOffer_{letter}"
            button = named(QPushButton(title), name, tooltip=self.tr("Set {0}").format(title))
            button.clicked.connect(partial(self._take, letter, value))
            self._offer_line.addWidget(button)
        self._offers.setVisible(bool(offers))

    def _take(self, letter: str, value: int) -> None:
        """Set what is offered; its button goes, and the keys go on in the field."""
        knob = next(knob for knob in self._knobs if knob.symbol.name == letter)
        knob.spin.setFocus(Qt.FocusReason.OtherFocusReason)
        knob.spin.setValue(value)

    def set_sheet(self, sheet: Sheet) -> None:
        """Show other letters."""
        self._sheet = sheet
        page = QWidget()
        layout = vbox(parent=page, margins=(16, 4, 12, 8), spacing=4)
        self._knobs = [self._make_knob(symbol) for symbol in sheet.symbols]
        first = [knob for knob in self._knobs if is_standard(knob.symbol)]
        more = [knob for knob in self._knobs if not is_standard(knob.symbol)]
        layout.addWidget(KnobGroup(first))
        stops: list[QWidget] = [self._scroll, *(knob.spin for knob in first)]
        if more:
            group = KnobGroup(more)
            button = _more_button(self.tr("More settings ({0})").format(len(more)), group)
            layout.addWidget(button)
            layout.addWidget(group)
            stops += [button, *(knob.spin for knob in more)]
        layout.addStretch(1)
        self._scroll.setWidget(page)
        self._scroll.updateGeometry()
        # New widgets would come last in the whole window.
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)
        # What each number means is said here while its field has the keys.
        self._hint.setText(self.tr("Results update as you type."))

    def show_values(self, values: Mapping[str, int], kept: Collection[str]) -> None:
        """Show values; letters that are kept as multiples of others cannot be edited."""
        assert self._sheet is not None
        self._values = values
        for knob in self._knobs:
            symbol = knob.symbol
            value, real = values[symbol.name], self._sheet.values[symbol.name]
            is_enabled = (
                symbol.name in self._sheet.free
                and symbol.name not in kept
                and symbol.value <= MAX_VALUE
            )
            # A sentence's letters have no key.
            note = symbol.key if symbol.key != symbol.name else ""
            note = note or ("" if symbol.key else symbol.meaning)
            if value != real:
                was = self.tr("was {0}").format(f"{real:,}")
                note = f"{was} · {note}" if note else was
            knob.show_value(value, note, value != real, is_enabled)

    def _make_knob(self, symbol: Symbol) -> Knob:
        def step(value: int, direction: int) -> int:
            assert self._sheet is not None
            values = {**self._values, symbol.name: value}
            return next_value(self._sheet, values, symbol.name, direction)

        knob = Knob(symbol, step)
        hint = self._hint_of(symbol)
        knob.setToolTip(plain_tooltip(hint))
        knob.spin.valueChanged.connect(lambda value: self.changed.emit(symbol.name, value))
        knob.spin.noticed.connect(lambda: self._notice(knob, hint))
        return knob

    def _notice(self, knob: Knob, hint: str) -> None:
        self._hint.setText(hint)
        page = self._scroll.widget()
        if page is not None and knob.spin.hasFocus():
            top = knob.mapTo(page, QPoint(0, 0)).y()
            self._scroll.ensureVisible(0, top + knob.height() // 2, 0, knob.height())

    def _hint_of(self, symbol: Symbol) -> str:
        assert self._sheet is not None
        parts = [f"{symbol.name}: {symbol.meaning}"]
        if symbol.key and symbol.key != symbol.name:
            parts.append(f"({symbol.key})")
        text = " ".join(parts)
        if symbol.key and symbol.variable not in ("", symbol.name):
            also = self.tr("scales with {0} until set: the formulas require a fixed ratio")
            return f"{text}; {also.format(symbol.variable)}"
        if symbol.name in self._sheet.free:
            return text
        return f"{text}; {self.tr('no formula depends on it')}"


def _more_button(text: str, group: QWidget) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setCheckable(True)
    button.setAutoRaise(True)
    button.setArrowType(Qt.ArrowType.RightArrow)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)

    def show(is_open: bool) -> None:
        button.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        group.setVisible(is_open)

    button.toggled.connect(show)
    show(False)
    return button
