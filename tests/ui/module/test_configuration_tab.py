"""The whole configuration can be read, however long a value is."""

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView

from bertviewer.ui.module.configuration_tab import MAX_TIP_LINES, TIP_WIDTH
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find, show_tab


def test_long_values_have_a_tip_that_stays_on_the_screen(demo_window: MainWindow) -> None:
    workspace = demo_window.workspace
    assert workspace.architecture is not None
    labels = {str(number): f"<b>label</b> {number}" for number in range(500)}
    config = {"id2label": labels, "hidden_size": 384, "name": "a <i>model</i>"}
    workspace.architecture = replace(workspace.architecture, config=config, unused={"n_embd": 7})
    show_tab(demo_window, "Configuration")
    model = find(demo_window, QTableView, "configurationTable").model()
    rows = {model.index(row, 0).data(): row for row in range(model.rowCount())}
    assert list(rows) == ["hidden_size", "n_embd", "id2label", "name"]  # with a symbol first
    effects = {key: model.index(row, 3).data() for key, row in rows.items()}
    assert effects["n_embd"] == "no effect here"
    assert effects["id2label"] == "no effect on the computation"
    assert not effects["hidden_size"]
    long, short, name = (
        model.index(rows[key], 3).data(Qt.ItemDataRole.ToolTipRole) for key in config
    )
    assert short is None
    assert "<i>" not in name
    lines = long.removeprefix("<p>").removesuffix("</p>").split("<br>")
    assert len(lines) == MAX_TIP_LINES
    assert lines[0].startswith("{&quot;0&quot;: &quot;&lt;b&gt;label")
    assert lines[-1].endswith("…")
    assert all(len(line) < 4 * TIP_WIDTH for line in lines)
