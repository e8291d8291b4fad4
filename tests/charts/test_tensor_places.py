"""Rows and columns of tensors, by their names alone."""

from bertviewer.charts.change_grid import tensor_cells


def test_two_stacks_and_what_stands_beside_them() -> None:
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


def test_ends_that_others_share_are_longer() -> None:
    found = tensor_cells(("l.0.a.output.dense.bias", "l.0.output.dense.bias", "l.0.a.key.bias"))
    assert found.column_labels == ("a.output.dense.bias", "output.dense.bias", "key.bias")


def test_a_tensor_without_a_module() -> None:
    found = tensor_cells(("bias", "l.0.bias"))
    assert found.rows == ("", "l.0")
    assert found.cells == {"bias": (0, 0), "l.0.bias": (1, 0)}
