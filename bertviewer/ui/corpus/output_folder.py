"""State of the output folder: empty, an unfinished run, a corpus, or something else."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.corpus.corpus import configuration_digest
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.parquet import pyarrow_parts
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER, read_plan
from bertviewer.core.corpus.reading import is_corpus, read_manifest
from bertviewer.core.corpus.writing import WHY_PYARROW
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.ui.corpus.options import CorpusTask, options_from
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named

DEBOUNCE = 250  # milliseconds from the last keystroke to reading the folder


class FolderState(Struct, frozen=True):
    """Content of a folder.

    Attributes:
        kind: "new" for nothing, "part" for an unfinished run of the open model and "whole" for a
            corpus of it, "other" for one of another model, "taken" for other files, "bad" if it
            cannot be read.
        problem: name of the other model or file, or the error.
        done: number of finished shards.
        shards: number of shards.
        sentences: number of sentences.
        data: names of the files.
        options: those of the run.
    """

    kind: Literal["new", "part", "whole", "other", "taken", "bad"]
    problem: str = ""
    done: int = 0
    shards: int = 0
    sentences: int = 0
    data: tuple[str, ...] = ()
    options: CorpusOptions = CorpusOptions()

    def has_options(self, options: CorpusOptions) -> bool:
        """Whether the run has these options, apart from the device."""
        return replace(self.options, device=options.device) == options


class FolderMessage(Struct, frozen=True):
    """A text about the folder, and whether it warns, and only because of other options."""

    text: str = ""
    is_warning: bool = False
    has_other_options: bool = False


def read_folder(folder: Path, config: dict[str, Any], progress: Progress) -> FolderState:
    """Return the state of a folder; ``config`` is the open model's."""
    progress(0, 0, f"Checking {folder.name}")
    try:
        if folder.exists() and not folder.is_dir():
            return FolderState("taken", folder.name)
        pyarrow_parts(WHY_PYARROW)
        names = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
        if is_corpus(folder):
            manifest = read_manifest(folder)
            return _run_state("whole", manifest, config, 0, int(manifest["sentences"]))
        if SHARDS_FOLDER not in names:
            return FolderState("taken", names[0]) if names else FolderState("new")
        shards = folder / SHARDS_FOLDER
        if not (shards / PLAN_FILE).exists():
            return FolderState("new")
        plan = read_plan(shards / PLAN_FILE)
        sentences = sum(file["sentences"] for file in plan["data"])
        return _run_state("part", plan, config, sum(1 for _ in shards.glob("*.shard")), sentences)
    except (UserError, OSError, KeyError, TypeError, ValueError) as error:
        return FolderState("bad", str(error))


def _run_state(
    kind: Literal["part", "whole"],
    plan: dict[str, Any],
    config: dict[str, Any],
    done: int,
    sentences: int,
) -> FolderState:
    if plan["model"]["configuration"] != configuration_digest(config):
        return FolderState("other", str(plan["source"]["name"]))
    shards = plan.get("shards", 0)
    return FolderState(
        kind,
        done=done,
        shards=shards if isinstance(shards, int) else len(shards),
        sentences=sentences,
        data=tuple(str(file["name"]) for file in plan.get("data", ())),
        options=options_from(plan.get("choices")),
    )


def folder_message(
    state: FolderState | None, task: CorpusTask, *, is_taken_over: bool
) -> FolderMessage:
    """Return what a state means for a task; ``is_taken_over``: it has just got its options."""
    if state is None or not task.folder or state.kind == "new":
        return FolderMessage()
    text = {
        "taken": translate("folder_words", "The folder already contains other files, such as {0}."),
        "other": translate("folder_words", "The folder contains a corpus of another model: {0}."),
        "bad": "{0}",
    }.get(state.kind)
    if text is not None:
        problem = as_sentence(state.problem) if state.kind == "bad" else state.problem
        return FolderMessage(text.format(printable(problem)), is_warning=True)
    content = _content_text(state)
    names = tuple(file.replace("\\", "/").rpartition("/")[2] for file in task.files)
    if task.files and names != state.data:
        more = translate("folder_words", "It cannot be resumed with other files.")
        return FolderMessage(f"{content} {more}", is_warning=True)
    if not state.has_options(task.options):
        more = translate(
            "folder_words", "It was started with other settings and cannot be resumed with these."
        )
        return FolderMessage(f"{content} {more}", is_warning=True, has_other_options=True)
    if state.kind == "whole":
        more = translate("folder_words", "It will be shown without running anything.")
    else:
        more = translate("folder_words", "The remaining shards will be run.")
    if is_taken_over:
        more = f"{more} {translate('folder_words', 'Its settings are used.')}"
    return FolderMessage(f"{content} {more}")


def _content_text(state: FolderState) -> str:
    sentences = count_text(
        state.sentences,
        translate("folder_words", "{0} sentence"),
        translate("folder_words", "{0} sentences"),
    )
    names = printable(", ".join(state.data))
    if state.kind == "whole":
        text = translate("folder_words", "The folder contains a finished corpus: {0} from {1}.")
        return text.format(sentences, names)
    text = translate(
        "folder_words",
        "The folder contains an unfinished run: {0} of {1} shards done, {2} in total from {3}.",
    )
    return text.format(f"{state.done:,}", f"{state.shards:,}", sentences, names)


class FolderLine(QWidget):
    """Line about the output folder, which the worker reads.

    ``state_changed`` when the state is known, ``options_wanted`` on a click on the button.
    ``is_new_folder`` until the options of a run in another folder than before are taken over.
    """

    state_changed = Signal()
    options_wanted = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._folder: str | None = None
        self._reads = 0
        self.is_new_folder = False
        self.message = FolderMessage()
        self._request = Request[FolderState](workspace.jobs, self, needs_torch=False)
        self._request.finished.connect(self.state_changed)
        self._text = named(plain_label(""), "corpusState")
        self._button = named(
            QPushButton(self.tr("&Use its settings")),
            "corpusTakeOver",
            tooltip=self.tr("Use the settings of the run in this folder"),
        )
        self._button.setAutoDefault(False)
        self._button.clicked.connect(self.options_wanted)
        self._debounce = QTimer(self)
        self._debounce.setSingleShot(True)
        self._debounce.setInterval(DEBOUNCE)
        self._debounce.timeout.connect(self._read)
        hbox((self._text, 1), self._button, parent=self, spacing=2 * GRID)

    @property
    def state(self) -> FolderState | None:
        """The state, as far as it is known."""
        return self._request.result

    def read(self, folder: str, *, is_typing: bool = False) -> None:
        """Read a folder, after a pause while its name is typed."""
        if folder != self._folder:
            self._folder, self.is_new_folder = folder, True
        if is_typing:
            self._debounce.start()
        else:
            self._read()

    def stop(self) -> None:
        """Cancel the request and forget the state."""
        self._debounce.stop()
        self._request.forget()

    def update_message(self, task: CorpusTask, *, is_taken_over: bool) -> None:
        """Show what the state means for a task."""
        self.message = folder_message(self.state, task, is_taken_over=is_taken_over)
        self._text.setText(self.message.text)
        role = WARNING if self.message.is_warning else QPalette.ColorRole.PlaceholderText
        self._text.setForegroundRole(role)
        self._button.setVisible(self.message.has_other_options)
        self.setVisible(bool(self.message.text))

    def _read(self) -> None:
        self._debounce.stop()
        self._reads += 1
        folder, architecture = self._folder, self._workspace.architecture
        if not folder or architecture is None:
            self._request.forget()
            self.state_changed.emit()
            return
        path, config = Path(folder), dict(architecture.config)
        key = folder, self._reads
        self._request.want(key, lambda _, progress: read_folder(path, config, progress))
