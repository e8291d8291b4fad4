"""The command ``summary``: what it prints in each format."""

import csv
import json
from pathlib import Path

import pytest

from bertviewer.app import main
from tests.cli.commands import output_of
from tests.cli.conftest import Printed


def test_text(printed: Printed) -> None:
    text = printed("summary", "bert-base-uncased")
    assert "Total params: 109,482,240" in text
    assert "12 × BertLayer" in text
    assert "no weights" in text.splitlines()[0]


def test_json(elsewhere: Path) -> None:
    document = json.loads(output_of(elsewhere, "summary", "bert-base-uncased", "--format", "json"))
    assert document["schema"] == "bertviewer.architecture/1"
    assert document["totals"]["parameters"] == 109_482_240
    assert len(document["parameters"]) == 199
    values = {letter: symbol["value"] for letter, symbol in document["symbols"].items()}
    root = document["modules"][0]
    assert eval(root["count_formula"], {"__builtins__": {}}, values) == 109_482_240


def test_csv(printed: Printed) -> None:
    text = printed("summary", "demo", "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    assert (rows[0]["class"], rows[0]["parameters"]) == ("BertModel", "22713216")
    assert len({row["path"] for row in rows}) == len(rows)


def test_csv_of_parameters(printed: Printed) -> None:
    text = printed("summary", "bert-base-uncased", "--format", "csv", "--parameters")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 199
    assert sum(int(row["numel"]) for row in rows) == 109_482_240


def test_markdown_with_task_and_depth(printed: Printed) -> None:
    text = printed("summary", "bert-base-uncased", "--format", "markdown",
        "--task", "sequence-classification", "--depth", "1",
    )  # fmt: skip
    assert text.startswith("# bert-base-uncased\n")
    assert "109,483,778" in text
    assert "classifier | Linear | 1,538" in text
    assert "BertLayer" not in text


def test_configuration_file_and_folder(
    tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(tiny_bert_folder)]) == 0
    by_folder = capsys.readouterr().out.splitlines()
    assert main(["summary", str(tiny_bert_folder / "config.json")]) == 0
    by_file = capsys.readouterr().out.splitlines()
    assert "pretrained weights" in by_folder[0]
    assert "no weights" in by_file[0]
    # After the same lines, the folder's checkpoint is told.
    assert by_folder[1 : len(by_file)] == by_file[1:]


def test_the_checkpoint_is_told(tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["summary", str(tiny_bert_folder), "--task", "masked-lm"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert (
        "Missing from the checkpoint, initialised randomly when the model is used: 5 of 42" in text
    )
    assert main([*arguments, "--format", "json"]) == 0
    checkpoint = json.loads(capsys.readouterr().out)["checkpoint"]
    assert len(checkpoint["missing"]) == 5
    assert checkpoint["files"][0]["name"] == "model.safetensors"
    assert checkpoint["stored_dtypes"] == {"F32": 39}
    assert main(["summary", "gpt2", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["checkpoint"] is None
