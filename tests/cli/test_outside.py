"""What is around a command: pipes, encodings, chatty libraries, odd paths."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.core.building.backend import transformers
from tests.cli.commands import ROOT, bertviewer, output_of
from tests.cli.conftest import Printed


def test_reader_that_stops_reading_is_no_error(elsewhere: Path) -> None:
    result = subprocess.run(
        f"set -o pipefail; '{sys.executable}' -m bertviewer summary demo | head -1",
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 1


def test_what_libraries_print_is_no_result(elsewhere: Path, tiny_bert_folder: Path) -> None:
    model = elsewhere / "model"
    shutil.copytree(tiny_bert_folder, model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.save_pretrained(model)
    file = model / "tokenizer.json"
    document = json.loads(file.read_text())
    # tokenizers prints "Ignored unknown kwarg option" to file descriptor 1.
    document["added_tokens"][0]["unheard_of"] = True
    file.write_text(json.dumps(document))
    found = json.loads(output_of(elsewhere, "run", str(model), "a test", "--format", "json"))
    assert found["schema"] == "bertviewer.run/1"


@pytest.mark.parametrize("name", ["a'b\"c d", "名前 %s{0}", "--task", " "], ids=ascii)
def test_folders_of_any_name(
    name: str, printed: Printed, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert_folder, tmp_path / name)
    assert "pretrained weights" in printed("summary", str(folder))
    assert "[CLS]" in printed("run", str(folder), "a test")
    assert printed("report", str(folder), "-o", "report.pdf") == ""


def test_a_path_that_is_not_utf_8(printed: Printed, tiny_bert_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert_folder, tmp_path / os.fsdecode(b"\xff\xfe"))
    assert "pretrained weights" in printed("summary", str(folder))
    assert printed("report", str(folder), "-o", "report.pdf") == ""
    assert "pooler.dense" in printed("run", str(folder), "a test")


def test_names_that_the_terminal_cannot_show_do_not_stop_the_output(elsewhere: Path) -> None:
    result = bertviewer(
        elsewhere, "summary", "bert-base-uncased", environment={"PYTHONIOENCODING": "ascii"}
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "Total params: 109,482,240" in result.stdout
