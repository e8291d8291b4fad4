"""A run's token norms as a chart, against the run itself."""

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.labels import axis_labels, names_of_states, norm_after, state_ticks
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import norms_chart
from bertviewer.core.schema.activation_run import ModuleActivation, Token
from bertviewer.core.schema.statistics import NO_ELEMENTS
from tests.charts.runs import NORMS, make_run


def test_the_runs_own_norms() -> None:
    chart = norms_chart(make_run())
    assert np.array_equal(chart.values, np.array(NORMS))
    assert chart.rows == ("emb", "0", "1")
    assert chart.row_names == ("embeddings", "layer 0", "layer 1")
    assert chart.columns == ("[CLS]", "it's", "[SEP]")
    assert (chart.x_title, chart.y_title, chart.value_title) == ("Token", "Layer", "Norm")
    assert chart.key(2, 1) == SelectionKey(token=1)
    assert not chart.is_signed


def test_what_is_not_finite_is_nan() -> None:
    chart = norms_chart(make_run(norms=((None, 1.0, 2.0),)))
    assert np.isnan(chart.values[0, 0])
    assert chart.values[0, 1:].tolist() == [1.0, 2.0]


def test_rows_stand_for_the_modules_that_gave_them() -> None:
    paths = (("embeddings",), ("encoder.layer.0",), ("encoder.layer.1",))
    chart = norms_chart(replace(make_run(), state_paths=paths))
    assert chart.key(1, 2) == SelectionKey("encoder.layer.0", token=2)
    assert chart.split is None


def pair(paths: tuple[tuple[str, ...], ...]) -> tuple[SelectionKey, ...]:
    """Return what the last row stands for, where the last token is of a second segment."""
    run = make_run()
    tokens = (*run.tokens[:2], Token(7, "[SEP]", 1))
    chart = norms_chart(replace(run, tokens=tokens, state_paths=paths))
    return tuple(chart.key(2, column) for column in range(3))


def test_encoder_and_decoder_tokens_have_their_own_modules() -> None:
    paths = tuple((f"encoder.{n}", f"decoder.{n}") for n in range(3))
    first, second, third = pair(paths)
    assert (first, second) == (
        SelectionKey("encoder.2", token=0),
        SelectionKey("encoder.2", token=1),
    )
    assert third == SelectionKey("decoder.2", token=2)


def test_a_pair_that_one_stack_reads_has_one_module_a_row() -> None:
    places = pair((("embeddings",), ("layer.0",), ("layer.1",)))
    assert places == tuple(SelectionKey("layer.1", token=n) for n in range(3))


def test_a_second_text_is_set_off() -> None:
    run = make_run()
    assert norms_chart(run).column_starts == ()
    tokens = (*run.tokens[:2], Token(7, "[SEP]", 1))
    chart = norms_chart(replace(run, tokens=tokens))
    assert (chart.row_starts, chart.column_starts) == ((), (2,))
    assert chart.table() == norms_chart(run).table()


def test_nothing_in_a_run() -> None:
    assert norms_chart(make_run(norms=())).values.size == 0
    assert norms_chart(make_run((), ())).values.size == 0


def test_a_state_after_the_final_norm_says_so() -> None:
    def names(*paths: tuple[str, ...]) -> tuple[str, ...]:
        return names_of_states(replace(make_run(), state_paths=paths))

    plain = ("embeddings", "layer 0", "layer 1")
    assert names(("wte",), ("h.0",), ("ln_f",)) == (*plain[:2], "layer 1, after ln_f")
    both = names(("a", "b"), ("a.0", "b.0"), ("encoder.norm", "decoder.norm"))
    assert both[-1] == "layer 1, after norm"
    # Layers themselves, one layer for all states, and states of which no module is known.
    assert names(("embeddings",), ("layer.0",), ("layer.1",)) == plain
    assert names(("embeddings",), ("layers.0.a",), ("layers.0.a",)) == plain
    assert names(("",), ("",), ("",)) == names() == plain
    assert names_of_states(make_run(norms=())) == ()
    assert state_ticks(replace(make_run(), state_paths=((), (), ("ln_f",)))) == (
        "emb",
        "0",
        "1, after ln_f",
    )


def test_what_holds_the_only_layer_is_no_norm() -> None:
    run = make_run(norms=((1.0,) * 3,) * 2)
    shape = 1, 3, 2
    layer = ModuleActivation("encoder.layer.0", "Layer", shape, shape, (NO_ELEMENTS,), None)
    given = replace(run, modules=(layer,), state_paths=(("embeddings",), ("encoder",)))
    assert names_of_states(given) == ("embeddings", "layer 0")


def test_names_from_right_to_left_keep_to_their_places() -> None:
    chart = norms_chart(make_run(("[CLS]", "##م", "[SEP]")))
    assert chart.text(1, 1).startswith("layer 0, \u2066##م\u2069 (token 1): ")
    assert chart.columns[1] == "##م"
    assert chart.table()[0] == ("Layer × Token: Norm", *(
        f"{text} (token {n})" for n, text in enumerate(chart.columns)
    ))  # fmt: skip


def test_the_row_after_the_final_norm_is_not_called_a_layer() -> None:
    normed = replace(make_run(), state_paths=((), (), ("ln_f",)))
    assert norms_chart(normed).rows == axis_labels(normed) == ("emb", "0", "1+ln_f")
    long = replace(make_run(), state_paths=((), (), ("final_layer_norm",)))
    assert axis_labels(long)[-1] == "1+norm"
    assert norms_chart(make_run()).rows == ("emb", "0", "1")
    assert (norm_after(normed), norm_after(make_run())) == ("ln_f", "")
