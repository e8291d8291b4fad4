"""Window with the statistics of a corpus, and the details of how it was made."""

from collections.abc import Iterator, Mapping
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.corpus.fields import CommandField
from bertviewer.ui.corpus.pages import (
    ComparisonPage,
    HeadsPage,
    LayersPage,
    OutliersPage,
    ValuesPage,
    corpus_text,
    sentences_text,
)
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.result_window import ResultWindow
from bertviewer.ui.widgets.facts import Fact, FactGroup, FactsView
from bertviewer.ui.widgets.labels import Badge, ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, scroll_area, vbox

SIZE = 1080, 660  # pixels


class DetailsPage(QWidget):
    """The manifest: data, options, skipped lines, model, versions, and the command."""

    def __init__(self, corpus: Corpus) -> None:
        super().__init__()
        self._corpus, self._manifest = corpus, corpus.manifest
        self._files: list[dict[str, Any]] = corpus.manifest.get("data", [])
        facts = named(FactsView(), "corpusOrigin")
        groups = (
            (self.tr("Data"), self._data_facts()),
            (self.tr("Run"), self._run_facts()),
            (self.tr("Skipped"), self._skipped_facts()),
            (self.tr("Model"), self._model_facts()),
            (self.tr("Versions"), _text_facts(self._manifest.get("versions", {}))),
        )
        facts.show_groups([FactGroup(title, [*group]) for title, group in groups])
        command = CommandField("corpusCommand")
        command.show_command(str(self._manifest.get("command", "")))
        command.setVisible(bool(command.text))
        vbox((scroll_area(facts), 1), command, parent=self, margins=(0, 4, 0, 0), spacing=8)

    def _data_facts(self) -> Iterator[Fact]:
        for file in self._files:
            yield (
                printable(file["name"]),
                f"{sentences_text(file['sentences'])} · SHA-256 {file['sha256']}",
            )

    def _run_facts(self) -> Iterator[Fact]:
        manifest, corpus = self._manifest, self._corpus
        yield self.tr("Sentences"), f"{corpus.sentences:,}"
        yield self.tr("Tokens"), self.tr("{0}, excluding padding").format(f"{corpus.tokens:,}")
        if cut := manifest.get("cut"):
            text = self.tr("{0}, longer than the token limit")
            yield self.tr("Truncated"), text.format(f"{cut:,}")
        if unread := manifest.get("unread"):
            yield self.tr("Rejected"), self.tr("{0}, by the tokenizer").format(f"{unread:,}")
        if shards := manifest.get("shards"):
            yield self.tr("Shards"), f"{len(shards):,}"
        default = CorpusOptions().to_json()
        changed = (
            f"{name.replace('_', ' ')} {value}"
            for name, value in manifest.get("choices", {}).items()
            if value != default.get(name)
        )
        if settings := ", ".join(changed):
            yield self.tr("Settings"), settings

    def _skipped_facts(self) -> Iterator[Fact]:
        for file in self._files:
            listed = file.get("first_left_out", ())
            for where, problem in listed:
                yield printable(f"{file['name']}, {where}"), printable(problem)
            if more := file.get("left_out", 0) - len(listed):
                yield printable(file["name"]), self.tr("{0} more").format(f"{more:,}")

    def _model_facts(self) -> Iterator[Fact]:
        source = SourceInfo.from_json(self._manifest["source"])
        yield self.tr("Name"), printable(source.name)
        yield self.tr("Task"), find_task(source.task).title
        for name, digest in _text_facts(self._manifest.get("model", {}).get("files", {})):
            yield name, f"SHA-256 {digest}"


def _text_facts(texts: Mapping[str, Any]) -> Iterator[Fact]:
    for name, value in texts.items():
        yield printable(name), printable(str(value))


class CorpusWindow(ResultWindow):
    """Pages that follow the main window's selection, and select in it what is clicked.

    ``comparison_wanted`` is the click of a button.
    """

    comparison_wanted = Signal()

    def __init__(
        self, corpus: Corpus, architecture: Architecture, workspace: Workspace, parent: QWidget
    ) -> None:
        name = printable(architecture.source.name)
        title = translate("CorpusWindow", "{0}: corpus statistics").format(name)
        super().__init__("corpus", title, parent)
        self.corpus = corpus
        self._workspace = workspace
        self._comparison: ComparisonPage | None = None
        tabs = self.tabs
        tabs.addTab(LayersPage(corpus, architecture, workspace), self.tr("Layers"))
        tabs.addTab(ValuesPage(corpus, workspace), self.tr("Values"))
        heads = HeadsPage(corpus, architecture, workspace)
        if heads.has_heads:
            tabs.addTab(heads, self.tr("Heads"))
        if corpus.outliers is not None:
            tabs.addTab(OutliersPage(corpus, workspace), self.tr("Outlier features"))
        tabs.addTab(DetailsPage(corpus), self.tr("Details"))
        self.lay_out(self._make_head(), *SIZE)

    def show_comparison(self, comparison: CorpusComparison, name: str) -> None:
        """Show the differences from another corpus, which is in the folder ``name``."""
        if self._comparison is not None:
            self.tabs.removeTab(self.tabs.indexOf(self._comparison))
            self._comparison.deleteLater()
        self._comparison = ComparisonPage(comparison, self._workspace)
        title = self.tr("Compared with {0}").format(printable(name))
        self.tabs.addTab(self._comparison, title.replace("&", "&&"))
        self.tabs.setCurrentWidget(self._comparison)

    def _make_head(self) -> QHBoxLayout:
        """Return a description of the corpus, a warning about random weights, and the button."""
        head, text = named(ElidedLabel(), "corpusHead"), corpus_text(self.corpus)
        if skipped := self.corpus.manifest.get("left_out"):
            one, many = self.tr("{0} line skipped"), self.tr("{0} lines skipped")
            text = f"{text} · {count_text(skipped, one, many)}"
        head.setText(text)
        source = SourceInfo.from_json(self.corpus.manifest["source"])
        is_random = source.weights == "random" or bool(source.random_tensors)
        notices = self.tr("see notices") if source.notices else ""
        weights = named(Badge(), "corpusWeights")
        weights.show_text(self.tr("Random weights") if is_random else notices, WARNING)
        weights.setToolTip(plain_tooltip("\n".join(map(printable, source.notices))))
        compare = named(
            QPushButton(self.tr("&Compare with…")),
            "corpusCompare",
            tooltip=self.tr("Compare with the corpus in another folder"),
        )
        compare.setAutoDefault(False)
        compare.clicked.connect(self.comparison_wanted)
        return hbox((head, 1), weights, compare, spacing=8)
