"""What the tensor is that is looked into, and where its values come from."""

from math import prod

from PySide6.QtGui import QPalette

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util.text import isolated
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.subject import Subject
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.staleness import why_stale
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip

_Role = QPalette.ColorRole
LONGEST_TIP = 1000


class TensorTitle(ElidedLabel):
    """Name, shape, type and source in a line; the full name and source under the mouse.

    Of a run it says, as the run's own line does, when that is no longer what is typed or chosen.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._shown: tuple[Subject, NamedValues] | None = None
        self._part: tuple[int, ...] = ()
        for signal in (
            workspace.next_run.changed,
            workspace.device_chosen,
            workspace.devices_changed,
        ):
            signal.connect(self._write)

    def show_name(self, name: str) -> None:
        """Show nothing but a name: there are no values."""
        self._shown = None
        self.setText(name)
        self.setToolTip("")
        self.setForegroundRole(_Role.WindowText)

    def show_values(self, subject: Subject, found: NamedValues) -> None:
        """Show what values these are."""
        self._shown, self._part = (subject, found), ()
        self._write()

    def show_part(self, shape: tuple[int, ...]) -> None:
        """Say how large the part is that is shown, as the rows of one head, if it is not all."""
        if shape != self._part:
            self._part = shape
            self._write()

    def _write(self) -> None:
        if self._shown is None:
            return
        subject, found = self._shown
        values, origin = found.values, found.values.origin
        shape = shape_text(values.shape)
        if self._part and prod(self._part) != prod(values.shape):
            shape = self.tr("{0} of {1}").format(shape_text(self._part), shape)
        facts = f"{shape}  {values.dtype}"
        stale = self._why_stale(subject)
        # What is random or stale has to be seen first, however narrow the pane is.
        parts = [stale.rstrip(":"), self.tr("Random weights") if origin.is_random else ""]
        parts += [subject.title, facts]
        if origin.file is not None:
            parts.append(self.tr("from {0}").format(origin.file.name))
        self.setText(" · ".join(filter(None, parts)))
        is_doubtful = origin.is_random or bool(stale)
        self.setForegroundRole(WARNING if is_doubtful else _Role.WindowText)
        tip = f"{subject.name}\n{self._whence(subject, found)}"
        if origin.file is not None and origin.key != values.name:
            tip += "\n" + self.tr("stored as {0}").format(origin.key)
        self.setToolTip(plain_tooltip(tip))

    def _why_stale(self, subject: Subject) -> str:
        workspace = self._workspace
        if subject.watched is None:
            return ""
        return why_stale(subject.watched.run, workspace.next_run, workspace.device)

    def _whence(self, subject: Subject, found: NamedValues) -> str:
        origin = found.values.origin
        if origin.file is not None:
            return str(origin.file)
        if subject.watched is None:
            return self.tr("initialised randomly, not read from a checkpoint")
        sentence = subject.watched.run.sentence.text[:LONGEST_TIP]
        whence = self.tr("from the run of “{0}”").format(isolated(sentence))
        if origin.is_random:
            whence += "\n" + self.tr("random weights: values are not meaningful")
        return whence
