"""The lines of the layer plot, against the run's own figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.chart import Line
from bertviewer.charts.layers import NotFinite, layer_chart, not_finite
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.sources.parsing import parse_source

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
