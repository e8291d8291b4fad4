"""Consent to pickled weights: shows what a pickle requests, and stores the user's answers."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.ui.settings.settings import store
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import named

if TYPE_CHECKING:
    from bertviewer.core.pickles.consent import PickleReview

SETTING = "allowedPickles"
REMEMBERED = 200


class WeightsConsent(QObject):
    """Passes models on to ``use``; those with pickled weights only after the user agrees."""

    def __init__(
        self, workspace: Workspace, window: QWidget, use: Callable[[ModelSource], None]
    ) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._use = use

    def ask(self, source: ModelSource) -> None:
        """Pass a model on, or inspect its pickle and ask first."""
        if source.kind != "pickle" or source.pickle_allowed:
            self._use(source)
            return
        from bertviewer.core.pickles.consent import review

        work = partial(review, source.path)
        self._workspace.jobs.start("examine", work, partial(self._on_reviewed, source))

    def _on_reviewed(self, source: ModelSource, pickle: "PickleReview") -> None:
        if not pickle.refusal and pickle.key in _allowed():
            self._use(replace(source, pickle_allowed=True))
        else:
            self._ask(source, pickle)

    def _ask(self, source: ModelSource, pickle: "PickleReview") -> None:
        box = named(QMessageBox(self._window), "consentDialog")
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle(self.tr("Pickled weights"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(self._text(source, pickle))
        box.setInformativeText(self._explanation(pickle))
        box.setDetailedText(self._details(pickle))
        answers: dict[object, Callable[[], None]] = {}
        if not pickle.refusal:
            read = box.addButton(self.tr("&Read the tensors"), QMessageBox.ButtonRole.AcceptRole)
            answers[read] = partial(self._agree, source, pickle.key)
        if source.config_file is not None:
            plain = box.addButton(self.tr("&Architecture only"), QMessageBox.ButtonRole.ActionRole)
            answers[plain] = partial(self._use, source)
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.buttonClicked.connect(lambda button: button in answers and answers[button]())
        box.open()

    def _agree(self, source: ModelSource, key: str) -> None:
        store(SETTING, [*_allowed(), key][-REMEMBERED:])
        self._use(replace(source, pickle_allowed=True))

    def _text(self, source: ModelSource, pickle: "PickleReview") -> str:
        if pickle.refusal:
            return self.tr("The weights of {0} were rejected").format(source.name)
        return self.tr("Read the pickled weights of {0}?").format(source.name)

    def _explanation(self, pickle: "PickleReview") -> str:
        danger = self.tr("A pickle is a small program: loading it can run arbitrary code.")
        if pickle.refusal:
            return f"{danger}\n\n{pickle.refusal}."
        found = self.tr("This one was inspected without running it: it requests only tensors.")
        how = self.tr(
            "If you agree, a separate process with memory and time limits reads the "
            "weights and saves them as safetensors in your cache. You are asked only once "
            "for this content."
        )
        return f"{danger}\n\n{found}\n\n{how}"

    def _details(self, pickle: "PickleReview") -> str:
        lines = [f"{file.file}  {file.nbytes / 1e6:,.1f} MB" for file in pickle.files]
        names = sorted({name for file in pickle.files for name in file.globals})
        lines += ["", f"SHA-256 {pickle.key}", "", self.tr("It requests:"), *names]
        return "\n".join(lines)


def _allowed() -> list[str]:
    stored = QSettings().value(SETTING)
    # QSettings returns a list of one text as a text.
    return list(map(str, stored)) if isinstance(stored, list) else [str(stored or "")]
