"""Groups of named facts, which reuse the labels of the groups before."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.facts import FactGroup, FactsView

PLACE = FactGroup("Place", [("Class", "Linear"), ("Path", "pooler")])
RUN = FactGroup("Output", [("mean", "0.5"), ("std", "1.0")])
CONFIGURATION = FactGroup("Configuration", [("hidden_size", "384")])


@pytest.fixture
def view(qtbot: QtBot) -> FactsView:
    view = FactsView()
    qtbot.addWidget(view)
    view.resize(300, 120)
    view.show()
    return view


def visible_labels(view: FactsView) -> list[QLabel]:
    """Return the visible labels in reading order."""
    QApplication.processEvents()  # they get their positions
    labels = [label for label in view.findChildren(QLabel) if label.isVisible()]
    return sorted(labels, key=lambda label: (label.y(), label.x()))


def texts(view: FactsView) -> list[str]:
    return [label.text() for label in visible_labels(view)]


def words(groups: Sequence[FactGroup]) -> list[str]:
    return [
        word
        for group in groups
        for word in (group.heading, *(str(text) for fact in group.facts for text in fact))
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [PLACE, RUN]),
        ([PLACE, CONFIGURATION], [PLACE, RUN, CONFIGURATION]),
        ([PLACE, RUN, CONFIGURATION], [PLACE, CONFIGURATION]),
        ([RUN, CONFIGURATION], [PLACE, CONFIGURATION]),
        ([PLACE, RUN], []),
        ([CONFIGURATION], [PLACE, RUN]),
    ],
)
def test_groups_replace_those_before(
    view: FactsView, before: list[FactGroup], after: list[FactGroup]
) -> None:
    view.show_groups(before)
    assert texts(view) == words(before)
    view.show_groups(after)
    assert texts(view) == words(after)


def test_labels_are_reused(view: FactsView) -> None:
    view.show_groups([PLACE, CONFIGURATION])
    above = view.findChildren(QLabel)[:5]
    view.show_groups([PLACE, RUN, CONFIGURATION])
    assert view.findChildren(QLabel)[:5] == above
    before = set(view.findChildren(QLabel))
    nameless = FactGroup("", [("", "one line that has no name")])
    view.show_groups([nameless, CONFIGURATION, RUN])
    assert len(set(visible_labels(view)) - before) == 1
    assert texts(view) == ["one line that has no name", *words([CONFIGURATION, RUN])]


def test_widgets_are_replaced_with_their_facts(view: FactsView) -> None:
    for name in ("first", "second"):
        view.show_groups([FactGroup("", [("", QPushButton(name))])])
        assert [button.text() for button in view.findChildren(QPushButton)] == [name]


def test_layout(view: FactsView, qtbot: QtBot, image: Callable[[str, Any], None]) -> None:
    """Lines stay together in a high view whatever was shown before."""
    long = FactGroup("Long", [("a name that takes a line", "of its value"), ("V", "word" * 12)])
    view.resize(300, 260)
    view.show_groups([PLACE, long, CONFIGURATION])
    image("facts", view)
    for groups in ([PLACE], [PLACE, RUN, CONFIGURATION], [PLACE]):
        view.show_groups(groups)
        new = FactsView()
        qtbot.addWidget(new)
        new.resize(300, 260)
        new.show_groups(groups)
        new.show()
        bottoms = [[label.geometry().bottom() for label in visible_labels(v)] for v in (view, new)]
        assert bottoms[0] == bottoms[1]


def test_nothing_widens_the_page(view: FactsView) -> None:
    box = QCheckBox("Write " + ", ".join(f"letter_{n} as another" for n in range(9)))
    long = FactGroup("A heading of " + "many " * 20, [("", box), ("name", "value" * 40)])
    view.show_groups([PLACE, long])
    assert view.minimumSizeHint().width() < 200


def test_the_scroll_position_stays(qtbot: QtBot) -> None:
    view, area = FactsView(), QScrollArea()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    area.setWidget(view)
    area.resize(300, 200)
    area.show()
    many = FactGroup("Many", [(str(n), "a fact") for n in range(40)])
    view.show_groups([many, CONFIGURATION])
    QApplication.processEvents()
    area.verticalScrollBar().setValue(200)
    view.show_groups([many, RUN, CONFIGURATION])
    QApplication.processEvents()
    assert area.verticalScrollBar().value() == 200
