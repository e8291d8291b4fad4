"""Form with the options of a report: chapters, layers, corpus, title, author, paper, format."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.plots.fonts import grown, weighted
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.options import ALL, APPENDICES, ENDS, PAPERS, Options, Paper, layer_numbers
from bertviewer.report.subject import ReportInputs
from bertviewer.ui.export.chapters import ChapterList
from bertviewer.ui.export.settings import omitted_sections, sections_without
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox

PAPER_TITLES: dict[Paper, str] = {"a4": "A4", "letter": "Letter"}
WIDTH, MAX_WIDTH = 72 * GRID, 90 * GRID
MAX_LENGTH = 200
"""Characters of a title or an author."""


class CorpusField(QWidget):
    """A folder of a corpus, with a button to choose it and a message about problems."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        purpose = self.tr("Folder with a corpus of this model, for the corpus chapter")
        self._field = named(QLineEdit(), "reportCorpus", accessible_name=purpose, tooltip=purpose)
        self._field.setPlaceholderText(self.tr("none"))
        self._field.setMinimumWidth(20 * GRID)
        self._field.setClearButtonEnabled(True)
        self._field.textChanged.connect(self._on_text)
        choose = flat_button(
            "reportChooseCorpus", self.tr("Choose…"), self.tr("Choose a corpus folder")
        )
        choose.clicked.connect(self._choose)
        self._problem = _problem_label("reportCorpusTrouble")
        vbox(
            *(hbox((self._field, 1), choose, spacing=GRID), self._problem),
            parent=self,
            spacing=GRID,
        )
        self.setFocusProxy(self._field)

    @property
    def folder(self) -> str:
        """The folder, "" for none."""
        return self._field.text().strip()

    def show_folder(self, folder: str) -> None:
        """Show a folder without emitting ``changed``."""
        self._field.blockSignals(True)
        self._field.setText(folder)
        self._field.blockSignals(False)

    def show_problem(self, problem: str) -> None:
        """Show why the folder has no corpus of this model, "" if it has."""
        _show_problem(self._problem, printable(as_sentence(problem)))

    def _on_text(self) -> None:
        self.show_problem("")
        self.changed.emit()

    def _choose(self) -> None:
        title = self.tr("Choose a folder with a corpus of this model")
        folder = QFileDialog.getExistingDirectory(self, title, self.folder)
        if folder:
            self._field.setText(folder)


class OptionsForm(QScrollArea):
    """The options; ``changed`` is emitted for a change, ``typed`` while the user is typing."""

    changed = Signal()
    typed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportChoices")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._inputs: ReportInputs | None = None
        self.chapters = ChapterList()
        self._layers = self._field("reportLayers", self.tr("Layers whose heads are shown"))
        self._layers.setPlaceholderText(ENDS)
        self._layers.setToolTip(
            self.tr("Layers whose heads are shown: “{0}”, “{1}” or numbers such as “0, 5”").format(
                ENDS, ALL
            )
        )
        self._layers_problem = _problem_label("reportLayersTrouble")
        self.corpus = CorpusField()
        self._title = self._field("reportTitle", self.tr("Title (default: the model’s name)"))
        self._author = self._field("reportAuthor", self.tr("Author (shown on the first page)"))
        papers = [(name, PAPER_TITLES[name]) for name in PAPERS]
        self._paper = self._choice("reportPaper", papers, self.tr("Paper"))
        formats = [(each.name, each.title) for each in FORMATS]
        self._format = self._choice("reportFormat", formats, self.tr("File format"))
        self._grey = named(
            QCheckBox(self.tr("Greyscale-safe colours")),
            "reportGrey",
            tooltip=self.tr("For printing without colour"),
        )
        self._appendix = named(
            QCheckBox(self.tr("List every layer in the appendix")),
            "reportAppendix",
            tooltip=self.tr("Otherwise identical layers are listed once"),
        )
        self._page = self._make_page()
        self.setWidget(self._page)
        for combo in (self._paper, self._format):
            combo.currentIndexChanged.connect(self.changed)
        for box in (self._grey, self._appendix):
            box.toggled.connect(self.changed)
        self.chapters.changed.connect(self.changed)
        self.corpus.changed.connect(self._on_corpus)

    @property
    def options(self) -> Options:
        """The options that are shown."""
        return Options(
            sections=sections_without(self.chapters.omitted),
            layers=self._layers.text().strip(),
            paper=self._paper.currentData(),
            title=self._title.text().strip(),
            author=self._author.text().strip(),
            grey=self._grey.isChecked(),
            corpus=self.corpus.folder,
            appendix=APPENDICES[self._appendix.isChecked()],
            format=self._format.currentData(),
        )

    def show_options(self, inputs: ReportInputs, options: Options) -> None:
        """Show options for these inputs without emitting signals."""
        self.blockSignals(True)
        self.corpus.show_folder(options.corpus)
        omitted = omitted_sections(options.sections)
        self.chapters.show_chapters(inputs, omitted, has_corpus=bool(options.corpus))
        self._layers.setText(options.layers)
        self._paper.setCurrentIndex(max(0, self._paper.findData(options.paper)))
        self._title.setText(options.title)
        source = inputs.architecture.source if inputs.run is None else inputs.run.run.source
        self._title.setPlaceholderText(source.name)
        self._author.setText(options.author)
        self._grey.setChecked(options.grey)
        self._appendix.setChecked(options.appendix != APPENDICES[0])
        self.show_format(options.format)
        self.blockSignals(False)
        self.update_inputs(inputs)

    def show_format(self, name: str) -> None:
        """Show a format."""
        self._format.setCurrentIndex(max(0, self._format.findData(name)))

    def update_inputs(self, inputs: ReportInputs) -> None:
        """Offer the chapters of other inputs; the user's choices are kept."""
        self._inputs = inputs
        self._update_chapters()
        self._layers.setEnabled(inputs.layer_count > 0)
        self._check_layers()

    @override
    def sizeHint(self) -> QSize:
        # The width of the widest control and of the scroll bar.
        page, bar = self._page.minimumSizeHint(), self.verticalScrollBar().sizeHint()
        least = page.width() + bar.width()
        return QSize(max(least, min(grown(WIDTH), MAX_WIDTH)), page.height())

    def _make_page(self) -> QWidget:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(4 * GRID, 3 * GRID, 4 * GRID, 4 * GRID)
        layout.setSpacing(2 * GRID)
        label = QLabel(self.tr("&Chapters"))
        label.setFont(weighted(label.font()))
        label.setBuddy(self.chapters)
        all_button = flat_button("reportAll", self.tr("All"), self.tr("Select all chapters"))
        all_button.clicked.connect(lambda: self.chapters.check_all(True))
        none_button = flat_button("reportNone", self.tr("None"), self.tr("Clear all chapters"))
        none_button.clicked.connect(lambda: self.chapters.check_all(False))
        for button in (all_button, none_button):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        layout.addLayout(hbox((label, 1), all_button, none_button, spacing=0))
        layout.addWidget(self.chapters)
        layout.addSpacing(2 * GRID)
        form = QFormLayout()
        form.setHorizontalSpacing(3 * GRID)
        form.setVerticalSpacing(2 * GRID)
        form.addRow(self.tr("&Layers"), self._layers)
        form.addRow("", self._layers_problem)
        form.addRow(self.tr("Co&rpus"), self.corpus)
        form.addRow(self.tr("&Title"), self._title)
        form.addRow(self.tr("&Author"), self._author)
        form.addRow(self.tr("&Paper"), self._paper)
        form.addRow(self.tr("&Format"), self._format)
        layout.addLayout(form)
        layout.addWidget(self._grey)
        layout.addWidget(self._appendix)
        layout.addStretch(1)
        return page

    def _field(self, name: str, purpose: str) -> QLineEdit:
        field = named(QLineEdit(), name, accessible_name=purpose, tooltip=purpose)
        field.setMaxLength(MAX_LENGTH)
        field.setMinimumWidth(20 * GRID)
        field.textEdited.connect(self._on_typed)
        return field

    def _choice(self, name: str, items: Sequence[tuple[str, str]], purpose: str) -> QComboBox:
        combo = named(QComboBox(), name, accessible_name=purpose, tooltip=purpose)
        for value, title in items:
            combo.addItem(title, value)
        return combo

    def _update_chapters(self) -> None:
        if self._inputs is not None:
            has_corpus = bool(self.corpus.folder)
            self.chapters.show_chapters(self._inputs, self.chapters.omitted, has_corpus=has_corpus)

    def _on_corpus(self) -> None:
        self._update_chapters()
        self.typed.emit()

    def _on_typed(self) -> None:
        self._check_layers()
        self.typed.emit()

    def _check_layers(self) -> None:
        """Show which layers the model has, if others were typed."""
        problem = ""
        if self._inputs is not None and (count := self._inputs.layer_count):
            try:
                layer_numbers(self._layers.text(), count)
            except UserError as error:
                problem = as_sentence(str(error))
        _show_problem(self._layers_problem, problem)


def _problem_label(name: str) -> QLabel:
    label = named(plain_label(""), name)
    label.setForegroundRole(WARNING)
    label.hide()
    return label


def _show_problem(label: QLabel, problem: str) -> None:
    label.setText(problem)
    label.setVisible(bool(problem))
