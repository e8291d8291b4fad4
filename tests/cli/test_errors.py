"""Errors are one line on stderr, with exit status 2, or 1 for a bug."""

import json
import shutil
from pathlib import Path

import pytest

from bertviewer.app import ERROR, main
from bertviewer.core.building.backend import transformers
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.tokenization.sentence import EMPTY
from tests.cli.commands import bertviewer, python_of, shell
from tests.cli.conftest import Printed

REPORT = ("report", "demo", "-o", "out.pdf")
SENTENCE = (*REPORT, "--sentence", "a")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("summary", "no-such-model"), "unknown model 'no-such-model'"),
        (("run", "gpt2", "hello"), "gpt2 has no weights; use --random-weights"),
        (("no-such-model", "--nonsense"), "--nonsense"),
        (("--task", "poetry"), "invalid choice: 'poetry'"),
        (("summary", "gpt2", "--task", "next-sentence"), "gpt2 has no head"),
        (("summary", "gpt2", "--task", "poetry"), "invalid choice: 'poetry'"),
        (("summary", "gpt2", "--depth", "-1"), "is not a valid number of levels"),
        (("summary", "gpt2", "--depth", "two"), "--depth"),
        (("summary",), "MODEL"),
        (("summary", "gpt2", "--nonsense"), "--nonsense"),
        (("run", "demo", ""), EMPTY.format("sentence")),
        (("run", "demo", "  "), EMPTY.format("sentence")),
        (("run", "demo", "word " * 600), "too long: it has 602 tokens"),
        (("run", "demo", "one", "--pair", " "), EMPTY.format("second sentence")),
        (("run", "demo", "a", "--device", "cuda:97"), "no device 'cuda:97' here, but cpu"),
        (("run", "gpt2", "a", "--random-weights", "--offload"), "none can be read layer by layer"),
        (("flow", "demo", "encoder.layer.6"), "demo: no module 'encoder.layer.6'; did you mean e"),
        (("flow", "demo", "encoder.layer"), "it is not called itself; only its submodules are"),
        (("report", "demo"), "-o/--output"),
        (("report", "demo", "-o", "absent/out.pdf"), "absent"),
        (("report", "demo", "-o", "."), "folder"),
        (("report", "demo", "-o", "x" * 300), "File name too long"),
        ((*REPORT, "--pair", "two"), "--pair needs --sentence"),
        ((*REPORT, "--sentence", ""), EMPTY.format("sentence")),
        ((*REPORT, "--check"), "--check needs --sentence"),
        ((*REPORT, "--check-module", "a"), "--check needs --sentence"),
        ((*REPORT, "--against", "two"), "--against needs --sentence"),
        ((*REPORT, "--statistic", "sum"), "unknown statistic 'sum'"),
        ((*REPORT, "--compare", "gpt2", "--compare-from", "gpt2"), "either --compare or"),
        ((*SENTENCE, "--against-pair", "b"), "need --against, the sentence"),
        ((*SENTENCE, "--against", "b", "--against-saved", "c"), "there is only one baseline"),
        # Control characters are escaped.
        (("summary", "no\nsuch\u2028model\x1b[2J"), r"unknown model 'no\nsuch\u2028model\x1b[2J'"),
        (("summary", "gpt2", "--task", "a\nb\x85c"), "invalid choice"),
        (("summary", "gpt2", "--\nnonsense\x1b]0;x\x07"), r"\x1b]0;x\x07"),
        (("summary", "gpt2", "--depth", "1\r\n2"), "is not a valid number of levels"),
        (("corpus", "gpt2", "a", "-o", "b", "--limit", "\n"), "invalid int value"),
        (("report", "demo", "-o", "a\n\x1b[2J/out.pdf"), r"a \x1b[2J/out.pdf"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[str, ...], message: str, refused: Printed, elsewhere: Path
) -> None:
    assert message in refused(*arguments)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_report_does_not_replace_files_of_the_model(
    name: str, tiny_bert_folder: Path, refused: Printed
) -> None:
    file = tiny_bert_folder / name
    before = file.read_bytes()
    assert IS_THE_MODELS in refused("report", tiny_bert_folder, "-o", file)
    assert file.read_bytes() == before


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch, refused: Printed) -> None:
    def fail(options: object) -> None:
        raise ImportError("a shared object\nis missing\x1b[2J")

    monkeypatch.setattr("bertviewer.cli.commands.execute", fail)
    assert r"a shared object is missing\x1b[2J" in refused("presets")


def test_a_bug_is_logged(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("bertviewer.cli.commands.execute", fail)
    logs = elsewhere / "logs"
    monkeypatch.setattr("bertviewer.core.util.log.user_log_path", lambda *_, **__: logs)
    assert main(["presets"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"{ERROR}internal error; details were saved to {logs / 'bertviewer.log'}"
    assert "RuntimeError: a bug" in (logs / "bertviewer.log").read_text()


def test_no_display(elsewhere: Path) -> None:
    environment = {"QT_QPA_PLATFORM": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    result = bertviewer(elsewhere, environment=environment)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(ERROR)
    assert "bertviewer report" in line


def test_a_tokenizer_that_panics(elsewhere: Path, tiny_bert_folder: Path, refused: Printed) -> None:
    model = elsewhere / "model"
    shutil.copytree(tiny_bert_folder, model)
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(model)
    (model / "vocab.txt").unlink()
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    file = model / "tokenizer.json"
    document = json.loads(file.read_text())
    # The template uses a special token that does not exist: tokenizers panics, and writes a
    # message to file descriptor 2.
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "X", "type_id": 0}}],
        "pair": [],
        "special_tokens": {},
    }
    file.write_text(json.dumps(document))
    line = "the tokenizer cannot read this text: no entry found for key"
    assert refused("run", model, "a test") == line


def test_messages_of_libraries_are_not_printed(elsewhere: Path) -> None:
    config = {"model_type": "bert", "use_return_dict": "\x1b[31mRED\x1b]0;title\x07"}
    (elsewhere / "config.json").write_text(json.dumps(config))
    done = bertviewer(elsewhere, "summary", "config.json")
    assert done.stderr == (
        f"{ERROR}config.json: bad configuration: the key 'use_return_dict' clashes with an "
        "attribute of BertConfig\n"
    )


def test_a_deleted_working_directory(elsewhere: Path) -> None:
    code = (
        "import os, sys; os.rmdir(os.getcwd()); from bertviewer.app import main; sys.exit(main())"
    )
    (elsewhere / "gone").mkdir()
    done = python_of(elsewhere / "gone", "-c", code, "presets")
    message = "the working directory no longer exists; start bertviewer from another one"
    assert (done.returncode, done.stderr) == (2, f"{ERROR}{message}\n")


def test_a_closed_stderr(elsewhere: Path) -> None:
    assert shell(elsewhere, "bertviewer summary no-such-model 2>&-").returncode == 2


def test_a_model_that_cannot_run(elsewhere: Path, refused: Printed) -> None:
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    odd = {"chunk_size_feed_forward": "a", "intermediate_size": 40}
    file = elsewhere / "config.json"
    file.write_text(json.dumps({"model_type": "bert", **sizes, **odd}))
    reason = "the model cannot run this sentence: encoder.layer.0 (BertLayer): TypeError: "
    assert refused("run", file, "hello", "--random-weights").startswith(f"{file}: {reason}")
    # torch warns of tensors without elements.
    file.write_text(json.dumps({"model_type": "bert", **sizes, "intermediate_size": 0}))
    done = bertviewer(elsewhere, "summary", "config.json")
    assert "BertIntermediate" in done.stdout
    assert done.stderr == ""
