"""The strip of a model's blocks."""

from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.ui.map.strip import ModelStrip, card_number, fitting_figure
from bertviewer.ui.map.strip_layout import PlacedBlock, place_blocks
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import flowing, small
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, strip_of


def place(strip: ModelStrip, name: str) -> QPoint:
    rect = next(seat.rect for seat in strip.placed_blocks() if seat.block.name == name)
    return QPoint(round(rect.x + rect.width / 2), round(rect.y + rect.height / 2))


def test_a_click_on_a_block_opens_and_selects_it(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("bert"))
    strip = strip_of(tab)
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=place(strip, "layer 1"))
    assert canvas_of(tab).scope == Scope("encoder.layer.1")
    assert workspace.selection.place.path == "encoder.layer.1"
    assert strip.current is not None
    assert strip.current.name == "layer 1"


def test_what_is_opened_otherwise_is_marked(show_map: ShowMap, workspace: Workspace) -> None:
    tab = show_map(small("bert"))
    strip = strip_of(tab)
    assert strip.accessibleDescription() == ""
    workspace.selection.select("encoder.layer.1.attention.self.query")
    assert strip.current is not None
    assert strip.current.name == "layer 1"
    assert "layer 1" in strip.accessibleDescription()


def test_keys_go_from_block_to_block_and_across(show_map: ShowMap, qtbot: QtBot) -> None:
    tab = show_map(small("t5"))
    strip = strip_of(tab)
    for _ in range(2):
        qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert canvas_of(tab).scope == Scope("encoder.block.0")
    qtbot.keyClick(strip, Qt.Key.Key_Down)
    assert canvas_of(tab).scope.path.startswith("decoder.")
    qtbot.keyClick(strip, Qt.Key.Key_End)
    assert canvas_of(tab).scope == Scope("decoder.final_layer_norm")
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    assert canvas_of(tab).scope == Scope("encoder.embed_tokens")


def test_each_block_has_its_share_of_the_parameters(show_map: ShowMap) -> None:
    strip = strip_of(show_map(small("bert")))
    figures = [strip.colors[block].figure for block in strip.blocks]
    assert all(figure.endswith("%") for figure in figures)
    shares = [float(figure.removesuffix("%")) for figure in figures]
    assert 98 < sum(shares) < 102


def test_an_embedding_that_is_counted_elsewhere_has_no_share(show_map: ShowMap) -> None:
    strip = strip_of(show_map(small("t5")))
    figures = {block.path: strip.colors[block].figure for block in strip.blocks}
    assert figures["encoder.embed_tokens"] == figures["decoder.embed_tokens"] == "tied"
    assert figures["encoder.block.0"].endswith("%")


def test_many_layers_are_a_deck_through_which_one_goes(show_map: ShowMap, qtbot: QtBot) -> None:
    tab = show_map(flowing("bert-large-uncased"))
    strip = strip_of(tab)
    cards = [seat for seat in strip.placed_blocks() if seat.is_card]
    assert len(cards) == 24
    rights = [seat.rect.right for seat in strip.placed_blocks()]
    assert rights == sorted(rights)
    assert rights[-1] <= strip.width()
    qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=place(strip, "layer 5"))
    assert canvas_of(tab).scope == Scope("encoder.layer.5")
    qtbot.mouseMove(strip, place(strip, "layer 9"))
    assert canvas_of(tab).scope == Scope("encoder.layer.9")
    opened = next(seat for seat in strip.placed_blocks() if seat.block == strip.current)
    assert not opened.is_card
    qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=place(strip, "layer 9"))
    qtbot.mouseMove(strip, place(strip, "layer 12"))
    assert canvas_of(tab).scope == Scope("encoder.layer.9")


def test_a_name_is_whole_where_the_row_has_room() -> None:
    blocks = [Block(name, Scope(name), "plain", name) for name in ("patch_embeddings", "stages")]
    for room, is_whole in ((600, True), (120, False)):
        first, last = place_blocks(blocks, Rect(0, 0, room, 40), lambda text: 8.0 * len(text))
        assert (first.rect.width >= 8 * len("patch_embeddings")) == is_whole
        assert last.rect.right <= room


@pytest.mark.parametrize(
    ("figure", "forms"),
    [
        ("42.5 M", {"42.5 M", "42.5M", ""}),
        ("std 0.47", {"std 0.47", "0.47", ""}),
        ("<0.1%", {"<0.1%", ""}),
        ("590", {"590", ""}),
    ],
)
def test_a_figure_keeps_its_number_and_its_unit(figure: str, forms: set[str]) -> None:
    assert {fitting_figure(figure, QFont(), room) for room in range(200)} == forms


ENDS = [Block(f"{name} of a very long name indeed", Scope(name), "plain", name) for name in "ab"]


def layers(count: int) -> list[Block]:
    return [Block(f"layer {n}", Scope(f"layer.{n}"), "plain", "n", True) for n in range(count)]


def placed_in(blocks: Sequence[Block], width: float) -> tuple[PlacedBlock, ...]:
    """Place blocks in a row of this width; the first layer is opened."""
    opened = [block for block in blocks if block.is_layer][:1]
    return place_blocks(blocks, Rect(0, 0, width, 40), lambda text: 7.0 * len(text), opened)


@pytest.mark.parametrize("count", [1, 6, 12, 13, 24, 100, 1000])
def test_blocks_never_stand_beside_the_row(count: int) -> None:
    for width in (240.0, 420.0, 760.0, 1400.0):
        blocks = (ENDS[0], *layers(count), ENDS[1])
        placed = placed_in(blocks, width)
        assert [each.block for each in placed] == list(blocks)
        if count <= 100:
            assert placed[-1].rect.right <= width + 0.5


def test_long_names_give_way_before_layers_become_cards() -> None:
    for width, has_cards in ((520.0, False), (400.0, True)):
        placed = placed_in((*ENDS, *layers(12)), width)
        assert any(each.is_card for each in placed) == has_cards


def test_cards_have_their_numbers_as_far_as_there_is_room(
    show_map: ShowMap, qapp: QApplication
) -> None:
    strip = strip_of(show_map(flowing("bert-large-uncased")))
    cards = [seat.block for seat in strip.placed_blocks() if seat.is_card]
    font = qapp.font()
    assert [card_number(block, font, 40.0) for block in cards] == [str(n) for n in range(24)]
    assert [card_number(block, font, 4.0) for block in cards] == [""] * 24
