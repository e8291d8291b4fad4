"""What can be chosen of a report, as controls one below the other."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import as_sentence
from bertviewer.plots.fonts import grown, weighted
from bertviewer.report.choices import PAPERS, Paper
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.layers import ALL, ENDS, read_layers
from bertviewer.ui.export.chapters import ChapterList
from bertviewer.ui.export.corpus_choice import CorpusChoice
from bertviewer.ui.export.options import Wishes
from bertviewer.ui.export.report_inputs import Material, layers_of
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label

PAPER_TITLES: dict[Paper, str] = {"a4": "A4", "letter": "Letter"}
WIDTH, WIDEST = 72 * GRID, 90 * GRID
LONGEST = 200
"""Letters of a title or an author."""


class Choosing(QScrollArea):
    """``changed`` tells of every change, ``typed`` of one that more letters may follow."""

    changed = Signal()
    typed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportChoices")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._layer_count = 0
        self._material: Material | None = None
        self.chapters = ChapterList()
        self._layers = self._field("reportLayers", self.tr("Layers whose heads are shown"))
        self._layers.setPlaceholderText(ENDS)
        self._layers.setToolTip(
            self.tr("Layers whose heads are shown: “{0}”, “{1}” or numbers such as “0, 5”").format(
                ENDS, ALL
            )
        )
        self._trouble = plain_label("")
        self._trouble.setObjectName("reportLayersTrouble")
        self._trouble.setForegroundRole(WARNING)
        self._trouble.hide()
        papers = [(name, PAPER_TITLES[name]) for name in PAPERS]
        self._paper = self._choice("reportPaper", papers, self.tr("Paper"))
        self._title = self._field("reportTitle", self.tr("Title (default: the model’s name)"))
        self._author = self._field("reportAuthor", self.tr("Author (shown on the first page)"))
        self.corpus = CorpusChoice()
        self._grey = QCheckBox(self.tr("Greyscale-safe colours"))
        self._grey.setObjectName("reportGrey")
        self._grey.setToolTip(self.tr("For printing without colour"))
        forms = [(each.name, each.title) for each in FORMATS]
        self._form = self._choice("reportFormat", forms, self.tr("File format"))
        self._page = self._make_page()
        self.setWidget(self._page)
        for combo in (self._paper, self._form):
            combo.currentIndexChanged.connect(self.changed)
        self._grey.toggled.connect(self.changed)
        self.chapters.changed.connect(self.changed)
        self.corpus.changed.connect(self._on_corpus)

    @property
    def wishes(self) -> Wishes:
        """What is chosen."""
        return Wishes(
            left_out=self.chapters.left_out,
            layers=self._layers.text().strip(),
            paper=self._paper.currentData(),
            title=self._title.text(),
            author=self._author.text(),
            is_grey=self._grey.isChecked(),
            form=self._form.currentData(),
            corpus=self.corpus.folder,
        )

    def show_wishes(self, material: Material, wishes: Wishes) -> None:
        """Show what is wished for of a report of this material, without saying that it changed."""
        self.blockSignals(True)
        self.corpus.show_folder(wishes.corpus)
        self.chapters.show_chapters(material, wishes.left_out, has_corpus=bool(wishes.corpus))
        self._layers.setText(wishes.layers)
        self._paper.setCurrentIndex(max(0, self._paper.findData(wishes.paper)))
        self._title.setText(wishes.title)
        self._title.setPlaceholderText(material.title)
        self._author.setText(wishes.author)
        self._grey.setChecked(wishes.is_grey)
        self._form.setCurrentIndex(max(0, self._form.findData(wishes.form)))
        self.blockSignals(False)
        self.take(material)

    def take(self, material: Material) -> None:
        """Offer what there is to tell of this material; what is chosen stays."""
        self._material = material
        self._show_chapters()
        self._layer_count = layers_of(material)
        self._layers.setEnabled(self._layer_count > 0)
        self._show_trouble()

    def sizeHint(self) -> QSize:
        """Return room for the widest control, and the bar that it may be scrolled by."""
        page, bar = self._page.minimumSizeHint(), self.verticalScrollBar().sizeHint()
        least = page.width() + bar.width()
        return QSize(max(least, min(grown(WIDTH), WIDEST)), page.height())

    def show_form(self, name: str) -> None:
        """Show another format."""
        self._form.setCurrentIndex(max(0, self._form.findData(name)))

    def _make_page(self) -> QWidget:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(4 * GRID, 3 * GRID, 4 * GRID, 4 * GRID)
        layout.setSpacing(2 * GRID)
        layout.addLayout(self._make_head())
        layout.addWidget(self.chapters)
        layout.addSpacing(2 * GRID)
        grid = QGridLayout()
        grid.setHorizontalSpacing(3 * GRID)
        grid.setVerticalSpacing(2 * GRID)
        rows = (
            (self.tr("&Layers"), self._layers),
            ("", self._trouble),
            (self.tr("Co&rpus"), self.corpus),
            (self.tr("&Title"), self._title),
            (self.tr("&Author"), self._author),
            (self.tr("&Paper"), self._paper),
            (self.tr("&Format"), self._form),
        )
        for number, (words, control) in enumerate(rows):
            if words:
                label = QLabel(words)
                label.setBuddy(control)
                grid.addWidget(label, number, 0)
            grid.addWidget(control, number, 1)
        grid.setColumnStretch(1, 1)
        layout.addLayout(grid)
        layout.addWidget(self._grey)
        layout.addStretch(1)
        return page

    def _make_head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setSpacing(0)
        label = QLabel(self.tr("&Chapters"))
        label.setFont(weighted(label.font()))
        label.setBuddy(self.chapters)
        head.addWidget(label, 1)
        for name, words, tip, is_wanted in (
            ("reportAll", self.tr("All"), self.tr("Select all chapters"), True),
            ("reportNone", self.tr("None"), self.tr("Clear all chapters"), False),
        ):
            button = flat_button(name, words, tip)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, wanted=is_wanted: self.chapters.tick_all(wanted))
            head.addWidget(button)
        return head

    def _field(self, name: str, purpose: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(name)
        field.setAccessibleName(purpose)
        field.setToolTip(purpose)
        field.setMaxLength(LONGEST)
        field.setMinimumWidth(20 * GRID)
        field.textEdited.connect(self._on_typed)
        return field

    def _choice(self, name: str, options: Sequence[tuple[str, str]], purpose: str) -> QComboBox:
        combo = QComboBox()
        combo.setObjectName(name)
        combo.setAccessibleName(purpose)
        combo.setToolTip(purpose)
        for value, title in options:
            combo.addItem(title, value)
        return combo

    def _show_chapters(self) -> None:
        if self._material is not None:
            self.chapters.show_chapters(
                self._material, self.chapters.left_out, has_corpus=bool(self.corpus.folder)
            )

    def _on_corpus(self) -> None:
        self._show_chapters()
        self.typed.emit()

    def _on_typed(self) -> None:
        self._show_trouble()
        self.typed.emit()

    def _show_trouble(self) -> None:
        """Say which layers there are, if others were asked for."""
        trouble = ""
        if self._layer_count:
            try:
                read_layers(self._layers.text()).of(self._layer_count)
            except UserError as error:
                trouble = as_sentence(str(error))
        self._trouble.setText(trouble)
        self._trouble.setVisible(bool(trouble))
