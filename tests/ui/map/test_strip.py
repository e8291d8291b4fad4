"""The strip of blocks: layout, numbers, mouse and keys."""

from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.ui.map.strip import ModelStrip, card_number, fitting_figure
from bertviewer.ui.map.strip_layout import PlacedBlock, place_blocks
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import flowing, small
from tests.plots.looking import click, press
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import canvas_of, center, selected, strip_of

ENDS = [Block(f"{name} of a very long name indeed", Scope(name), "plain", name) for name in "ab"]


def place(strip: ModelStrip, name: str) -> QPoint:
    return center(next(each.rect for each in strip.placed_blocks() if each.block.name == name))


def layers(count: int) -> list[Block]:
    return [Block(f"layer {n}", Scope(f"layer.{n}"), "plain", "n", True) for n in range(count)]


def placed_in(blocks: Sequence[Block], width: float) -> tuple[PlacedBlock, ...]:
    """Place blocks in a row of this width; the first layer is opened."""
    opened = [block for block in blocks if block.is_layer][:1]
    return place_blocks(blocks, Rect(0, 0, width, 40), lambda text: 7.0 * len(text), opened)


def test_a_click_opens_and_selects_a_block(tab: MapTab, workspace: Workspace) -> None:
    strip = strip_of(tab)
    assert strip.accessibleDescription() == ""
    click(strip, place(strip, "layer 1"))
    assert canvas_of(tab).scope == Scope("encoder.layer.1")
    assert selected(workspace) == "encoder.layer.1"
    assert strip.current is not None
    assert strip.current.name == "layer 1"
    # The block of a module that is selected elsewhere is current.
    workspace.selection.select("encoder.layer.0.attention.self.query")
    assert strip.current.name == "layer 0"
    assert "layer 0" in strip.accessibleDescription()


def test_keys_go_from_block_to_block_and_to_the_other_row(show_map: ShowMap) -> None:
    tab = show_map(small("t5"))
    strip = strip_of(tab)
    press(strip, Qt.Key.Key_Right, Qt.Key.Key_Right)
    assert canvas_of(tab).scope == Scope("encoder.block.0")
    press(strip, Qt.Key.Key_Down)
    assert canvas_of(tab).scope.path.startswith("decoder.")
    press(strip, Qt.Key.Key_End)
    assert canvas_of(tab).scope == Scope("decoder.final_layer_norm")
    press(strip, Qt.Key.Key_Home)
    assert canvas_of(tab).scope == Scope("encoder.embed_tokens")


def test_blocks_have_their_share_of_the_parameters(show_map: ShowMap) -> None:
    strip = strip_of(show_map(small("bert")))
    figures = [strip.colors[block].figure for block in strip.blocks]
    assert all(figure.endswith("%") for figure in figures)
    assert 98 < sum(float(figure.removesuffix("%")) for figure in figures) < 102
    strip = strip_of(show_map(small("t5")))
    by_path = {block.path: strip.colors[block].figure for block in strip.blocks}
    assert by_path["encoder.embed_tokens"] == by_path["decoder.embed_tokens"] == "tied"
    assert by_path["encoder.block.0"].endswith("%")


def test_a_drag_over_the_cards_of_many_layers_opens_them(
    show_map: ShowMap, qapp: QApplication
) -> None:
    tab = show_map(flowing("bert-large-uncased"))
    strip = strip_of(tab)
    cards = [each for each in strip.placed_blocks() if each.is_card]
    assert len(cards) == 24
    rights = [each.rect.right for each in strip.placed_blocks()]
    assert rights == sorted(rights)
    assert rights[-1] <= strip.width()
    numbers = [card_number(each.block, qapp.font(), 40.0) for each in cards]
    assert numbers == [str(number) for number in range(24)]
    assert {card_number(each.block, qapp.font(), 4.0) for each in cards} == {""}
    QTest.mousePress(strip, Qt.MouseButton.LeftButton, pos=place(strip, "layer 5"))
    assert canvas_of(tab).scope == Scope("encoder.layer.5")
    QTest.mouseMove(strip, place(strip, "layer 9"))
    assert canvas_of(tab).scope == Scope("encoder.layer.9")
    current = next(each for each in strip.placed_blocks() if each.block == strip.current)
    assert not current.is_card
    QTest.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=place(strip, "layer 9"))
    QTest.mouseMove(strip, place(strip, "layer 12"))
    assert canvas_of(tab).scope == Scope("encoder.layer.9")


def test_a_name_is_whole_where_the_row_has_room() -> None:
    blocks = [Block(name, Scope(name), "plain", name) for name in ("patch_embeddings", "stages")]
    for room, is_whole in ((600, True), (120, False)):
        first, last = place_blocks(blocks, Rect(0, 0, room, 40), lambda text: 8.0 * len(text))
        assert (first.rect.width >= 8 * len("patch_embeddings")) == is_whole
        assert last.rect.right <= room


@pytest.mark.parametrize("count", [1, 12, 13, 24, 100, 1000])
def test_blocks_stay_in_the_row(count: int) -> None:
    for width in (240.0, 420.0, 760.0, 1400.0):
        blocks = (ENDS[0], *layers(count), ENDS[1])
        placed = placed_in(blocks, width)
        assert [each.block for each in placed] == list(blocks)
        if count <= 100:
            assert placed[-1].rect.right <= width + 0.5


def test_long_names_are_cut_before_layers_become_cards() -> None:
    for width, has_cards in ((520.0, False), (400.0, True)):
        placed = placed_in((*ENDS, *layers(12)), width)
        assert any(each.is_card for each in placed) == has_cards


@pytest.mark.parametrize(
    ("figure", "forms"),
    [
        ("42.5 M", {"42.5 M", "42.5M", ""}),
        ("std 0.47", {"std 0.47", "0.47", ""}),
        ("<0.1%", {"<0.1%", ""}),
        ("590", {"590", ""}),
    ],
)
def test_a_figure_keeps_its_number_and_unit(figure: str, forms: set[str]) -> None:
    assert {fitting_figure(figure, QFont(), room) for room in range(200)} == forms
