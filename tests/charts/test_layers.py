"""Statistics layer by layer, over all tokens and by classes of tokens."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.layers import (
    BAND,
    SPREAD,
    NotFinite,
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
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from tests.core.replay.model_runs import Opened, known, ran

ALBERT = {
    "model_type": "albert",
    "vocab_size": 60,
    "embedding_size": 16,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 3,
    "num_hidden_layers": 5,
    "max_position_embeddings": 32,
}
TRANSFORMER = {
    "model_type": "transformer-base",
    "vocab_size": 60,
    "d_model": 24,
    "nhead": 4,
    "num_encoder_layers": 2,
    "num_decoder_layers": 3,
    "dim_feedforward": 40,
    "max_position_embeddings": 32,
    "is_encoder_decoder": True,
}
NOTHING = Statistics(8, 8, 0, 0, 0.0, 0.0, None, None)


class Case(Struct, frozen=True):
    architecture: Architecture
    run: ActivationRun

    def series(self, statistic: str = "std", selected: str = "") -> tuple[Line, ...]:
        return layer_chart(self.architecture, self.run, statistic, selected).lines

    def calls(self, path: str) -> tuple[Statistics, ...]:
        activation = self.run.activation(path)
        assert activation is not None, path
        return activation.calls

    def without(self, *paths: str) -> "Case":
        """Return the same run where all that these modules gave was NaN."""

        def poisoned(module: ModuleActivation) -> ModuleActivation:
            return replace(module, calls=(NOTHING,)) if module.path in paths else module

        return replace(self, run=replace(self.run, modules=tuple(map(poisoned, self.run.modules))))


def paths(line: Line) -> tuple[str, ...]:
    return tuple(place.path or "" for place in line.keys)


def case_of(name: str) -> Case:
    model = open_model(parse_source(name))
    run = run_sentence(model, Sentence("the cat sat", "on a mat"), random_weights=True)
    return Case(model.architecture, run)


def small(tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any]) -> Case:
    path = tmp_path_factory.mktemp("small") / "config.json"
    path.write_text(json.dumps(config))
    return case_of(str(path))


@pytest.fixture(scope="module")
def bert(tiny_bert_folder: Path) -> Case:
    return case_of(str(tiny_bert_folder))


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return small(tmp_path_factory, ALBERT)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return small(tmp_path_factory, TRANSFORMER)


def test_one_line_with_the_runs_own_figures(bert: Case) -> None:
    paths = ("encoder.layer.0", "encoder.layer.1")
    for statistic in STATISTIC_NAMES:
        values = tuple(statistic_value(bert.calls(path)[0], statistic) for path in paths)
        assert None not in values
        assert bert.series(statistic) == (
            Line("encoder.layer: output", values, tuple(map(SelectionKey, paths))),
        )


def test_the_chart_around_the_lines(bert: Case, albert: Case, transformer: Case) -> None:
    for case, statistic, ticks in (
        (bert, "rms", "01"),
        (albert, "min", "01234"),
        (transformer, "std", "012"),
    ):
        chart = layer_chart(case.architecture, case.run, statistic)
        assert (chart.x_title, chart.y_title) == ("Layer", statistic)
        assert chart.ticks == tuple(ticks)
    nothing = layer_chart(bert.architecture, replace(bert.run, modules=()), "std")
    assert (nothing.lines, nothing.ticks) == ((), ())


def test_what_is_no_part_of_a_layer_adds_no_line(bert: Case) -> None:
    for selected in ("", "encoder", "encoder.layer", "pooler", "encoder.layer.1"):
        assert [line.label for line in bert.series(selected=selected)] == ["encoder.layer: output"]


@pytest.mark.parametrize("number", [0, 1])
def test_a_selected_part_gives_a_second_line(bert: Case, number: int) -> None:
    first, second = bert.series("rms", f"encoder.layer.{number}.attention.self")
    assert first == bert.series("rms")[0]
    assert second.label == "encoder.layer: attention.self"
    assert paths(second) == ("encoder.layer.0.attention.self", "encoder.layer.1.attention.self")
    assert second.values == tuple(bert.calls(path)[0].rms for path in paths(second))
    assert second.values != first.values


def test_two_stacks(transformer: Case) -> None:
    encoder, decoder = transformer.series("mean")
    assert encoder.label == "encoder.layers: output"
    assert paths(encoder) == tuple(f"transformer.encoder.layers.{n}" for n in range(2))
    assert decoder.label == "decoder.layers: output"
    assert paths(decoder) == tuple(f"transformer.decoder.layers.{n}" for n in range(3))
    for line in (encoder, decoder):
        assert line.values == tuple(transformer.calls(path)[0].mean for path in paths(line))


def test_a_part_of_one_stack(transformer: Case) -> None:
    lines = transformer.series("std", "transformer.decoder.layers.2.multihead_attn")
    assert [line.label.rpartition(".")[2] for line in lines] == [
        "layers: output",
        "layers: output",
        "layers: multihead_attn",
    ]
    assert paths(lines[2])[0] == "transformer.decoder.layers.0.multihead_attn"
    assert len(lines[2].values) == 3


def test_a_shared_layer_has_a_point_for_each_call(albert: Case) -> None:
    (line,) = albert.series("max")
    path = "encoder.albert_layer_groups.0"
    assert line.label == f"{path}: output"
    assert paths(line) == (path,) * 5
    assert line.values == tuple(call.max for call in albert.calls(path))
    assert len(set(line.values)) == 5


def test_a_selected_part_of_a_shared_layer(albert: Case) -> None:
    selected = "encoder.albert_layer_groups.0.albert_layers.0.ffn"
    first, second = albert.series("min", selected)
    assert first == albert.series("min")[0]
    assert second.label == f"{selected}: output"
    assert second.values == tuple(call.min for call in albert.calls(selected))
    assert len(albert.series("min", "pooler")) == 1


def test_a_layer_without_a_figure_is_a_gap(bert: Case) -> None:
    (line,) = bert.without("encoder.layer.0").series()
    assert line.values == (None, bert.calls("encoder.layer.1")[0].std)
    assert paths(line) == ("encoder.layer.0", "encoder.layer.1")


def test_every_statistic_gives_the_same_lines(bert: Case, transformer: Case) -> None:
    layers = [f"transformer.encoder.layers.{number}" for number in range(2)]
    empty, full = transformer.without(*layers).series()
    assert empty.label == "encoder.layers: output"
    assert empty.values == (None, None)
    assert None not in full.values
    (line,) = bert.without("encoder.layer.0", "encoder.layer.1").series()
    assert line.values == (None, None)


def test_modules_that_were_never_called(bert: Case) -> None:
    part = "encoder.layer.1.attention.self"
    never = replace(
        bert, run=replace(bert.run, modules=tuple(m for m in bert.run.modules if m.path != part))
    )
    _, second = never.series(selected=part)
    assert second.values[1] is None
    assert second.values[0] is not None
    assert replace(bert, run=replace(bert.run, modules=())).series() == ()


def test_of_several_calls_the_last_counts(bert: Case) -> None:
    path = "encoder.layer.0"
    last = bert.calls("encoder.layer.1")[0]
    twice = tuple(
        replace(module, calls=(*module.calls, last)) if module.path == path else module
        for module in bert.run.modules
    )
    (line,) = replace(bert, run=replace(bert.run, modules=twice)).series()
    assert line.values == (last.std, last.std)


def test_where_something_is_not_finite(bert: Case, transformer: Case) -> None:
    def found(case: Case) -> NotFinite:
        return not_finite(case.run, layer_series(case.architecture, case.run))

    assert found(bert) == found(transformer) == {}
    assert found(bert.without("encoder.layer.1")) == {"": [1]}
    decoder = [f"transformer.decoder.layers.{n}" for n in (1, 2)]
    assert found(transformer.without("transformer.encoder.layers.1", *decoder)) == {
        "encoder.layers": [1],
        "decoder.layers": [1, 2],
    }
    assert found(transformer.without(*decoder)) == {"decoder.layers": [1, 2]}


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
