"""The commands as other programs see them: output, exit status, one line on stderr."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pypdf import PdfReader

from bertviewer import __version__
from bertviewer.app import main
from bertviewer.core.backend import transformers
from bertviewer.core.presets import PRESETS

ROOT = Path(__file__).parents[1]
SENTENCE = "this is a 12212121 test sentence"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return an empty folder to run in: nothing may depend on the checkout as working folder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def bertviewer(
    folder: Path,
    *arguments: str,
    python: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *python, "-m", "bertviewer", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def output_of(folder: Path, *arguments: str) -> str:
    result = bertviewer(folder, *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


Printed = Callable[..., str]


@pytest.fixture
def printed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printed:
    """Give a function that returns what a command prints, run in this process.

    A process of its own takes seconds to import torch; each command has one in another test.
    """

    def run(*arguments: str) -> str:
        monkeypatch.chdir(elsewhere)
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


def error_of(folder: Path, *arguments: str) -> str:
    """Run what must fail and return the error's one line, without its beginning."""
    result = bertviewer(folder, *arguments)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bertviewer: error: ")
    return line.removeprefix("bertviewer: error: ")


class TestSummary:
    def test_text(self, printed: Printed) -> None:
        text = printed("summary", "bert-base-uncased")
        assert "Total params: 109,482,240" in text
        assert "12 × BertLayer" in text
        assert "no weights" in text.splitlines()[0]

    def test_json(self, elsewhere: Path) -> None:
        document = json.loads(
            output_of(elsewhere, "summary", "bert-base-uncased", "--format", "json")
        )
        assert document["schema"] == "bertviewer.architecture/1"
        assert document["totals"]["parameters"] == 109_482_240
        assert len(document["parameters"]) == 199
        values = {letter: symbol["value"] for letter, symbol in document["symbols"].items()}
        root = document["modules"][0]
        assert eval(root["count_formula"], {"__builtins__": {}}, values) == 109_482_240

    def test_csv(self, printed: Printed) -> None:
        text = printed("summary", "demo", "--format", "csv")
        rows = list(csv.DictReader(text.splitlines()))
        assert (rows[0]["class"], rows[0]["parameters"]) == ("BertModel", "22713216")
        assert len({row["path"] for row in rows}) == len(rows)

    def test_csv_of_parameters(self, printed: Printed) -> None:
        text = printed("summary", "bert-base-uncased", "--format", "csv", "--parameters")
        rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == 199
        assert sum(int(row["numel"]) for row in rows) == 109_482_240

    def test_markdown_with_task_and_depth(self, printed: Printed) -> None:
        text = printed("summary", "bert-base-uncased", "--format", "markdown",
            "--task", "sequence-classification", "--depth", "1",
        )  # fmt: skip
        assert text.startswith("# bert-base-uncased\n")
        assert "109,483,778" in text
        assert "classifier | Linear | 1,538" in text
        assert "BertLayer" not in text

    def test_configuration_file_and_folder(
        self, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["summary", str(tiny_bert_folder)]) == 0
        by_folder = capsys.readouterr().out.splitlines()
        assert main(["summary", str(tiny_bert_folder / "config.json")]) == 0
        by_file = capsys.readouterr().out.splitlines()
        assert "pretrained weights" in by_folder[0]
        assert "no weights" in by_file[0]
        # After the same lines, the folder's checkpoint is told.
        assert by_folder[1 : len(by_file)] == by_file[1:]

    def test_the_checkpoint_is_told(
        self, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["summary", str(tiny_bert_folder), "--task", "masked-lm"]
        assert main(arguments) == 0
        text = capsys.readouterr().out
        assert "Not in the checkpoint, drawn at RANDOM: 5 of 42" in text
        assert main([*arguments, "--format", "json"]) == 0
        checkpoint = json.loads(capsys.readouterr().out)["checkpoint"]
        assert len(checkpoint["missing"]) == 5
        assert checkpoint["files"][0]["name"] == "model.safetensors"
        assert checkpoint["stored_dtypes"] == {"F32": 39}
        assert main(["summary", "gpt2", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["checkpoint"] is None


class TestRun:
    def test_json(self, elsewhere: Path) -> None:
        document = json.loads(output_of(elsewhere, "run", "demo", SENTENCE, "--format", "json"))
        assert document["schema"] == "bertviewer.run/1"
        assert document["source"]["weights"] == "pretrained"
        assert document["tokens"][1] == {"id": 2023, "text": "this", "segment": 0}
        assert len(document["tokens"]) == 11
        assert document["hidden_states"]["layers"] == 7
        assert document["modules"][0]["output_shape"] == [1, 11, 384]
        assert document["check"] is None
        assert document["unchecked"] is None
        assert document["seconds"]["total"] >= document["seconds"]["forward"] > 0

    def test_text_and_pair(self, printed: Printed) -> None:
        text = printed("run", "demo", "one", "--pair", "two")
        assert "5 tokens" in text
        assert "encoder.layer.5.attention.self.query" in text

    def test_check_as_json(self, printed: Printed) -> None:
        document = json.loads(printed("run", "demo", SENTENCE, "--check", "--format", "json"))
        steps = document["check"]
        assert all(
            step.keys() == {"path", "step", "max_abs_error", "tolerance", "ok"} for step in steps
        )
        assert all(step["ok"] and step["max_abs_error"] <= step["tolerance"] for step in steps)
        assert {step["path"] for step in steps} == {m["path"] for m in document["modules"]}
        names = [step["step"] for step in steps if step["path"] == "encoder.layer.0"]
        assert names[0] == "self-attention"
        assert names[-1] == "= next hidden state"
        assert document["unchecked"] == []

    def test_check_as_text(
        self, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(tiny_bert_folder), "the cat", "--check"]) == 0
        text = capsys.readouterr().out
        assert "steps are within their tolerance." in text
        (line,) = (line for line in text.splitlines() if line.startswith("self-attention"))
        _, steps, crosses, *_ = line.split()
        # Two layers: the output and four heads, then output and weights in the eager way.
        assert (steps, crosses) == ("14", "0")

    def test_random_weights_say_so(self, printed: Printed) -> None:
        text = printed("run", "distilbert-base-uncased", "hello", "--random-weights")
        assert "RANDOM weights" in text.splitlines()[0]


def test_report_is_a_pdf_with_the_sentence_in_it(elsewhere: Path) -> None:
    assert output_of(elsewhere, "report", "demo", "-o", "out.pdf", "--sentence", SENTENCE) == ""
    path = elsewhere / "out.pdf"
    assert path.read_bytes().startswith(b"%PDF")
    text = "\n".join(page.extract_text() for page in PdfReader(path).pages)
    assert "22,713,216" in text
    assert SENTENCE in " ".join(text.split())


def test_a_cross_is_a_result_and_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_bert_folder: Path
) -> None:
    from bertviewer.core.checking import arithmetic

    usual = arithmetic.softmax
    monkeypatch.setattr(
        "bertviewer.core.checking.attention_maths.softmax", lambda scores: usual(2 * scores)
    )
    assert main(["run", str(tiny_bert_folder), "the cat", "--check"]) == 0
    out = capsys.readouterr().out
    assert "steps are NOT within their tolerance." in out
    assert "✗ encoder.layer.1.attention.self: head 3: |Δ| " in out


def test_two_models_side_by_side(elsewhere: Path, tiny_bert_folder: Path) -> None:
    model = str(tiny_bert_folder)
    text = output_of(elsewhere, "compare", model, model)
    assert text.splitlines()[2:] == ["Tensors: 39 same"]
    document = json.loads(output_of(elsewhere, "compare", "demo", model, "--format", "json"))
    assert document["schema"] == "bertviewer.comparison/1"
    assert document["left"]["parameters"] == 22_713_216
    assert document["config"]["num_hidden_layers"] == [6, 2]
    assert document["counts"]["only left"] == 4 * 16


def test_presets(elsewhere: Path) -> None:
    lines = output_of(elsewhere, "presets").splitlines()
    assert [line.split()[0] for line in lines] == [preset.name for preset in PRESETS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("summary", "no-such-model"), "unknown model 'no-such-model'"),
        (("run", "gpt2", "hello"), "gpt2 has no weights; ask for random ones"),
    ],
)
def test_errors_are_one_line(elsewhere: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of(elsewhere, *arguments)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such-model", "--nonsense"), "--nonsense"),
        (("--task", "poetry"), "invalid choice: 'poetry'"),
        (("summary", "gpt2", "--task", "next-sentence"), "gpt2 has no head"),
        (("summary", "gpt2", "--task", "poetry"), "invalid choice: 'poetry'"),
        (("summary", "gpt2", "--depth", "-1"), "is not a number of levels"),
        (("summary", "gpt2", "--depth", "two"), "--depth"),
        (("summary",), "MODEL"),
        (("summary", "gpt2", "--nonsense"), "--nonsense"),
        (("run", "demo", ""), "the sentence is empty"),
        (("run", "demo", "word " * 600), "too long: it has 602 tokens"),
        (("run", "demo", "  "), "the sentence is empty"),
        (("run", "demo", "one", "--pair", " "), "the second sentence is empty"),
        (("report", "demo"), "-o/--output"),
        (("report", "demo", "-o", "absent/out.pdf"), "absent"),
        (("report", "demo", "-o", "."), "folder"),
        (("report", "demo", "-o", "out.pdf", "--pair", "two"), "--pair needs --sentence"),
        (("report", "demo", "-o", "out.pdf", "--sentence", ""), "the sentence is empty"),
        (("report", "demo", "-o", "out.pdf", "--check"), "--check needs --sentence"),
    ],
)
def test_more_errors_in_this_process(
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(elsewhere)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("bertviewer: error: ")
    assert message in line
    assert list(elsewhere.iterdir()) == []


def test_our_own_bug_is_logged(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("bertviewer.cli.execute", fail)
    monkeypatch.setattr("bertviewer.core.log.user_log_path", lambda *_, **__: elsewhere / "logs")
    assert main(["presets"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    log = elsewhere / "logs" / "bertviewer.log"
    assert line == f"bertviewer: error: internal error; the details are in {log}"
    assert "RuntimeError: a bug" in log.read_text()


def test_no_display_is_one_line_that_says_what_to_do(elsewhere: Path) -> None:
    environment = {"QT_QPA_PLATFORM": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    result = bertviewer(elsewhere, environment=environment)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("bertviewer: error: ")
    assert "bertviewer report" in line


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_are_quick(elsewhere: Path, argument: str) -> None:
    result = bertviewer(elsewhere, argument, python=("-X", "importtime"))
    assert result.returncode == 0
    assert (f"bertviewer {__version__}" if argument == "--version" else "summary") in result.stdout
    # Each line of stderr ends with the name of an imported module.
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()
    }
    assert "argparse" in imported
    assert imported.isdisjoint({"torch", "transformers", "PySide6", "pyqtgraph", "numpy"})


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


def test_a_tokenizer_that_panics_is_one_line(elsewhere: Path, tiny_bert_folder: Path) -> None:
    model = elsewhere / "model"
    shutil.copytree(tiny_bert_folder, model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.save_pretrained(model)
    (model / "vocab.txt").unlink()
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    file = model / "tokenizer.json"
    document = json.loads(file.read_text())
    # A token that is put around texts and that there is none of: tokenizers panics, and writes
    # where it did to file descriptor 2.
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "X", "type_id": 0}}],
        "pair": [],
        "special_tokens": {},
    }
    file.write_text(json.dumps(document))
    line = error_of(elsewhere, "run", str(model), "a test")
    assert line == "the tokenizer cannot read this text: no entry found for key"


def test_a_closed_stderr_is_no_error_of_its_own(elsewhere: Path) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m bertviewer summary no-such-model 2>&-",
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        shell=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2


@pytest.mark.parametrize("name", ["a'b\"c d", "名前 %s{0}", "--task", " "], ids=ascii)
def test_folders_of_any_name(
    name: str, printed: Printed, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert_folder, tmp_path / name)
    assert "pretrained weights" in printed("summary", str(folder))
    assert "[CLS]" in printed("run", str(folder), "a test")
    assert printed("report", str(folder), "-o", "report.pdf") == ""


def test_a_path_that_is_not_utf_8(
    printed: Printed, tiny_bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(tiny_bert_folder, tmp_path / os.fsdecode(b"\xff\xfe"))
    assert "pretrained weights" in printed("summary", str(folder))
    assert printed("report", str(folder), "-o", "report.pdf") == ""
    # The library of the tokenizers takes no such path.
    assert main(["run", str(folder), "a test"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the tokenizer cannot be read" in line


def test_names_that_the_terminal_cannot_show_do_not_stop_the_output(elsewhere: Path) -> None:
    result = bertviewer(
        elsewhere, "summary", "bert-base-uncased", environment={"PYTHONIOENCODING": "ascii"}
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "Total params: 109,482,240" in result.stdout
