"""Errors: exit statuses, one line on stderr, nothing on stdout."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import ERROR, main
from bertviewer.core.building.backend import transformers
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.tokenization.sentence import EMPTY
from tests.cli.commands import ROOT, bertviewer, error_of, output_of, python_of


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("summary", "no-such-model"), "unknown model 'no-such-model'"),
        (("run", "gpt2", "hello"), "gpt2 has no weights; use --random-weights"),
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
        (("summary", "gpt2", "--depth", "-1"), "is not a valid number of levels"),
        (("summary", "gpt2", "--depth", "two"), "--depth"),
        (("summary",), "MODEL"),
        (("summary", "gpt2", "--nonsense"), "--nonsense"),
        (("run", "demo", ""), EMPTY.format("sentence")),
        (("run", "demo", "word " * 600), "too long: it has 602 tokens"),
        (("run", "demo", "  "), EMPTY.format("sentence")),
        (("run", "demo", "one", "--pair", " "), EMPTY.format("second sentence")),
        (("report", "demo"), "-o/--output"),
        (("report", "demo", "-o", "absent/out.pdf"), "absent"),
        (("report", "demo", "-o", "."), "folder"),
        (("report", "demo", "-o", "x" * 300), "File name too long"),
        (("report", "demo", "-o", "out.pdf", "--pair", "two"), "--pair needs --sentence"),
        (("report", "demo", "-o", "out.pdf", "--sentence", ""), EMPTY.format("sentence")),
        (("report", "demo", "-o", "out.pdf", "--check"), "--check needs --sentence"),
        (("report", "demo", "-o", "out.pdf", "--check-module", "a"), "--check needs --sentence"),
        (("report", "demo", "-o", "out.pdf", "--against", "two"), "--against needs --sentence"),
        (("report", "demo", "-o", "a.pdf", "--sentence", "a", "--against-pair", "b"), "--against"),
        (("report", "demo", "-o", "out.pdf", "--statistic", "sum"), "unknown statistic 'sum'"),
        (
            ("report", "demo", "-o", "a.pdf", "--compare", "gpt2", "--compare-from", "gpt2"),
            "either",
        ),
        (("summary", "no\nsuch\u2028model\x1b[2J"), r"unknown model 'no\nsuch\u2028model\x1b[2J'"),
        (("summary", "gpt2", "--task", "a\nb\x85c"), "invalid choice"),
        (("summary", "gpt2", "--\nnonsense\x1b]0;x\x07"), r"\x1b]0;x\x07"),
        (("summary", "gpt2", "--depth", "1\r\n2"), "is not a valid number of levels"),
        (("corpus", "gpt2", "a", "-o", "b", "--limit", "\n"), "invalid int value"),
        (("report", "demo", "-o", "a\n\x1b[2J/out.pdf"), r"a \x1b[2J/out.pdf"),
        (("run", "demo", "a", "--device", "cuda:97"), "no device 'cuda:97' here, but cpu"),
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
    assert line.startswith(ERROR)
    assert message in line
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_the_models_own_files_are_no_place_for_its_report(
    name: str, tiny_bert_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tiny_bert_folder / name
    before = file.read_bytes()
    assert main(["report", str(tiny_bert_folder), "-o", str(file)]) == 2
    assert IS_THE_MODELS in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_line_that_no_library_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> None:
        raise ImportError("a shared object\nis missing\x1b[2J")

    monkeypatch.setattr("bertviewer.cli.commands.execute", fail)
    assert main(["presets"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert r"a shared object is missing\x1b[2J" in line


def test_our_own_bug_is_logged(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("bertviewer.cli.commands.execute", fail)
    monkeypatch.setattr(
        "bertviewer.core.util.log.user_log_path", lambda *_, **__: elsewhere / "logs"
    )
    assert main(["presets"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    log = elsewhere / "logs" / "bertviewer.log"
    assert line == f"{ERROR}internal error; details were saved to {log}"
    assert "RuntimeError: a bug" in log.read_text()


def test_no_display_is_one_line_that_says_what_to_do(elsewhere: Path) -> None:
    environment = {"QT_QPA_PLATFORM": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    result = bertviewer(elsewhere, environment=environment)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(ERROR)
    assert "bertviewer report" in line


def test_a_tokenizer_that_panics_is_one_line(
    elsewhere: Path, tiny_bert_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
    assert main(["run", str(model), "a test"]) == 2
    line = "the tokenizer cannot read this text: no entry found for key"
    assert capfd.readouterr() == ("", f"{ERROR}{line}\n")


def test_what_a_library_writes_before_it_refuses_is_not_passed_on(elsewhere: Path) -> None:
    config = {"model_type": "bert", "use_return_dict": "\x1b[31mRED\x1b]0;title\x07"}
    (elsewhere / "config.json").write_text(json.dumps(config))
    line = error_of(elsewhere, "summary", "config.json")
    assert line == (
        "config.json: bad configuration: the key 'use_return_dict' clashes with an attribute of "
        "BertConfig"
    )


def test_a_folder_that_is_gone_is_one_line(elsewhere: Path) -> None:
    gone = elsewhere / "gone"
    gone.mkdir()
    code = (
        "import os, sys; os.rmdir(os.getcwd()); from bertviewer.app import main; sys.exit(main())"
    )
    done = python_of(gone, "-c", code, "presets")
    assert done.returncode == 2
    message = "the working directory no longer exists; start bertviewer from another one"
    assert done.stderr == f"{ERROR}{message}\n"


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


def test_an_odd_model_that_cannot_run_is_one_line(
    elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    odd = {"chunk_size_feed_forward": "a", "intermediate_size": 40}
    file = elsewhere / "config.json"
    file.write_text(json.dumps({"model_type": "bert", **sizes, **odd}))
    assert main(["run", str(file), "hello", "--random-weights"]) == 2
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    reason = "the model cannot run this sentence: encoder.layer.0 (BertLayer): TypeError: "
    assert line.startswith(f"{ERROR}{file}: {reason}")
    assert out == ""
    # torch warns of tensors without elements, in words for programmers.
    file.write_text(json.dumps({"model_type": "bert", **sizes, "intermediate_size": 0}))
    assert "BertIntermediate" in output_of(elsewhere, "summary", "config.json")
