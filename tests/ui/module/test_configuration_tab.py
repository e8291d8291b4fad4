"""Configuration tab: keys, their effects, and tooltips of long values."""

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from bertviewer.ui.module.configuration_tab import MAX_TIP_LINES, TIP_WIDTH, ConfigurationTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import derived
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find


def test_keys_have_effects_and_long_values_a_tooltip(workspace: Workspace, qtbot: QtBot) -> None:
    labels = {str(number): f"<b>label</b> {number}" for number in range(500)}
    config = {"id2label": labels, "hidden_size": 768, "name": "a <i>model</i>", "n_embd": 7}
    architecture = derived("bert-base-uncased")
    show_architecture(
        workspace, replace(architecture, config=config, unused={"n_embd": config.pop("n_embd")})
    )
    tab = ConfigurationTab(workspace)
    qtbot.addWidget(tab)
    tab.refresh()
    table = find(tab, QTableView, "configurationTable")
    model = table.model()
    rows = {model.index(row, 0).data(): row for row in range(model.rowCount())}
    assert list(rows) == ["hidden_size", "n_embd", "id2label", "name"]  # with a symbol first
    effects = {key: model.index(row, 3).data() for key, row in rows.items()}
    assert effects["hidden_size"] == ""
    assert effects["n_embd"] == "no effect here"
    assert effects["id2label"] == "no effect on the computation"
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
    tab.show_subject("name")
    assert table.currentIndex().row() == rows["name"]
