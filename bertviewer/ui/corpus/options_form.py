"""Form of the corpus dialog."""

from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.core.corpus.options import BATCH_TOKENS, MAX_SHARDS, CorpusOptions
from bertviewer.core.corpus.records import COLUMN
from bertviewer.ui.corpus.fields import FileField
from bertviewer.ui.corpus.options import MAX_NUMBER, CorpusTask, proposed_folder
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, number_field, vbox

_TEXT_FILES = {".txt", ".text", ".gz", ""}
"""Suffixes of files without columns."""


class OptionsForm(QWidget):
    """Files, output folder and options.

    ``changed`` by the user, ``folder_changed`` in addition for the folder; ``advanced_toggled``
    when the rows of the advanced options are shown or hidden.
    """

    changed = Signal()
    folder_changed = Signal()
    advanced_toggled = Signal(bool)

    def __init__(self, *, offers_random: bool) -> None:
        super().__init__()
        self._offers_random = offers_random
        self._options = CorpusOptions()  # for those without a field
        self._is_proposed = True  # the folder
        self._files = FileField()
        self._folder = self._text("corpusFolder", self.tr("Output folder"))
        choose = named(
            QPushButton(self.tr("C&hoose…")),
            "corpusChooseFolder",
            tooltip=self.tr("Choose the output folder. An unfinished run in it is resumed."),
        )
        choose.setAutoDefault(False)
        column = self.tr("Column of JSONL, CSV or Parquet files that holds the sentences")
        self._column = self._text("corpusColumn", column, COLUMN)
        limit = self.tr("Maximum number of sentences")
        self._limit = self._number("corpusLimit", limit, self.tr("all"))
        self._random = named(
            QCheckBox(self.tr("Random weights (results are meaningless)")),
            "corpusRandom",
            tooltip=self.tr("This model has no trained weights"),
        )
        self._random.setVisible(offers_random)
        self._random.toggled.connect(self.changed)
        self._advanced = self._make_advanced()
        self._advanced_button = self._make_advanced_button()
        self._form = QFormLayout()
        self._lay_out(choose)
        self._files.changed.connect(self._on_files)
        self._folder.textEdited.connect(self._on_folder)
        choose.clicked.connect(self._choose_folder)

    @property
    def task(self) -> CorpusTask:
        """The fields' contents."""
        options = replace(
            self._options,
            column=self._column.text().strip() or None,
            batch_size=self._batch_size.value() or None,
            batch_tokens=self._batch_tokens.value(),
            max_tokens=self._max_tokens.value() or None,
            limit=self._limit.value() or None,
            shards=self._shards.value() or None,
            modules=self._modules.text().strip() or "*",
            random_weights=self._offers_random and self._random.isChecked(),
        )
        return CorpusTask(self._files.files, self._folder.text().strip(), options)

    def show_task(self, task: CorpusTask) -> None:
        """Fill all fields; emits nothing."""
        self._files.set_files(task.files)
        self._folder.setText(task.folder)
        self._is_proposed = task.folder in ("", proposed_folder(task.files))
        self.show_options(task.options)

    def show_options(self, options: CorpusOptions) -> None:
        """Fill the fields of the options; emits nothing."""
        self.blockSignals(True)
        self._options = options
        self._column.setText(options.column or "")
        self._modules.setText("" if options.modules == "*" else options.modules)
        self._batch_tokens.setValue(options.batch_tokens)
        for field, value in (
            (self._limit, options.limit),
            (self._batch_size, options.batch_size),
            (self._max_tokens, options.max_tokens),
            (self._shards, options.shards),
        ):
            field.setValue(value or 0)
        self._random.setChecked(options.random_weights)
        basic = CorpusOptions(
            column=options.column,
            limit=options.limit,
            random_weights=options.random_weights,
            device=options.device,
        )
        self._advanced_button.setChecked(options != basic)
        self._update_column()
        self.blockSignals(False)

    def _make_advanced(self) -> tuple[tuple[str, QWidget], ...]:
        """Return the labels and fields of the advanced options."""
        batch_tokens = self.tr("Maximum tokens per batch, including padding")
        self._batch_tokens = self._number("corpusBatchTokens", batch_tokens)
        self._batch_tokens.setMinimum(1)
        self._batch_tokens.setValue(BATCH_TOKENS)
        batch_size = self.tr("Maximum sentences per batch")
        self._batch_size = self._number("corpusBatchSize", batch_size, self.tr("no limit"))
        max_tokens = self.tr("Longer sentences are truncated to this many tokens")
        self._max_tokens = self._number("corpusMaxTokens", max_tokens, self.tr("model limit"))
        shards = self.tr(
            "Number of parts the data is split into; a resumed run computes the missing ones"
        )
        self._shards = self._number("corpusShards", shards, self.tr("automatic"))
        self._shards.setMaximum(MAX_SHARDS)
        modules = self.tr("Modules to measure, as a pattern of their paths")
        self._modules = self._text("corpusModules", modules, "*")
        return (
            (self.tr("&Tokens per batch"), self._batch_tokens),
            (self.tr("Sentences per &batch"), self._batch_size),
            (self.tr("Max t&okens per sentence"), self._max_tokens),
            (self.tr("&Modules"), self._modules),
            (self.tr("&Shards"), self._shards),
        )

    def _make_advanced_button(self) -> QToolButton:
        tooltip = self.tr("Batch size, truncation, modules and shards")
        button = tool_button("corpusMore", self.tr("Advanced"), tooltip, is_checkable=True)
        button.setAutoRaise(True)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.toggled.connect(self._show_advanced)
        return button

    def _show_advanced(self, is_shown: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if is_shown else Qt.ArrowType.RightArrow
        self._advanced_button.setArrowType(arrow)
        for _, field in self._advanced:
            self._form.setRowVisible(field, is_shown)
        self.advanced_toggled.emit(is_shown)

    def _lay_out(self, choose: QPushButton) -> None:
        form = self._form
        form.setHorizontalSpacing(3 * GRID)
        form.setVerticalSpacing(2 * GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        data, folder = QLabel(self.tr("&Data")), QLabel(self.tr("Output &folder"))
        data.setBuddy(self._files.list)
        folder.setBuddy(self._folder)
        form.addRow(data, self._files)
        form.addRow(self.tr("Co&lumn"), self._column)
        form.addRow(folder, hbox((self._folder, 1), choose, spacing=2 * GRID))
        form.addRow(self.tr("S&entences"), self._limit)
        form.addRow("", self._random)
        form.addRow("", hbox(self._advanced_button, STRETCH))
        for label, field in self._advanced:
            form.addRow(label, field)
        vbox(form, parent=self)
        self._show_advanced(False)
        self._update_column()

    def _text(self, name: str, purpose: str, placeholder: str = "") -> QLineEdit:
        field = named(QLineEdit(), name, accessible_name=purpose, tooltip=purpose)
        field.setPlaceholderText(placeholder)
        field.textEdited.connect(self.changed)
        return field

    def _number(self, name: str, purpose: str, text_of_zero: str = "") -> QSpinBox:
        field = number_field(name, purpose)
        field.setRange(0, MAX_NUMBER)
        field.setSpecialValueText(text_of_zero)
        field.valueChanged.connect(self.changed)
        return field

    def _update_column(self) -> None:
        """Show the field for a column if a file may have columns."""
        files = self._files.files
        suffixes = {Path(file.removesuffix(".gz")).suffix.lower() for file in files}
        is_visible = bool(suffixes - _TEXT_FILES) or bool(self._column.text())
        self._form.setRowVisible(self._column, is_visible)

    def _on_files(self) -> None:
        self._update_column()
        if self._is_proposed:
            self._folder.setText(proposed_folder(self._files.files))
            self.folder_changed.emit()
        self.changed.emit()

    def _on_folder(self) -> None:
        self._is_proposed = not self._folder.text()
        self.folder_changed.emit()

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self,
            self.tr("Choose a new output folder, or one with an unfinished run"),
            self._folder.text(),
        )
        if folder:
            self._folder.setText(folder)
            self._is_proposed = False
            self.folder_changed.emit()
            self.changed.emit()
