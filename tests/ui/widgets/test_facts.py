"""Groups of named facts: what changes between two of them, and what stays where it is."""

from collections.abc import Sequence

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


def shown(view: FactsView) -> list[str]:
    """The texts as a reader meets them: from the top down, from the left to the right."""
    QApplication.processEvents()  # the labels get their places
    labels = [label for label in view.findChildren(QLabel) if label.isVisible()]
    return [label.text() for label in sorted(labels, key=lambda label: (label.y(), label.x()))]


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
def test_groups_in_place_of_those_before(
    view: FactsView, before: list[FactGroup], after: list[FactGroup]
) -> None:
    view.show_groups(before)
    assert shown(view) == words(before)
    view.show_groups(after)
    assert shown(view) == words(after)


def test_lines_above_those_that_come_are_the_same_labels(view: FactsView) -> None:
    view.show_groups([PLACE, CONFIGURATION])
    above = view.findChildren(QLabel)[:5]
    view.show_groups([PLACE, RUN, CONFIGURATION])
    assert view.findChildren(QLabel)[:5] == above


def test_lines_stand_close_whatever_was_there_before(view: FactsView) -> None:
    view.resize(300, 600)
    view.show_groups([PLACE])
    QApplication.processEvents()
    below = view.findChildren(QLabel)[-1].geometry().bottom()
    view.show_groups([PLACE, RUN, CONFIGURATION])
    view.show_groups([PLACE])
    QApplication.processEvents()
    assert view.findChildren(QLabel)[-1].geometry().bottom() == below


def test_widgets_are_exchanged_with_their_lines(view: FactsView) -> None:
    for name in ("first", "second"):
        view.show_groups([FactGroup("", [("", QPushButton(name))])])
        assert [button.text() for button in view.findChildren(QPushButton)] == [name]


def test_the_page_stays_where_it_was_scrolled_to(qtbot: QtBot) -> None:
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


def test_labels_are_used_again_below_lines_that_are_others(view: FactsView) -> None:
    view.show_groups([PLACE, RUN, CONFIGURATION])
    before = set(view.findChildren(QLabel))
    made = FactGroup("", [("", "one line that has no name")])
    view.show_groups([made, CONFIGURATION, RUN])
    labels = {label for label in view.findChildren(QLabel) if label.isVisible()}
    assert len(labels - before) == 1
    assert shown(view) == ["one line that has no name", *words([CONFIGURATION, RUN])]


def test_nothing_makes_the_page_wider_than_its_names(view: FactsView) -> None:
    box = QCheckBox("Write " + ", ".join(f"letter_{n} as another" for n in range(9)))
    long = FactGroup("A heading of " + "many " * 20, [("", box), ("name", "value" * 40)])
    view.show_groups([PLACE, long])
    assert view.minimumSizeHint().width() < 200
