"""The tree's filter: the field, what it finds in numbers, and the way from hit to hit."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import QLineEdit, QMenu, QToolButton, QWidget

from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.tree.examples import FilterExamples
from bertviewer.ui.tree.filter import KEYS
from bertviewer.ui.tree.offers import TreeOffers
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox

DELAY = 150  # milliseconds

_WORD = QT_TRANSLATE_NOOP("filter", "a word in the path or class")
_NOT = QT_TRANSLATE_NOOP("filter", "exclude (works with any term)")


class FilterResult(Struct, frozen=True):
    """What a filter found.

    Attributes:
        hits: how many modules fit, ``None`` where nothing was asked for.
        modules: how many there are.
        current: which of the hits is selected.
        unclear: what was not understood.
    """

    hits: int | None = None
    modules: int = 0
    current: int | None = None
    unclear: str = ""


class TreeFilterBar(QWidget):
    """What somebody types goes out as ``changed`` when the fingers rest.

    Enter and F3 ask for the next hit, with Shift for the one before (``stepped``); Escape clears
    the field and gives the keys back (``left``); the arrow down goes on into the tree
    (``entered``). What completes a term is offered below; ``items`` gives what is in the model.
    """

    changed = Signal(str)
    stepped = Signal(int)
    left = Signal()
    entered = Signal()

    def __init__(self, items: Callable[[], Sequence[TreeItem]] = tuple) -> None:
        super().__init__()
        self.field = QLineEdit()
        self.field.setObjectName("treeFilter")
        self.field.setClearButtonEnabled(True)
        self.field.setAccessibleName(self.tr("Filter the module tree"))
        self._items = items
        self._examples = named(QMenu(self), "treeFilterExamples")
        self.show_examples()
        self._offers = TreeOffers(self.field, items)
        self.field.installEventFilter(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._tell)
        self.field.textChanged.connect(self._timer.start)
        help_button = flat_button("treeFilterHelp", "?", self.tr("Filter syntax"))
        help_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        help_button.setMenu(self._examples)
        line = hbox((self.field, 1), help_button, spacing=2)
        vbox(line, self._make_result(), parent=self, spacing=2)

    def show_result(self, found: FilterResult) -> None:
        """Say how many modules fit, which hit one is at, and what was not understood."""
        texts = [self._found_text(found)] if found.hits is not None else []
        if found.unclear:
            texts.append(found.unclear)
        self._result.setVisible(bool(texts))
        self._count.setText(" · ".join(reversed(texts)))
        self._count.setForegroundRole(
            WARNING if found.unclear else QPalette.ColorRole.PlaceholderText
        )
        for button in (self._before, self._next):
            button.setEnabled(bool(found.hits))

    def _found_text(self, found: FilterResult) -> str:
        if not found.hits:
            return self.tr("No results")
        if found.current is not None:
            hit = self.tr("Match {0} of {1}")
            return hit.format(f"{found.current + 1:,}", f"{found.hits:,}")
        modules = count_text(found.modules, self.tr("1 module"), self.tr("{0} modules"))
        return self.tr("{0} of {1}").format(f"{found.hits:,}", modules)

    def clear(self) -> None:
        """Empty the field; the tree is told at once."""
        self.field.clear()
        self._timer.stop()
        self._tell()

    def forget(self) -> None:
        """Empty the field for a tree that is not filtered yet."""
        self._offers.forget()
        self.field.clear()
        self._timer.stop()
        self.show_result(FilterResult())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys that are not the field's own; Qt calls it."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._offers.take_key(event) or self._on_key(event)
        if event.type() == QEvent.Type.FocusOut:
            self._offers.forget()
        return super().eventFilter(watched, event)

    def _on_key(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                if self._timer.isActive():  # what was typed just now counts
                    self._timer.stop()
                    self._tell()
                is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self.stepped.emit(-1 if is_back else 1)
            case Qt.Key.Key_Escape:
                self.clear()
                self.left.emit()
            case Qt.Key.Key_Down:
                self.entered.emit()
            case _:
                return False
        return True

    def _tell(self) -> None:
        self.changed.emit(self.field.text().strip())

    def _make_result(self) -> QWidget:
        self._result = QWidget()
        self._count = plain_label("")
        self._count.setObjectName("treeFilterCount")
        self._count.setAccessibleName(self.tr("Filter results"))
        self._before = flat_button("hitBefore", "↑", self.tr("Previous match (Shift+F3)"))
        self._next = flat_button("hitNext", "↓", self.tr("Next match (F3)"))
        self._before.clicked.connect(lambda: self.stepped.emit(-1))
        self._next.clicked.connect(lambda: self.stepped.emit(1))
        hbox(
            (self._count, 1),
            self._before,
            self._next,
            parent=self._result,
            margins=(4, 0, 0, 0),
            spacing=0,
        )
        self._result.hide()
        return self._result

    def show_examples(self) -> None:
        """Show examples that find something in the model as it is now."""
        examples = FilterExamples(self._items())
        made, size = examples.together()
        self.field.setPlaceholderText(self.tr("Filter: words, {0}, {1}").format(made, size))
        tip = self.tr("Words in a path or class, {0} or {1}; click “?” for more (Ctrl+F)")
        self.field.setToolTip(tip.format(made, size))
        self._examples.clear()
        listed = ((examples.of(key), key.meaning) for key in KEYS)
        for example, meaning in ((examples.word(), _WORD), ("-dropout", _NOT), *listed):
            self._examples.addAction(
                f"{example}\t{translate('filter', meaning)}", partial(self._add, example)
            )

    def _add(self, example: str) -> None:
        text = self.field.text().strip()
        self.field.setText(f"{text} {example}" if text else example)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
