"""List of a report's chapters with check boxes; unavailable ones say why."""

from collections.abc import Collection, Iterator

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.report.catalogue import CHAPTERS, Chapter
from bertviewer.report.subject import ReportInputs
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

NAME = Qt.ItemDataRole.UserRole
_CHECK = {True: Qt.CheckState.Checked, False: Qt.CheckState.Unchecked}


def unavailable_reason(chapter: Chapter, inputs: ReportInputs, has_corpus: bool) -> str:
    """Return why a chapter is not available, in a few words; "" if it may be."""
    run = inputs.run
    reasons = (
        (chapter.needs_run and run is None, QT_TRANSLATE_NOOP("report_chapters", "no run yet")),
        (
            chapter.name == "runs" and inputs.baseline is None,
            QT_TRANSLATE_NOOP("report_chapters", "no run A"),
        ),
        (
            chapter.name == "checks" and (run is None or run.run.check is None),
            QT_TRANSLATE_NOOP("report_chapters", "nothing verified"),
        ),
        (
            chapter.name == "models" and inputs.comparison is None,
            QT_TRANSLATE_NOOP("report_chapters", "no comparison"),
        ),
        (
            chapter.name == "corpus" and not has_corpus,
            QT_TRANSLATE_NOOP("report_chapters", "no corpus"),
        ),
        (
            chapter.name == "attention" and run is not None and run.capture is None,
            QT_TRANSLATE_NOOP("report_chapters", "run from a file"),
        ),
    )
    return next((translate("report_chapters", text) for applies, text in reasons if applies), "")


class ChapterList(QListWidget):
    """The chapters; ``changed`` is emitted when the user changes a check box."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportChapters")
        self.setAccessibleName(self.tr("Chapters"))
        self.setToolTip(self.tr("Press Space to select or clear a chapter"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.viewport().setAutoFillBackground(False)
        self._hidden_omitted: tuple[str, ...] = ()  # omitted chapters that are not available
        for chapter in CHAPTERS:
            item = QListWidgetItem(translate("report_chapters", chapter.title))
            item.setData(NAME, chapter.name)
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 2 * GRID))
            self.addItem(item)
        self.setCurrentRow(0)
        self.itemChanged.connect(self.changed)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The names of the chapters that the user cleared."""
        cleared = (item for item in self._items() if item.checkState() == _CHECK[False])
        return (*self._hidden_omitted, *(item.data(NAME) for item in cleared if _is_enabled(item)))

    def show_chapters(
        self, inputs: ReportInputs, omitted: tuple[str, ...], *, has_corpus: bool
    ) -> None:
        """Show which chapters are available, and check all but the omitted ones."""
        self.blockSignals(True)
        self._hidden_omitted = ()
        for chapter, item in zip(CHAPTERS, self._items(), strict=True):
            reason = unavailable_reason(chapter, inputs, has_corpus)
            _set_text(item, chapter, reason)
            is_chosen = chapter.name not in omitted
            item.setCheckState(_CHECK[is_chosen and not reason])
            flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
            item.setFlags(flags if reason else flags | Qt.ItemFlag.ItemIsEnabled)
            if reason and not is_chosen:
                self._hidden_omitted += (chapter.name,)
        self.blockSignals(False)
        self.updateGeometry()

    def show_written(self, names: Collection[str]) -> None:
        """Mark the chosen chapters that do not apply: all but those of a report."""
        self.blockSignals(True)
        for chapter, item in zip(CHAPTERS, self._items(), strict=True):
            if _is_enabled(item):
                is_missing = item.checkState() == _CHECK[True] and chapter.name not in names
                reason = translate("report_chapters", "not available") if is_missing else ""
                _set_text(item, chapter, reason)
        self.blockSignals(False)
        self.viewport().update()

    def check_all(self, is_checked: bool) -> None:
        """Check or clear all available chapters."""
        self.blockSignals(True)
        for item in self._items():
            if _is_enabled(item):
                item.setCheckState(_CHECK[is_checked])
        self.blockSignals(False)
        self.changed.emit()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if (item := self.currentItem()) is not None:
            item.setSelected(True)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.clearSelection()

    @override
    def sizeHint(self) -> QSize:
        # All rows: the form around the list scrolls.
        return QSize(220, self.minimumSizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        rows = sum(self.sizeHintForRow(row) for row in range(self.count()))
        return QSize(160, rows + 2 * self.frameWidth())

    def _items(self) -> Iterator[QListWidgetItem]:
        return (self.item(row) for row in range(self.count()))


def _set_text(item: QListWidgetItem, chapter: Chapter, reason: str) -> None:
    """Show a chapter's title and why it is not available, also as a tooltip."""
    title = translate("report_chapters", chapter.title)
    text = f"{title} – {reason}" if reason else title
    item.setText(text)
    item.setToolTip(text if reason else "")


def _is_enabled(item: QListWidgetItem) -> bool:
    return bool(item.flags() & Qt.ItemFlag.ItemIsEnabled)
