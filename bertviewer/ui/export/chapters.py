"""The chapters of a report, each with a box to tick; one that there is nothing of says why."""

from collections.abc import Collection, Iterator

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.report.contents import CHAPTERS, Chapter
from bertviewer.ui.export.report_inputs import Material
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

NAME = Qt.ItemDataRole.UserRole
_BOX = {True: Qt.CheckState.Checked, False: Qt.CheckState.Unchecked}


def lacking(chapter: Chapter, material: Material, has_corpus: bool) -> str:
    """Return why there is nothing to tell in a chapter, in a few words; "" if there may be."""
    return translate("report_chapters", _lacking(chapter, material, has_corpus))


def _lacking(chapter: Chapter, material: Material, has_corpus: bool) -> str:
    if chapter.needs_run and material.run is None:
        return QT_TRANSLATE_NOOP("report_chapters", "no run yet")
    if chapter.name == "runs" and material.watched_a is None:
        return QT_TRANSLATE_NOOP("report_chapters", "no run A")
    if chapter.name == "checks" and material.check is None:
        return QT_TRANSLATE_NOOP("report_chapters", "nothing verified")
    if chapter.name == "models" and material.comparison is None:
        return QT_TRANSLATE_NOOP("report_chapters", "no comparison")
    if chapter.name == "corpus" and not has_corpus:
        return QT_TRANSLATE_NOOP("report_chapters", "no corpus")
    if chapter.name == "attention" and material.is_from_file:
        return QT_TRANSLATE_NOOP("report_chapters", "run from a file")
    return ""


class ChapterList(QListWidget):
    """``changed`` tells of a box that was ticked or cleared by a person."""

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
        self._kept: tuple[str, ...] = ()  # left out, of those that there is nothing of now
        for chapter in CHAPTERS:
            item = QListWidgetItem(translate("report_chapters", chapter.title))
            item.setData(NAME, chapter.name)
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 2 * GRID))
            self.addItem(item)
        self.setCurrentRow(0)
        self.itemChanged.connect(self.changed)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the chapters that are not wanted."""
        cleared = (item for item in self._items() if item.checkState() == _BOX[False])
        return (*self._kept, *(item.data(NAME) for item in cleared if _can_be(item)))

    def show_chapters(
        self, material: Material, left_out: tuple[str, ...], *, has_corpus: bool
    ) -> None:
        """Show which chapters there can be, and which are wanted."""
        self.blockSignals(True)
        self._kept = ()
        for chapter, item in zip(CHAPTERS, self._items(), strict=True):
            why = lacking(chapter, material, has_corpus)
            title = translate("report_chapters", chapter.title)
            _write(item, title, why)
            is_wanted = chapter.name not in left_out
            item.setCheckState(_BOX[is_wanted and not why])
            flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
            item.setFlags(flags if why else flags | Qt.ItemFlag.ItemIsEnabled)
            if why and not is_wanted:
                self._kept += (chapter.name,)
        self.blockSignals(False)
        self.updateGeometry()

    def show_told(self, told: Collection[str]) -> None:
        """Say which of the chapters that are wanted had nothing to tell of this model."""
        self.blockSignals(True)
        for chapter, item in zip(CHAPTERS, self._items(), strict=True):
            if _can_be(item):
                title = translate("report_chapters", chapter.title)
                is_empty = item.checkState() == _BOX[True] and chapter.name not in told
                nothing = translate("report_chapters", "not available")
                _write(item, title, nothing if is_empty else "")
        self.blockSignals(False)
        self.viewport().update()

    def tick_all(self, is_wanted: bool) -> None:
        """Tick all boxes that can be, or clear them."""
        self.blockSignals(True)
        for item in self._items():
            if _can_be(item):
                item.setCheckState(_BOX[is_wanted])
        self.blockSignals(False)
        self.changed.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Mark the chapter that keys tick; Qt calls it."""
        super().focusInEvent(event)
        if (item := self.currentItem()) is not None:
            item.setSelected(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Mark none; Qt calls it."""
        super().focusOutEvent(event)
        self.clearSelection()

    def sizeHint(self) -> QSize:
        """Return room for all of them: what stands around is scrolled. Qt calls it."""
        return QSize(220, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the same; Qt calls it."""
        rows = sum(self.sizeHintForRow(row) for row in range(self.count()))
        return QSize(160, rows + 2 * self.frameWidth())

    def _items(self) -> Iterator[QListWidgetItem]:
        return (self.item(row) for row in range(self.count()))


def _write(item: QListWidgetItem, title: str, why: str) -> None:
    """Write a chapter's title and why there is nothing of it, whole under the mouse."""
    text = f"{title} – {why}" if why else title
    item.setText(text)
    item.setToolTip(text if why else "")


def _can_be(item: QListWidgetItem) -> bool:
    return bool(item.flags() & Qt.ItemFlag.ItemIsEnabled)
