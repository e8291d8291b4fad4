"""Grids of the changes of tensors between two models."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.change_grid import change_grid, tensor_cells
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.comparison.comparison import Change, Comparison, compare_architectures
from tests.core.opened import plain

QUERY = "encoder.layer.3.attention.self.query.weight"
SAME = Change(8, 8, 0.0, 0.0, 0.0, 1.0)


def compared(right: str = "bert-base-uncased", **changes: Change) -> Comparison:
    """Return a comparison in which only tensors with these ends of names have changed."""
    found = compare_architectures(plain("bert-base-uncased"), plain(right))
    ends = {end.replace("_dot_", "."): change for end, change in changes.items()}
    tensors = tuple(
        replace(
            tensor,
            change=next((each for end, each in ends.items() if tensor.name.endswith(end)), SAME),
        )
        for tensor in found.tensors
    )
    return replace(found, tensors=tensors)


def test_rows_are_layers_and_other_modules() -> None:
    grid = change_grid(compared())
    assert grid.rows == ("embeddings", *(f"layer {n}" for n in range(12)), "pooler")
    assert grid.columns[5:8] == ("query.weight", "query.bias", "key.weight")
    assert len(grid.notes) == 199
    assert np.isnan(grid.values).all()
    assert grid.signs == (("=", "identical"),)


def test_a_cell_describes_its_tensor_and_selects_its_module() -> None:
    grid = change_grid(compared(query_dot_weight=Change(2, 8, 0.5, 0.25, 0.125, 0.75)))
    row, column = next(cell for cell, note in grid.notes.items() if note.name == QUERY)
    assert grid.values[row, column] == 0.125
    assert grid.key(row, column) == SelectionKey("encoder.layer.3.attention.self.query")
    told = grid.text(row, column).splitlines()
    assert told[0] == QUERY
    assert told[2:] == [
        "‖Δ‖ / ‖left‖ = 0.125",
        "max |Δ| = 0.5",
        "RMS Δ = 0.25",
        "1 − cosine = 0.25",
        "6 of 8 elements changed",
    ]
    assert grid.chosen(SelectionKey("encoder.layer.3.attention.self.query")) == (
        (row,),
        (column, column + 1),
    )
    header, rows = grid.table()
    assert rows[row][column + 1 : column + 3] == (0.125, "identical")
    assert rows[0][column + 1] is None  # the embeddings have no query
    assert header[0] == "Module × Tensor: ‖Δ‖ / ‖left‖"
    assert grid.scale_title == "‖Δ‖ / ‖left‖ (log scale)"
    assert header[column + 1] == "attention.self.query.weight"
    assert change_grid(compared(), has_keys=False).key(row, column) == SelectionKey()


@pytest.mark.parametrize(("measure", "value"), [("max", 0.5), ("rms", 0.25), ("cosine", 0.25)])
def test_other_measures(measure: str, value: float) -> None:
    found = compared(query_dot_weight=Change(2, 8, 0.5, 0.25, 0.125, 0.75))
    grid = change_grid(found, measure)  # type: ignore[arg-type]
    assert np.nanmin(grid.values) == np.nanmax(grid.values) == value


def test_tensors_that_cannot_be_compared_have_a_sign() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    grid = change_grid(found)
    assert grid.signs == (("≠", "different shape"), ("R", "only on the right"))
    words = {note.sign: note.text.splitlines()[-1] for note in grid.notes.values()}
    assert words == {"≠": "different shape", "R": "only on the right"}
    # Layers that only one has stand with the others.
    assert grid.rows[-2:] == ("layer 23", "pooler")


def test_a_change_from_zeros_has_no_relative_value() -> None:
    grid = change_grid(compared(query_dot_bias=Change(0, 8, 0.5, 0.25, None, None)))
    assert grid.signs == (("=", "identical"), ("–", "changed, not measurable"))


def test_rows_of_two_stacks() -> None:
    found = tensor_cells(
        (
            "shared.weight",
            "encoder.block.0.layer.0.q.weight",
            "encoder.block.10.layer.0.q.weight",
            "encoder.block.2.layer.0.q.weight",
            "encoder.final_layer_norm.weight",
            "decoder.block.0.layer.0.q.weight",
        )
    )
    assert found.row_labels == (
        "shared",
        "encoder block 0",
        "block 2",
        "block 10",
        "final_layer_norm",
        "decoder block 0",
    )
    assert found.columns == ("weight", "layer.0.q.weight")
    assert found.cells["encoder.block.10.layer.0.q.weight"] == (3, 1)


def test_columns_are_the_shortest_distinct_ends_of_names() -> None:
    found = tensor_cells(("l.0.a.output.dense.bias", "l.0.output.dense.bias", "l.0.a.key.bias"))
    assert found.column_labels == ("a.output.dense.bias", "output.dense.bias", "key.bias")
    found = tensor_cells(("bias", "l.0.bias"))
    assert found.rows == ("", "l.0")
    assert found.cells == {"bias": (0, 0), "l.0.bias": (1, 0)}
