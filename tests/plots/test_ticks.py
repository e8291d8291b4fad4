"""Ticks of axes: round numbers, powers of ten, and names that fit."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF

from bertviewer.charts.labels import shortened
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.ticks import (
    LOWEST,
    LabelTicks,
    NumberTicks,
    log_position,
    log_ticks,
    power_of,
    round_step,
)

pytestmark = pytest.mark.usefixtures("qapp")
TEXTS = ("one", "another", "third")


@pytest.fixture
def metrics(qapp: object) -> QFontMetricsF:
    del qapp
    return axis_metrics()


NUMBERS: list[tuple[float, float, float]] = [
    (0.42, 0.64, 240), (-1, 1, 120), (0, 14_000, 100), (0, 3.1e-4, 200), (0.9995, 1.0005, 120),
    (-3e-9, 3e-9, 100), (0, 2.5e8, 100),
]  # fmt: skip
POWERS: list[tuple[float, float, float]] = [
    (-0.3, 5.2, 400), (-0.3, 5.2, 80), (-0.3, 0.8, 200), (0.2, 1.5, 200),
]  # fmt: skip


def test_labels_are_round(metrics: QFontMetricsF, golden: Callable[[str, str], None]) -> None:
    found = []
    for low, high, size in NUMBERS:
        ticks = NumberTicks(metrics).ticks(low, high, size)
        found.append(f"{low} to {high}, {size} px: {' '.join(tick.text for tick in ticks)}\n")
    for low, high, size in POWERS:
        ticks = log_ticks(low, high, size, lowest=0, metrics=metrics)
        texts = " ".join(tick.text for tick in sorted(ticks, key=lambda tick: tick.value))
        found.append(f"powers {low} to {high}, {size} px: {texts}\n")
    golden("plots/ticks.txt", "".join(found))


@given(
    low=st.floats(-1e12, 1e12),
    span=st.floats(1e-3, 1e12),
    size=st.floats(1, 2000),
    is_horizontal=st.booleans(),
)
def test_labels_never_collide(low: float, span: float, size: float, is_horizontal: bool) -> None:
    high = low + max(span, 1e-3 * abs(low))
    ticks = NumberTicks(axis_metrics(), is_horizontal=is_horizontal).ticks(low, high, size)
    assert len(ticks) <= 13
    assert len({tick.text for tick in ticks}) == len(ticks)
    for before, after in pairwise(ticks):
        assert (after.value - before.value) * size / (high - low) >= 8


@pytest.mark.parametrize(
    ("least", "step"), [(1, 1), (1.01, 2), (0.3, 0.5), (6e7, 1e8), (2e-5, 2e-5)]
)
def test_a_round_step(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 5e-324), (0.0, 1e-310), (-1e308, 1e308), (5, 5), (float("nan"), 1), (0, float("inf"))],
)
def test_a_range_without_steps_has_no_ticks(
    metrics: QFontMetricsF, low: float, high: float
) -> None:
    assert NumberTicks(metrics).ticks(low, high, 100) == []


def test_positions_of_logarithms_and_powers_of_extreme_numbers() -> None:
    assert [log_position(value) for value in (1, 10, 1000)] == [0, 1, 3]
    assert log_position(0) == log_position(0.1) == LOWEST < 0
    assert power_of([]) == power_of([0.0]) == power_of([1.0, -1e99]) == power_of([1e-99]) == 0
    assert power_of([1.0, -1.7e308]) == 308
    assert power_of([1e-200, 0.0]) == -200
    assert power_of([5e-324]) == -300


def test_labels_are_upright_where_they_are_wider_than_their_cells(metrics: QFontMetricsF) -> None:
    labels = LabelTicks(TEXTS, metrics)
    flat, upright = labels.side_by_side(600), labels.side_by_side(120)
    assert (flat.is_upright, upright.is_upright) == (False, True)
    assert [text for _, text in flat.labels] == [text for _, text in upright.labels] == list(TEXTS)
    assert [at for at, _ in flat.labels] == [0.5, 1.5, 2.5]
    widest = max(map(metrics.horizontalAdvance, TEXTS))
    assert upright.height - flat.height == pytest.approx(widest - metrics.height() + 6, abs=0.1)
    assert LabelTicks((), metrics).side_by_side(100).labels == ()


def test_of_hundreds_of_labels_some_are_omitted(metrics: QFontMetricsF) -> None:
    labels = LabelTicks(["[CLS]", "very-long", *["word"] * 298], metrics)
    shown = labels.side_by_side(700)
    assert 20 < len(shown.labels) < 60
    # Labels that are left out need no height.
    assert shown.height == pytest.approx(metrics.horizontalAdvance("[CLS]") + 6)
    assert len(labels.side_by_side(3000).labels) > 2 * len(shown.labels)
    numbers = LabelTicks([str(number) for number in range(200)], metrics).side_by_side(800)
    assert not numbers.is_upright
    assert 15 < len(numbers.labels) < 60


def test_long_labels_are_cut(metrics: QFontMetricsF) -> None:
    assert shortened("word", 4) == "word"
    assert shortened("words", 4) == "wor…"
    shown = LabelTicks(["a" * 40, "b"], metrics, longest=12).side_by_side(800)
    assert len(shown.labels[0][1]) == 12


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([str(n) for n in range(32)], ("0", "5", "10", "15", "20", "25", "30")),
        ([str(n) for n in range(1, 33)], ("1", "5", "10", "15", "20", "25", "30")),
        ([str(2 * n) for n in range(32)], ("0", "10", "20", "30", "40", "50", "60")),
        (["emb", *map(str, range(31))], ("emb", "5", "10", "15", "20", "25", "30")),
        (["emb", *map(str, range(12))], ("emb", "2", "4", "6", "8", "10")),
        (["emb", "0", "1", "2"], ("emb", "0", "1", "2")),
        ([f"t{n}" for n in range(8)], tuple(f"t{n}" for n in range(8))),
    ],
)
def test_of_many_numbers_round_ones_remain(
    metrics: QFontMetricsF, labels: list[str], expected: tuple[str, ...]
) -> None:
    shown = LabelTicks(labels, metrics).above_one_another(144)
    assert tuple(text for _, text in shown) == expected
    assert all(labels[int(place)] == text for place, text in shown)


@pytest.mark.parametrize(("count", "width"), [(18, 600), (18, 220), (512, 600)])
def test_flat_labels_are_cut_to_their_cells(metrics: QFontMetricsF, count: int, width: int) -> None:
    texts = [f"token{number}" for number in range(count)]
    found = LabelTicks(texts, metrics).side_by_side(width, is_flat=True)
    shown = [(place, text) for place, text in found.labels if text != "·"]
    assert shown
    assert found.are_omitted == (len(shown) < count)
    if width == 220:
        assert len(found.labels) == count  # dots for the others
    cell = width / count
    rooms = [cell * (after - before) for (before, _), (after, _) in pairwise(shown)]
    assert max(metrics.horizontalAdvance(text) for _, text in shown) <= min(rooms)
    assert (found.is_upright, found.height) == (False, metrics.height())
