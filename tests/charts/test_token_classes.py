"""Lines over the layers by class of tokens, against a plain pass and numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.chart import LineChart
from bertviewer.charts.layers import (
    BAND,
    SPREAD,
    layer_chart,
    series_chart,
    short_names,
    token_class_chart,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.core.analysis.tokens import TokenClass, token_classes
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.outputs import call_statistics
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from tests.core.replay.model_runs import Opened, known, ran

PLAIN: dict[str, Callable[[Any], float]] = {
    "mean": np.mean,
    "std": np.std,
    "min": np.min,
    "max": np.max,
    "rms": lambda x: float(np.sqrt(np.mean(x**2))),
    "zero_fraction": lambda x: float(np.mean(x == 0)),
    "nan_count": lambda x: int(np.isnan(x).sum()),
    "inf_count": lambda x: int(np.isinf(x).sum()),
}


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> Opened:
    return ran(open_model(demo_source), Sentence("the cat sat on the mat", "and the dog too"))


def given(it: Opened, path: str) -> list[Any]:
    """Return what a module gives in a plain pass, [S, D] for each call."""
    seen: list[Any] = []
    handle = it.network.get_submodule(path).register_forward_hook(
        lambda _m, _a, x: seen.append((x if hasattr(x, "shape") else x[0])[0].double().numpy())
    )
    it.plain()
    handle.remove()
    return seen


def chart(
    it: Opened, part: str, statistic: str, classes: tuple[TokenClass, ...] | None = None
) -> LineChart:
    series = layer_series(it.model.architecture, it.run, part)
    paths = [path for one in series for path in one.paths]
    measured = call_statistics(it, paths)
    chosen = token_classes(it.run) if classes is None else classes
    return token_class_chart(it.run, series, statistic, chosen, measured)


@pytest.mark.parametrize("statistic", list(PLAIN))
@pytest.mark.parametrize("part", ["", "attention.self", "intermediate"])
def test_every_statistic_of_every_class_of_the_demo(
    demo: Opened, part: str, statistic: str
) -> None:
    lines = {line.label: line for line in chart(demo, part, statistic).lines}
    classes = token_classes(demo.run)
    assert list(lines) == [kind.label for kind in classes]
    assert {"content", "[CLS]", "[SEP]", "second sentence"} <= set(lines)
    for layer in range(6):
        path = f"encoder.layer.{layer}" + (f".{part}" if part else "")
        (rows,) = given(demo, path)
        for kind in classes:
            plain = PLAIN[statistic](rows[list(kind.tokens)])
            assert lines[kind.label].values[layer] == pytest.approx(plain, rel=1e-5, abs=1e-7)
            assert lines[kind.label].keys[layer] == SelectionKey(path)


def test_all_tokens_by_class_are_the_runs_own_figures(demo: Opened) -> None:
    every = token_classes(demo.run)[:1]
    series = layer_series(demo.model.architecture, demo.run, "output")
    own = series_chart(demo.run, series, "std").lines[0]
    assert chart(demo, "output", "std", every).lines[0].values == pytest.approx(own.values)


def test_a_shared_layer_by_call() -> None:
    it = known("albert")
    part = "albert_layers.0.ffn"
    content = next(kind for kind in token_classes(it.run) if kind.name == "content")
    (line,) = chart(it, part, "max", (content,)).lines
    calls = given(it, f"encoder.albert_layer_groups.0.{part}")
    assert len(calls) == 2
    plain = [rows[list(content.tokens)].max() for rows in calls]
    assert line.values == pytest.approx(plain, rel=1e-6)


def test_each_stack_has_the_classes_of_its_own_tokens() -> None:
    it = known("bart")
    lines = {line.label: line for line in chart(it, "", "mean").lines}
    # What both stacks are called is left out: the names have to fit above the lines.
    assert "encoder · first sentence" in lines
    assert "decoder · second sentence" in lines
    assert "encoder · second sentence" not in lines
    split = sum(token.segment == 0 for token in it.run.tokens)
    second = next(kind for kind in token_classes(it.run) if kind.name == "second")
    (rows,) = given(it, "decoder.layers.1")
    plain = rows[[token - split for token in second.tokens]].mean()
    found = lines["decoder · second sentence"].values[1]
    assert found == pytest.approx(plain, rel=1e-5)


def test_mean_with_its_band_and_extremes(demo: Opened) -> None:
    whole = layer_chart(demo.model.architecture, demo.run, SPREAD)
    assert whole.y_title == "mean ± std, min, max"
    (line,) = whole.lines
    for layer in range(6):
        (rows,) = given(demo, f"encoder.layer.{layer}")
        plain = rows.mean(), rows.mean() - rows.std(), rows.mean() + rows.std()
        found = [part[layer] for _, part in line.columns()]
        assert found == pytest.approx([*plain, rows.min(), rows.max()], rel=1e-4, abs=1e-6)


def test_the_band_alone(demo: Opened) -> None:
    whole, alone = (
        layer_chart(demo.model.architecture, demo.run, statistic) for statistic in (SPREAD, BAND)
    )
    assert alone.y_title == "mean ± std"
    assert alone.lines == (replace(whole.lines[0], min=None, max=None),)
    header, _ = alone.table()
    name = "encoder.layer: output, mean"
    assert header == ("Layer", name, f"{name} − std", f"{name} + std")


@pytest.mark.parametrize(
    ("stacks", "names"),
    [
        (("encoder.layer",), ("",)),
        (("encoder.layers", "decoder.layers"), ("encoder", "decoder")),
        (("model.a.layers", "model.b.layers"), ("a", "b")),
        (("model.blocks", "blocks"), ("model.blocks", "blocks")),
        (("x.layer", "x.layer.y"), ("layer", "layer.y")),
    ],
)
def test_what_tells_stacks_apart(stacks: tuple[str, ...], names: tuple[str, ...]) -> None:
    found = short_names([Series(stack, "", ("path",)) for stack in stacks])
    assert tuple(found) == names


def test_what_tells_parts_of_one_stack_apart() -> None:
    series = [Series("encoder.layer", part, ("path",)) for part in ("", "attention.self")]
    assert short_names(series) == ["output", "attention.self"]


def test_several_classes_leave_the_extremes_out(demo: Opened) -> None:
    several = chart(demo, "", SPREAD)
    assert several.y_title == SPREAD
    assert all(line.min is line.max is None and line.low and line.high for line in several.lines)
    cls = next(kind for kind in token_classes(demo.run) if kind.name == "cls")
    (alone,) = chart(demo, "", SPREAD, (cls,)).lines
    assert alone.min is not None
    assert alone.label == "[CLS]"


def test_what_has_no_rows_has_no_line(demo: Opened) -> None:
    series = layer_series(demo.model.architecture, demo.run)
    empty = token_class_chart(demo.run, series, "std", token_classes(demo.run), {})
    assert (empty.lines, empty.ticks) == ((), ())
