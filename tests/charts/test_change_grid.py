"""Grids of the changes of tensors between two models."""

from msgspec.structs import replace

from bertviewer.charts.change_grid import ChangeMeasure, change_grid, tensor_cells
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.comparison.comparison import Change, compare_architectures
from tests.charts.described import Golden, described
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import small

SELF = "encoder.layer.1.attention.self"
SAME = Change(8, 8, 0.0, 0.0, 0.0, 1.0)
CHANGES = {
    "key.weight": Change(2, 8, 0.5, 0.25, 0.125, 0.75),
    "value.bias": Change(0, 8, 0.5, 0.25, None, None),  # from zeros
}


def test_a_grid_of_all_changes(golden: Golden) -> None:
    found = compare_architectures(small("bert"), small("bert"))
    tensors = [
        replace(tensor, change=CHANGES.get(".".join(tensor.name.split(".")[-2:]), SAME))
        for tensor in found.tensors
    ]
    found = replace(found, tensors=tuple(tensors))
    grid = change_grid(found)
    measures: tuple[ChangeMeasure, ...] = ("max", "rms", "cosine")
    others = {name: change_grid(found, name).text(1, 7) for name in measures}
    golden("charts/changes.txt", described({"changes": grid} | others))
    column = next(n for n, name in enumerate(grid.columns) if name == "key.weight")
    assert grid.key(2, column) == SelectionKey(f"{SELF}.key")
    assert grid.chosen(SelectionKey(f"{SELF}.key")) == ((2,), (column, column + 1))
    assert change_grid(found, has_keys=False).key(2, column) == SelectionKey()


def test_tensors_that_cannot_be_compared_have_a_sign() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    grid = change_grid(found)
    assert grid.signs == (("≠", "different shape"), ("R", "only on the right"))
    words = {note.sign: note.text.splitlines()[-1] for note in grid.notes.values()}
    assert words == {"≠": "different shape", "R": "only on the right"}
    # Layers that only one has stand with the others.
    assert grid.rows[-2:] == ("layer 23", "pooler")


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
