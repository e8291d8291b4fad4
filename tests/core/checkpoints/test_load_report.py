"""The text of the report on how a checkpoint fits a model."""

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


def test_the_text_lists_all_but_unchanged_tensors() -> None:
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
    unchanged = replace(REPORT, renamed={}, missing=(), unexpected=(), tied={})
    assert unchanged.lines() == REPORT.lines()[:2]
    assert REPORT.has_lists
    assert not unchanged.has_lists


def test_long_lists_are_shortened_on_request() -> None:
    long = replace(REPORT, unexpected=tuple(f"u{number}" for number in range(LISTED + 1)))
    assert "  … and 2 more" in long.lines()
    assert "  u12" not in long.lines()
    assert "  u12" in long.lines(None)
    exact = replace(REPORT, unexpected=long.unexpected[:-1]).lines()
    assert not any("more" in line for line in exact)
