"""Actions for the selected module: copy it, show its values, verify it."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views import links

if TYPE_CHECKING:
    from bertviewer.charts.table import Rows


class RowTable:
    """A row of the tree as a table, for export."""

    def __init__(self, row: TreeRow) -> None:
        self._row = row

    def table(self) -> "Rows":
        """Return the header and the row."""
        row = self._row
        titles = ("Module", "Class", "Parameters", "Share", "Shape")
        header = tuple(translate("ModuleTreeModel", title) for title in titles)
        shape = shape_text(row.shape)
        return header, [(path_of(row), row.class_label, row.parameters, row.share, shape)]


def path_of(row: TreeRow) -> str:
    """Return the path of a row; for folded layers that of their list."""
    return (row.node.parent or "") if row.is_folded else row.node.path


def copy_path(workspace: Workspace) -> None:
    """Copy the path, or the class name of the root."""
    if (row := workspace.selection.row) is not None:
        QApplication.clipboard().setText(path_of(row) or row.node.class_name)


def copy_python(workspace: Workspace) -> None:
    """Copy the Python expression for the module."""
    from bertviewer.core.util.text import python_expression

    if (row := workspace.selection.row) is not None:
        QApplication.clipboard().setText(python_expression(path_of(row)))


def copy_csv(workspace: Workspace) -> None:
    """Copy the row of the tree as CSV."""
    from bertviewer.charts.table import csv_text

    if (row := workspace.selection.row) is not None:
        QApplication.clipboard().setText(csv_text(RowTable(row)))


def copy_markdown(workspace: Workspace) -> None:
    """Copy the row of the tree as a Markdown table."""
    from bertviewer.core.util.text import markdown_table

    if (row := workspace.selection.row) is not None:
        header, _ = RowTable(row).table()
        cells = (path_of(row), row.class_label, f"{row.parameters:,}", f"{row.share:.2%}")
        lines = markdown_table(header, [(*cells, shape_text(row.shape))])
        QApplication.clipboard().setText("\n".join(lines))


def show_values(workspace: Workspace) -> None:
    """Show the values of its output in the last run."""
    links.show_values(workspace, SelectionKey())


def check(workspace: Workspace) -> None:
    """Verify its output in the last run, and show the result."""
    if (row := workspace.selection.row) is not None:
        workspace.show_page(Page.FORMULA)
        workspace.check(row.node.path)


def was_called(workspace: Workspace) -> bool:
    """Return whether the last run called the module."""
    run, row = workspace.runs.run, workspace.selection.row
    return run is not None and row is not None and run.activation(row.node.path) is not None
