"""Charts of statistics layer by layer, of all tokens and of classes of tokens."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.layers import (
    BAND,
    SPREAD,
    layer_chart,
    not_finite,
    series_chart,
    short_names,
    token_class_chart,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.core.analysis.tokens import TokenClass, token_classes
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.outputs import call_statistics
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.sources.parsing import parse_source
from tests.core.replay.model_runs import Opened, known, ran

BERT, ALBERT, TRANSFORMER, DEMO = "bert", "albert", "transformer-base", "demo"
LAYERS = ("encoder.layer.0", "encoder.layer.1")
ALL_NAN = Statistics(8, 8, 0, 0, 0.0, 0.0, None, None)


def lines(
    family: str, statistic: str = "std", part: str = "", run: ActivationRun | None = None
) -> tuple[Line, ...]:
    it = known(family)
    return layer_chart(it.model.architecture, run or it.run, statistic, part).lines


def calls(family: str, path: str) -> tuple[Statistics, ...]:
    activation = known(family).run.activation(path)
    assert activation is not None, path
    return activation.calls


def paths(line: Line) -> tuple[str, ...]:
    return tuple(key.path or "" for key in line.keys)


def with_calls(
    family: str, *paths: str, calls: tuple[Statistics, ...] = (ALL_NAN,)
) -> ActivationRun:
    """Return a run in which these modules had other calls, by default of NaN only."""
    run = known(family).run
    modules = [replace(m, calls=calls) if m.path in paths else m for m in run.modules]
    return replace(run, modules=tuple(modules))


def without(family: str, *paths: str) -> ActivationRun:
    """Return a run in which these modules were not called."""
    run = known(family).run
    return replace(run, modules=tuple(m for m in run.modules if m.path not in paths))


# All tokens.


def test_a_line_has_the_statistics_of_the_run() -> None:
    for statistic in STATISTIC_NAMES:
        values = tuple(statistic_value(calls(BERT, path)[0], statistic) for path in LAYERS)
        assert None not in values
        expected = Line("encoder.layer: output", values, tuple(map(SelectionKey, LAYERS)))
        assert lines(BERT, statistic) == (expected,)
    for family, statistic, ticks in ((BERT, "rms", "01"), (TRANSFORMER, "std", "01")):
        it = known(family)
        chart = layer_chart(it.model.architecture, it.run, statistic)
        assert (chart.x_title, chart.y_title, "".join(chart.ticks)) == ("Layer", statistic, ticks)
    empty = replace(known(BERT).run, modules=())
    chart = layer_chart(known(BERT).model.architecture, empty, "std")
    assert (chart.lines, chart.ticks) == ((), ())


def test_a_part_of_a_layer_adds_a_line() -> None:
    for part in ("", "encoder", "encoder.layer", "pooler", "encoder.layer.1"):
        assert [line.label for line in lines(BERT, part=part)] == ["encoder.layer: output"]
    for number in (0, 1):
        first, second = lines(BERT, "rms", f"encoder.layer.{number}.attention.self")
        assert first == lines(BERT, "rms")[0]
        assert second.label == "encoder.layer: attention.self"
        assert paths(second) == tuple(f"{layer}.attention.self" for layer in LAYERS)
        assert second.values == tuple(calls(BERT, path)[0].rms for path in paths(second))


def test_each_stack_has_a_line() -> None:
    stacks = lines(TRANSFORMER, "mean")
    for line, stack in zip(stacks, ("encoder", "decoder"), strict=True):
        assert line.label == f"{stack}.layers: output"
        assert paths(line) == tuple(f"transformer.{stack}.layers.{n}" for n in range(2))
        assert line.values == tuple(calls(TRANSFORMER, path)[0].mean for path in paths(line))
    found = lines(TRANSFORMER, "std", "transformer.decoder.layers.1.multihead_attn")
    ends = ["layers: output", "layers: output", "layers: multihead_attn"]
    assert [line.label.rpartition(".")[2] for line in found] == ends
    assert paths(found[2])[0] == "transformer.decoder.layers.0.multihead_attn"


def test_a_shared_layer_has_a_point_for_each_call() -> None:
    path = "encoder.albert_layer_groups.0"
    (line,) = lines(ALBERT, "max")
    assert line.label == f"{path}: output"
    assert paths(line) == (path,) * 2
    assert line.values == tuple(call.max for call in calls(ALBERT, path))
    assert len(set(line.values)) == 2
    part = f"{path}.albert_layers.0.ffn"
    first, second = lines(ALBERT, "min", part)
    assert first == lines(ALBERT, "min")[0]
    assert second.label == f"{part}: output"
    assert second.values == tuple(call.min for call in calls(ALBERT, part))
    assert len(lines(ALBERT, "min", "pooler")) == 1


def test_missing_values_are_gaps() -> None:
    second = calls(BERT, LAYERS[1])[0].std
    (line,) = lines(BERT, run=with_calls(BERT, LAYERS[0]))
    assert (line.values, paths(line)) == ((None, second), LAYERS)
    (line,) = lines(BERT, run=with_calls(BERT, *LAYERS))
    assert line.values == (None, None)
    part = f"{LAYERS[1]}.attention.self"
    _, partial = lines(BERT, part=part, run=without(BERT, part))
    assert [value is None for value in partial.values] == [False, True]
    # Of several calls of a layer the last counts.
    both = tuple(calls(BERT, path)[0] for path in LAYERS)
    (line,) = lines(BERT, run=with_calls(BERT, LAYERS[0], calls=both))
    assert line.values == (second, second)


def test_layers_with_values_that_are_not_finite() -> None:
    def found(family: str, *paths: str) -> dict[str, Sequence[int]]:
        run = with_calls(family, *paths)
        return dict(not_finite(run, layer_series(known(family).model.architecture, run)))

    assert found(BERT) == found(TRANSFORMER) == {}
    assert found(BERT, LAYERS[1]) == {"": [1]}
    decoder = [f"transformer.decoder.layers.{n}" for n in (0, 1)]
    assert found(TRANSFORMER, *decoder) == {"decoder.layers": [0, 1]}
    assert found(TRANSFORMER, "transformer.encoder.layers.1", *decoder) == {
        "encoder.layers": [1],
        "decoder.layers": [0, 1],
    }


# Classes of tokens, against sums over the outputs of a plain forward pass.

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


@cache
def opened(family: str) -> Opened:
    """Return a small model and its run, or the demo, whose tokens are of all classes."""
    if family != DEMO:
        return known(family)
    sentence = Sentence("the cat sat on the mat", "and the dog too")
    return ran(open_model(parse_source(DEMO)), sentence)


@cache
def outputs(family: str, path: str) -> tuple[Any, ...]:
    """Return the outputs [S, D] of a module's calls in a plain forward pass."""
    found: list[Any] = []

    def keep(_module: Any, _inputs: Any, output: Any) -> None:
        found.append((output if hasattr(output, "shape") else output[0])[0].double().numpy())

    handle = opened(family).network.get_submodule(path).register_forward_hook(keep)
    opened(family).plain()
    handle.remove()
    return tuple(found)


def class_chart(
    family: str, part: str, statistic: str, classes: tuple[TokenClass, ...] | None = None
) -> LineChart:
    it = opened(family)
    series = layer_series(it.model.architecture, it.run, part)
    measured = call_statistics(it, [path for one in series for path in one.paths])
    chosen = token_classes(it.run) if classes is None else classes
    return token_class_chart(it.run, series, statistic, chosen, measured)


def class_of(family: str, name: str) -> TokenClass:
    return next(kind for kind in token_classes(opened(family).run) if kind.name == name)


@pytest.mark.parametrize("part", ["", "attention.self", "intermediate"])
def test_statistics_of_classes_are_those_of_a_forward_pass(part: str) -> None:
    classes = token_classes(opened(DEMO).run)
    for statistic, compute in PLAIN.items():
        found = {line.label: line for line in class_chart(DEMO, part, statistic).lines}
        assert list(found) == [kind.label for kind in classes]
        assert {"content", "[CLS]", "[SEP]", "second sentence"} <= set(found)
        for layer in range(6):
            path = f"encoder.layer.{layer}" + (f".{part}" if part else "")
            (rows,) = outputs(DEMO, path)
            for kind in classes:
                value = found[kind.label].values[layer]
                expected = compute(rows[list(kind.tokens)])
                assert value == pytest.approx(expected, rel=1e-5, abs=1e-7), (statistic, kind)
                assert found[kind.label].keys[layer] == SelectionKey(path)


def test_the_class_of_all_tokens_has_the_statistics_of_the_run() -> None:
    run = opened(DEMO).run
    series = layer_series(opened(DEMO).model.architecture, run, "output")
    own = series_chart(run, series, "std").lines[0]
    found = class_chart(DEMO, "output", "std", token_classes(run)[:1]).lines[0]
    assert found.values == pytest.approx(own.values)


def test_classes_of_shared_layers_and_of_two_stacks() -> None:
    part, content = "albert_layers.0.ffn", class_of(ALBERT, "content")
    (line,) = class_chart(ALBERT, part, "max", (content,)).lines
    both = outputs(ALBERT, f"encoder.albert_layer_groups.0.{part}")
    assert len(both) == 2
    expected = [rows[list(content.tokens)].max() for rows in both]
    assert line.values == pytest.approx(expected, rel=1e-6)
    found = {line.label: line for line in class_chart("bart", "", "mean").lines}
    # What both stacks are called is omitted from labels.
    assert "encoder · first sentence" in found
    assert "encoder · second sentence" not in found
    split = sum(token.segment == 0 for token in known("bart").run.tokens)
    tokens = [token - split for token in class_of("bart", "second").tokens]
    (rows,) = outputs("bart", "decoder.layers.1")
    value = found["decoder · second sentence"].values[1]
    assert value == pytest.approx(rows[tokens].mean(), rel=1e-5)


def test_mean_with_its_band_and_extremes() -> None:
    it = opened(DEMO)
    whole, band = (layer_chart(it.model.architecture, it.run, kind) for kind in (SPREAD, BAND))
    assert (whole.y_title, band.y_title) == ("mean ± std, min, max", "mean ± std")
    (line,) = whole.lines
    for layer in range(6):
        (rows,) = outputs(DEMO, f"encoder.layer.{layer}")
        mean, std = rows.mean(), rows.std()
        found = [part[layer] for _, part in line.columns()]
        expected = [mean, mean - std, mean + std, rows.min(), rows.max()]
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert band.lines == (replace(line, min=None, max=None),)
    name = "encoder.layer: output, mean"
    assert band.table()[0] == ("Layer", name, f"{name} − std", f"{name} + std")
    # Several classes have no extremes.
    several = class_chart(DEMO, "", SPREAD)
    assert several.y_title == SPREAD
    assert all(line.min is line.max is None and line.low and line.high for line in several.lines)
    (alone,) = class_chart(DEMO, "", SPREAD, (class_of(DEMO, "cls"),)).lines
    assert alone.min is not None
    assert alone.label == "[CLS]"
    # Without measured rows there is no line.
    series = layer_series(it.model.architecture, it.run)
    empty = token_class_chart(it.run, series, "std", token_classes(it.run), {})
    assert (empty.lines, empty.ticks) == ((), ())


def test_what_the_values_of_statistics_can_be() -> None:
    run = known(BERT).run
    charts = {name: series_chart(run, (), name) for name in STATISTIC_NAMES}
    bounds = [charts[name].bounds for name in ("mean", "std", "zero_fraction")]
    assert bounds == [(-np.inf, np.inf), (0.0, np.inf), (0.0, 1.0)]
    assert charts["nan_count"].is_whole
    assert not charts["std"].is_whole


@pytest.mark.parametrize(
    ("series", "names"),
    [
        ([("encoder.layer", "")], [""]),
        ([("encoder.layers", ""), ("decoder.layers", "")], ["encoder", "decoder"]),
        ([("model.a.layers", ""), ("model.b.layers", "")], ["a", "b"]),
        ([("model.blocks", ""), ("blocks", "")], ["model.blocks", "blocks"]),
        ([("x.layer", ""), ("x.layer.y", "")], ["layer", "layer.y"]),
        (
            [("encoder.layer", ""), ("encoder.layer", "attention.self")],
            ["output", "attention.self"],
        ),
    ],
)
def test_short_names_distinguish_stacks_and_parts(
    series: list[tuple[str, str]], names: list[str]
) -> None:
    found = short_names([Series(stack, part, ("path",)) for stack, part in series])
    assert list(found) == names
