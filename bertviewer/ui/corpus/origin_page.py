"""What a corpus is of: data, what was left out of them, the model, and the command."""

from collections.abc import Iterator, Mapping
from typing import Any

from PySide6.QtWidgets import QWidget

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.corpus.command_line import CommandLine
from bertviewer.ui.widgets.facts import Fact, FactGroup, FactsView
from bertviewer.ui.widgets.layouts import named, scroll_area, vbox


class OriginPage(QWidget):
    """Reads the manifest out."""

    def __init__(self, corpus: Corpus) -> None:
        super().__init__()
        self._corpus, self._manifest = corpus, corpus.manifest
        facts = named(FactsView(), "corpusOrigin")
        data = [self._of_file(file) for file in self._files]
        facts.show_groups(
            [
                FactGroup(self.tr("Data"), data),
                FactGroup(self.tr("Run"), list(self._of_run())),
                FactGroup(self.tr("Skipped"), list(self._left_out())),
                FactGroup(self.tr("Model"), list(self._of_model())),
                FactGroup(self.tr("Versions"), list(_texts(self._manifest.get("versions", {})))),
            ]
        )
        command = CommandLine("corpusCommand")
        command.show_command(str(self._manifest.get("command", "")))
        command.setVisible(bool(command.text))
        vbox((scroll_area(facts), 1), command, parent=self, margins=(0, 4, 0, 0), spacing=8)

    @property
    def _files(self) -> list[dict[str, Any]]:
        files: list[dict[str, Any]] = self._manifest.get("data", [])
        return files

    def _of_file(self, file: Mapping[str, Any]) -> Fact:
        count = count_text(file["sentences"], self.tr("{0} sentence"), self.tr("{0} sentences"))
        return printable(file["name"]), f"{count} · SHA-256 {file['sha256']}"

    def _of_run(self) -> Iterator[Fact]:
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
        if chosen := _chosen(manifest.get("choices", {})):
            yield self.tr("Settings"), chosen

    def _left_out(self) -> Iterator[Fact]:
        for file in self._files:
            told = file.get("first_left_out", ())
            for where, problem in told:
                yield printable(f"{file['name']}, {where}"), printable(problem)
            if more := file.get("left_out", 0) - len(told):
                yield printable(file["name"]), self.tr("{0} more").format(f"{more:,}")

    def _of_model(self) -> Iterator[Fact]:
        source = SourceInfo.from_json(self._manifest["source"])
        yield self.tr("Name"), printable(source.name)
        yield self.tr("Task"), find_task(source.task).title
        for name, digest in _texts(self._manifest.get("model", {}).get("files", {})):
            yield name, f"SHA-256 {digest}"


def _texts(named_things: Mapping[str, Any]) -> Iterator[Fact]:
    for name, value in named_things.items():
        yield printable(name), printable(str(value))


def _chosen(choices: Mapping[str, Any]) -> str:
    """Return what was chosen otherwise than usual, by the names of the command's options."""
    usual = CorpusOptions().to_json()
    return ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in choices.items()
        if value != usual.get(name)
    )
