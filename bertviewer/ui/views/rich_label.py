"""Words to read: symbols stand as in formulas, and paths of the open model are links."""

import re
from collections.abc import Collection

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_tensor
from bertviewer.ui.widgets.labels import plain_label

_SYMBOL = re.compile(r"(?<![\w.])([A-Za-z])_([A-Za-z0-9]{1,2})(?![\w.]*\w)")
"""A letter with another one, or two, below it: W_Q, d_k. Names have more."""
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)+")
_ROOT = re.compile(r"\bsqrt\(([^()]*)\)")


def prose_html(text: str, paths: Collection[str] = ()) -> str:
    """Return a text as HTML that shows it literally, but for symbols and paths.

    ``paths`` are those of modules and the names of tensors that can be gone to.
    """
    from html import escape  # little needs it, and the start nothing

    pieces, end = [], 0
    for found in _PATH.finditer(text):
        if found.group() in paths:
            pieces += [_words(escape(text[end : found.start()]))]
            path = escape(found.group())
            pieces.append(f'<a href="{path}">{path}</a>')
            end = found.end()
    pieces.append(_words(escape(text[end:])))
    return f"<p>{''.join(pieces)}</p>".replace("\n", "<br>")


class Prose(QLabel):
    """A label whose ``text()`` is HTML; links are gone to by a click, or by Tab and Enter."""

    def __init__(self, text: str, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setMinimumWidth(1)  # a long path is no reason for a wider pane
        self.linkActivated.connect(self._go)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show another text."""
        architecture = self._workspace.architecture
        paths: set[str] = set()
        if architecture is not None and "." in text:
            paths = {node.path for node in architecture.modules}
            paths |= {tensor.name for tensor in architecture.parameters}
        html = prose_html(text, paths)
        self.setText(html)
        self.setAccessibleName(text)
        flags = plain_label("").textInteractionFlags()
        if "<a " in html:
            flags |= Qt.TextInteractionFlag.LinksAccessibleByMouse
            flags |= Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        self.setTextInteractionFlags(flags)
        has_links = bool(flags & Qt.TextInteractionFlag.LinksAccessibleByKeyboard)
        policy = Qt.FocusPolicy.StrongFocus if has_links else Qt.FocusPolicy.NoFocus
        self.setFocusPolicy(policy)

    def _go(self, path: str) -> None:
        architecture = self._workspace.architecture
        assert architecture is not None  # it has what the link names
        if any(tensor.name == path for tensor in architecture.parameters):
            show_tensor(self._workspace, path)
        else:
            self._workspace.selection.select(path)


def _words(html: str) -> str:
    html = _ROOT.sub(r"√\1", html)
    return _SYMBOL.sub(r"<i>\1</i><sub>\2</sub>", html)
