"""The report on a checkpoint, line by line."""

from msgspec.structs import replace

from bertviewer.core.checkpoints.load_report import LISTED, LoadReport

REPORT = LoadReport(
    files={"a.safetensors": 1_500_000, "b.safetensors": 500_000},
    stored_dtypes={"F16": 3, "I64": 1},
    dtype="float32",
    tensors=4,
    stored={"x.weight": "x.gamma", "x.bias": "x.bias"},
    renamed={"x.gamma": "x.weight"},
    missing=("y", "z"),
    unexpected=("old",),
    tied={"w": "x.bias"},
)


def test_everything_is_told() -> None:
    assert REPORT.lines() == [
        "Checkpoint: 2 files, 2.00 MB in total: a.safetensors (1.50 MB), b.safetensors (0.50 MB)",
        "Stored as: 3 × F16, 1 × I64; computed in float32",
        "Missing from the checkpoint, initialised randomly when the model is used: 2 of 4",
        "  y",
        "  z",
        "Stored under another name: 1",
        "  x.weight is stored as x.gamma",
        "In the checkpoint but not in this model: 1",
        "  old",
        "Tied to another tensor: 1",
        "  w is tied to x.bias",
    ]


def test_what_is_in_its_place_is_not_listed() -> None:
    whole = replace(REPORT, renamed={}, missing=(), unexpected=(), tied={}, files={"m": 1})
    assert len(whole.lines()) == 2
    assert not whole.has_lists


def test_long_lists_are_cut_or_whole() -> None:
    many = replace(REPORT, unexpected=tuple(f"u{number}" for number in range(LISTED + 1)))
    cut, whole = many.lines(), many.lines(None)
    assert f"  … and {2} more" in cut
    assert "  u12" not in cut
    assert "  u12" in whole
    exact = replace(REPORT, unexpected=many.unexpected[:-1]).lines()
    assert not any("more" in line for line in exact)
