"""Label for explanations, with symbols as in formulas and links to modules and tensors."""

import re
from collections.abc import Collection

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_tensor
from bertviewer.ui.widgets.labels import plain_label

_SYMBOL = re.compile(r"(?<![\w.])([A-Za-z])_([A-Za-z0-9]{1,2})(?![\w.]*\w)")
"""A letter with a subscript of one or two letters, such as W_Q or d_k. Names have more."""
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)+")
_ROOT = re.compile(r"\bsqrt\(([^()]*)\)")


def rich_html(text: str, paths: Collection[str] = ()) -> str:
    """Return a text as HTML, escaped, with subscripts, roots and links.

    ``paths`` are the paths of modules and the names of tensors that become links.
    """
    from html import escape  # not needed at the start

    pieces, end = [], 0
    for found in _PATH.finditer(text):
        if found.group() in paths:
            pieces += [_with_symbols(escape(text[end : found.start()]))]
            path = escape(found.group())
            pieces.append(f'<a href="{path}">{path}</a>')
            end = found.end()
    pieces.append(_with_symbols(escape(text[end:])))
    return f"<p>{''.join(pieces)}</p>".replace("\n", "<br>")


class RichLabel(QLabel):
    """Label whose ``text()`` is HTML; a link selects a module or shows a tensor."""

    def __init__(self, text: str, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setMinimumWidth(1)  # a long path does not widen the panel
        self.linkActivated.connect(self._follow)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show a text."""
        architecture = self._workspace.architecture
        paths: set[str] = set()
        if architecture is not None and "." in text:
            paths = {node.path for node in architecture.modules}
            paths |= {tensor.name for tensor in architecture.parameters}
        html = rich_html(text, paths)
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

    def _follow(self, path: str) -> None:
        architecture = self._workspace.architecture
        assert architecture is not None
        if any(tensor.name == path for tensor in architecture.parameters):
            show_tensor(self._workspace, path)
        else:
            self._workspace.selection.select(path)


def _with_symbols(html: str) -> str:
    html = _ROOT.sub(r"√\1", html)
    return _SYMBOL.sub(r"<i>\1</i><sub>\2</sub>", html)
