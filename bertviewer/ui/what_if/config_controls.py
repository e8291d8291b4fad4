"""Fields for the values of a configuration: one for each symbol, with its key and meaning."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from PySide6.QtCore import QEvent, QLocale, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QWidget,
)
from typing_extensions import override

from bertviewer.core.expressions.symbols import Symbol, is_standard
from bertviewer.core.what_if.scenario import next_value
from bertviewer.core.what_if.sheet import Sheet
from bertviewer.plots.fonts import weighted
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import fold_button
from bertviewer.ui.widgets.column_grid import ColumnGrid
from bertviewer.ui.widgets.labels import ElidedLabel, muted_label, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import FlowLayout, hbox, named, vbox

MAX_VALUE = 2**31 - 1
"""The maximum of a ``QSpinBox``."""
SPIN_BOX_WIDTH = 5.75
_FIELD_WIDTH, _MIN_WIDTH = 13, 14
"""Widths of a field with its key and of all fields, in font heights."""
_MAX_COLUMNS = 3
_GAPS = 20, 2


class ValueSpinBox(QSpinBox):
    """An integer; the arrows go to the next value that the model's conditions allow.

    ``noticed`` is emitted when the field gets the focus or the mouse pointer.
    """

    noticed = Signal()

    def __init__(self, next_allowed: Callable[[int, int], int], minimum: int) -> None:
        super().__init__()
        self._next_allowed = next_allowed
        self.setRange(minimum, MAX_VALUE)
        self.setLocale(QLocale.c())  # with the window's thousands separator
        self.setGroupSeparatorShown(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @override
    def sizeHint(self) -> QSize:
        width = round(SPIN_BOX_WIDTH * self.fontMetrics().height())
        return QSize(width, super().sizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def stepBy(self, steps: int) -> None:
        value = self.value()
        for _ in range(abs(steps)):
            value = min(self._next_allowed(value, 1 if steps > 0 else -1), MAX_VALUE)
        self.setValue(value)
        self.selectAll()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()  # scrolls the page

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.noticed.emit()

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.noticed.emit()


class ConfigField(QWidget):
    """A symbol with its key and a spin box; changed values are highlighted."""

    def __init__(self, symbol: Symbol, next_allowed: Callable[[int, int], int]) -> None:
        super().__init__()
        self.symbol = symbol
        self.spin_box = ValueSpinBox(next_allowed, min(1, symbol.value))
        self.spin_box.setObjectName(f"whatIf_{symbol.name}")
        self.spin_box.setAccessibleName(" ".join(dict.fromkeys((symbol.name, symbol.key))).strip())
        self.spin_box.setAccessibleDescription(symbol.meaning)
        self._name = QLabel(symbol.name)
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setFont(weighted(self._name.font()))
        self._name.setMinimumWidth(self._name.fontMetrics().horizontalAdvance("M"))
        self._note = ElidedLabel()
        self._note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        hbox(self._name, (self._note, 1), self.spin_box, parent=self, spacing=4)

    def show_value(self, value: int, note: str, *, is_changed: bool, is_enabled: bool) -> None:
        """Show a value without emitting a signal."""
        if self.spin_box.value() != value:
            self.spin_box.blockSignals(True)
            self.spin_box.setValue(min(max(value, 1), MAX_VALUE))
            self.spin_box.blockSignals(False)
        self.spin_box.setEnabled(is_enabled)
        self._note.setText(note)
        roles = QPalette.ColorRole.WindowText, QPalette.ColorRole.PlaceholderText
        for label, role in zip((self._name, self._note), roles, strict=True):
            label.setForegroundRole(WARNING if is_changed else role)


class _FieldArea(QScrollArea):
    """As high as its fields if there is room, so that the hint is right below them."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)

    @override
    def sizeHint(self) -> QSize:
        page = self.widget()
        return super().sizeHint() if page is None else page.sizeHint()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, 4 * self.fontMetrics().height())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # QScrollArea filters the events of its widget.
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self.updateGeometry()
        return super().eventFilter(watched, event)


class ConfigControls(QWidget):
    """Fields for all symbols: the standard ones, those of a sentence, and those of other keys.

    ``changed`` has a symbol's name and its new value when the user changes it.
    """

    changed = Signal(str, int)

    def __init__(self) -> None:
        super().__init__()
        self._sheet: Sheet | None = None
        self._values: Mapping[str, int] = {}
        self._fields: dict[str, ConfigField] = {}
        self._scroll = _FieldArea()
        self._hint = muted_label("")
        self._message = named(plain_label(""), "whatIfMessage")
        self._message.setForegroundRole(WARNING)
        for label in (self._hint, self._message):
            label.setContentsMargins(16, 4, 8, 6)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            # Two lines are always reserved, so that nothing moves.
            label.setMinimumHeight(2 * label.fontMetrics().lineSpacing() + 10)
        self._remedies = QWidget()
        self._remedies.setContentsMargins(16, 0, 8, 6)
        self._remedy_line = FlowLayout(self._remedies, 4, 2)
        self.show_message("")
        parts = (self._scroll, 1), self._hint, self._message, self._remedies, 0
        vbox(*parts, parent=self, spacing=0)

    @override
    def minimumSizeHint(self) -> QSize:
        width = _MIN_WIDTH * self.fontMetrics().height()
        return QSize(width, super().minimumSizeHint().height())

    def show_message(self, text: str, remedies: Mapping[str, int] = MappingProxyType({})) -> None:
        """Show what is invalid instead of the hint, with values that fix it as buttons."""
        self._message.setText(text)
        self._message.setVisible(bool(text))
        self._hint.setVisible(not text)
        while (item := self._remedy_line.takeAt(0)) is not None:
            if (button := item.widget()) is not None:
                button.hide()
                button.deleteLater()
        for name, value in remedies.items():
            title = f"{name} = {value:,}"
            tip = self.tr("Set {0}").format(title)
            button = named(QPushButton(title), f"whatIfOffer_{name}", tooltip=tip)
            button.clicked.connect(partial(self._set_value, name, value))
            self._remedy_line.addWidget(button)
        self._remedies.setVisible(bool(remedies))

    def set_sheet(self, sheet: Sheet) -> None:
        """Show the symbols of another model."""
        self._sheet = sheet
        page = QWidget()
        layout = vbox(parent=page, margins=(16, 4, 12, 8), spacing=4)
        self._fields = {symbol.name: self._make_field(symbol) for symbol in sheet.symbols}
        fields = self._fields.values()
        standard = [field for field in fields if is_standard(field.symbol)]
        others = [field for field in fields if not is_standard(field.symbol)]
        layout.addWidget(self._group(standard))
        stops: list[QWidget] = [self._scroll, *(field.spin_box for field in standard)]
        if others:
            group = self._group(others)
            title = self.tr("More settings ({0})").format(len(others))
            button = fold_button("", title, group)
            layout.addWidget(button)
            layout.addWidget(group)
            stops += [button, *(field.spin_box for field in others)]
        layout.addStretch(1)
        self._scroll.setWidget(page)
        self._scroll.updateGeometry()
        # Otherwise new widgets would be the last ones of the whole window.
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)
        self._hint.setText(self.tr("Results update as you type."))

    def show_values(self, values: Mapping[str, int], kept: Collection[str]) -> None:
        """Show values; symbols in ``kept`` are multiples of others and can't be edited."""
        assert self._sheet is not None
        self._values = values
        for name, field in self._fields.items():
            symbol, value, real = field.symbol, values[name], self._sheet.values[name]
            # Symbols of the sentence have no key.
            note = symbol.key if symbol.key != name else ""
            note = note or ("" if symbol.key else symbol.meaning)
            if value != real:
                was = self.tr("was {0}").format(f"{real:,}")
                note = f"{was} · {note}" if note else was
            is_enabled = name in self._sheet.free and name not in kept and symbol.value <= MAX_VALUE
            field.show_value(value, note, is_changed=value != real, is_enabled=is_enabled)

    def _set_value(self, name: str, value: int) -> None:
        """Set a value, and move the focus from the button to the field."""
        spin_box = self._fields[name].spin_box
        spin_box.setFocus(Qt.FocusReason.OtherFocusReason)
        spin_box.setValue(value)

    def _group(self, fields: list[ConfigField]) -> ColumnGrid:
        group = ColumnGrid(
            fields,
            lambda: _FIELD_WIDTH * self.fontMetrics().height() - _GAPS[0],
            max_columns=_MAX_COLUMNS,
            gaps=_GAPS,
        )
        group.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        return group

    def _make_field(self, symbol: Symbol) -> ConfigField:
        def next_allowed(value: int, direction: int) -> int:
            assert self._sheet is not None
            values = {**self._values, symbol.name: value}
            return next_value(self._sheet, values, symbol.name, direction)

        field = ConfigField(symbol, next_allowed)
        hint = self._hint_text(symbol)
        field.setToolTip(plain_tooltip(hint))
        field.spin_box.valueChanged.connect(lambda value: self.changed.emit(symbol.name, value))
        field.spin_box.noticed.connect(partial(self._show_hint, field, hint))
        return field

    def _show_hint(self, field: ConfigField, hint: str) -> None:
        self._hint.setText(hint)
        page = self._scroll.widget()
        if page is not None and field.spin_box.hasFocus():
            top = field.mapTo(page, QPoint(0, 0)).y()
            self._scroll.ensureVisible(0, top + field.height() // 2, 0, field.height())

    def _hint_text(self, symbol: Symbol) -> str:
        assert self._sheet is not None
        text = f"{symbol.name}: {symbol.meaning}"
        if symbol.key and symbol.key != symbol.name:
            text += f" ({symbol.key})"
        if symbol.key and symbol.variable not in ("", symbol.name):
            also = self.tr("scales with {0} until set: the formulas require a fixed ratio")
            return f"{text}; {also.format(symbol.variable)}"
        if symbol.name in self._sheet.free:
            return text
        return f"{text}; {self.tr('no formula depends on it')}"
