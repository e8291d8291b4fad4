"""A record is equal to what is recorded again, and what differs is found."""

import json
from pathlib import Path

import pytest
from msgspec.structs import asdict

from tests.core.formulas.formula_models import TINY
from tests.golden.__main__ import main
from tests.golden.differences import changes, grouped, read_intended, reason_for
from tests.golden.models import Example, matches
from tests.golden.texts import document_sections, sections_of, text_of

KINDS = ("--kinds", "formulas,walkthrough")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A record of the formulas and the walkthrough of one model."""
    model = tmp_path / "models" / "tiny-bert"
    model.mkdir(parents=True)
    config = {"model_type": "bert", **TINY["bert"], "num_hidden_layers": 1}
    (model / "config.json").write_text(json.dumps(config))
    table = {"models": [asdict(Example("tiny-bert", "tiny-bert"))], "pairs": []}
    (tmp_path / "models" / "models.json").write_text(json.dumps(table))
    assert main(["record", str(tmp_path), *KINDS]) == 0
    return tmp_path


def test_a_changed_line_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(folder), *KINDS]) == 0
    assert "2 records compared: 0 differences" in capsys.readouterr().out
    file = folder / "formulas" / "tiny-bert.txt"
    text = file.read_text("utf-8")
    assert "title: Embeddings\n" in text
    file.write_text(text.replace("title: Embeddings\n", "title: Tables\n"), "utf-8")
    assert main(["compare", str(folder), *KINDS]) == 1
    out = capsys.readouterr().out
    assert "=== formulas of tiny-bert / embeddings: BertEmbeddings" in out
    assert "-title: Tables\n+title: Embeddings\n" in out
    intended = folder / "intended.txt"
    intended.write_text("# The title says what they are.\nformulas .*: .title: (Tables|Emb)\n")
    assert main(["compare", str(folder), *KINDS, "--intended", str(intended)]) == 0
    assert "intended, 1 times: The title says what they are." in capsys.readouterr().out


def test_the_same_change_in_several_layers_and_models_is_one() -> None:
    def old(word: str) -> dict[str, list[str]]:
        return {f"layer.{n}": [f"path: layer.{n}", f"note: {word}"] for n in range(3)}

    found = [
        change
        for name in ("bert", "gpt2")
        for change in changes("formulas", name, old("one"), old("two"))
    ]
    (group,) = grouped(found)
    assert group.text.splitlines()[1] == "    the same at 6 places: bert (3), gpt2 (3)"
    assert {"-note: one", "+note: two"} <= set(group.text.splitlines())


@pytest.mark.parametrize(
    ("kind", "old", "new", "differ"),
    [
        ("run", "mean: 0.12345", "mean: 0.12346", False),
        ("run", "mean: 0.12345", "mean: 0.12445", True),
        ("run", "error: 1e-7", "error: 1e-8", False),
        ("run", "error: 1e-7", "error: 1e-5", True),
        ("run", "shape: [1, 6]", "shape: [1, 7]", True),
        ("report", "| gelu | 3.8e−08 |", "| gelu | 3.1e−08 |", False),
        ("formulas", "epsilon: 0.12345", "epsilon: 0.12346", True),
        ("run", "mean: 0.1", "mean: none", True),
    ],
)
def test_last_digits_differ_in_runs_alone(kind: str, old: str, new: str, differ: bool) -> None:
    assert bool([*changes(kind, "bert", {"a": [old]}, {"a": [new]})]) == differ


def test_sections_that_come_go_and_move_are_found() -> None:
    found = [*changes("flow", "bert", {"a": [], "b": ["x"], "c": []}, {"c": [], "a": [], "d": []})]
    assert [change.heading for change in found] == ["b", "d", "order of the sections"]
    assert found[0].changed == ("-## b", "-x")


def test_every_value_of_a_document_is_a_line() -> None:
    document = {"modules": [{"path": "a", "shape": [1, 2], "why": None}], "name": "x", "none": []}
    sections = document_sections(document)
    assert sections == {
        "modules a": ["path: a", "shape: [1, 2]", "why: None"],
        "others": ["name: x", "none: []"],
    }
    assert sections_of(text_of(sections)) == sections


def test_an_intended_difference_needs_a_reason_and_all_of_its_lines() -> None:
    with pytest.raises(ValueError, match="line 1"):
        read_intended("title")
    (change,) = changes("formulas", "bert", {"a": ["title: x", "note: y"]}, {"a": ["title: z"]})
    title = read_intended("# why\ntitle")
    assert reason_for(change, title) is None
    assert reason_for(change, [*title, *read_intended("# a note less\nnote")]) == "why"


def test_models_are_meant_by_their_type() -> None:
    named = ("bert-base-uncased", "tiny-bert", "saved-bert-base-float16", "tiny-big-bird")
    assert [matches(name, ["bert"]) for name in named] == [True, True, True, False]
