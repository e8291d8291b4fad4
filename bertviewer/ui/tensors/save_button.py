"""A button that writes the values that are shown to a file."""

import re
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton

from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.widgets.messages import show_error


class SaveButton(QToolButton):
    """Asks for a file, and has the worker write it; without a part it is off."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._part: TensorPart | None = None
        self.setObjectName("saveTensor")
        self.setText(self.tr("Save…"))
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        # The dots say that there is more to come; Qt's arrow would hang below the text.
        menu = QMenu(self)
        for suffix, title in (
            (".npy", self.tr("As .npy…")),
            (".safetensors", self.tr("As .safetensors…")),
            (".csv", self.tr("As CSV…")),
        ):
            action = menu.addAction(title)
            action.setObjectName(f"save{suffix}")
            action.triggered.connect(partial(self._choose_file, suffix))
        self.setMenu(menu)
        self.set_part(None)

    def set_part(self, part: TensorPart | None) -> None:
        """Take what there is to save, or nothing."""
        self._part = part
        self.setEnabled(part is not None)

    def save(self, path: Path) -> None:
        """Write the values to a file, in the background."""
        if self._part is None:
            return
        try:
            check_writable(path, self._workspace.models)
        except UserError as error:
            show_error(self, str(error))
            return
        saved = self._workspace.saved
        models = self._workspace.models
        work = partial(jobs.save_tensor_job, self._part, path, models)
        self._workspace.scheduler.start("save", work, lambda written: saved.emit(str(written)))

    def _choose_file(self, suffix: str) -> None:
        if self._part is None:
            return
        name, _ = QFileDialog.getSaveFileName(
            self,
            self.tr("Save the values"),
            f"{_file_name(self._part)}{suffix}",
            f"{suffix[1:].upper()} (*{suffix})",
        )
        if name:
            path = Path(name)
            # What was chosen in the menu is what is written, whatever was typed.
            self.save(path if path.suffix.lower() == suffix else Path(f"{name}{suffix}"))


def _file_name(part: TensorPart) -> str:
    """Return what a file is called that a person has not named: module and tensor."""
    values = part.matrix.values
    module = part.metadata.get("module", "")
    parts = [module, part.metadata.get("side", ""), values.name]
    return re.sub(r"[^\w.\-]+", "-", "-".join(filter(None, parts))).strip("-.")
