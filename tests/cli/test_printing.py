"""Output is safe for any terminal, pipe and file name."""

import json
import os
import shutil
from pathlib import Path

import pytest

from bertviewer.core.building.backend import transformers
from tests.cli.commands import bertviewer, shell
from tests.cli.conftest import Printed

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202enext"


@pytest.fixture
def evil(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a model with control characters in its path, configuration and vocabulary."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / EVIL))
    config = json.loads((folder / "config.json").read_text())
    config |= {EVIL: EVIL, "id2label": {"0": EVIL, "1": "fine"}}
    (folder / "config.json").write_text(json.dumps(config))
    words = (folder / "vocab.txt").read_text().replace("\n[UNK]\n", f"\n{EVIL}\n")
    (folder / "vocab.txt").write_text(words)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "unk_token": EVIL})
    )
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("summary", "--format", "text", "--parameters"),
        ("summary", "--format", "markdown", "--parameters"),
        ("summary", "--format", "csv", "--parameters"),
        ("summary", "--format", "json"),
        ("run", "a test 名"),
        ("run", "a test 名", "--format", "json"),
        ("compare", "bert-base-uncased"),
        ("compare", "bert-base-uncased", "--format", "json"),
    ],
    ids=" ".join,
)
def test_control_characters_are_escaped(
    arguments: tuple[str, ...], evil: Path, printed: Printed
) -> None:
    out = printed(arguments[0], evil, *arguments[1:])
    assert all(line.isprintable() for line in out.split("\n"))
    if "json" in arguments:
        escaped = json.dumps(EVIL, ensure_ascii=False)[1:-1]
        assert escaped in json.dumps(json.loads(out), ensure_ascii=False)
    elif "csv" not in arguments:
        assert "\\x1b" in out


def test_control_characters_in_errors_are_escaped(evil: Path, refused: Printed) -> None:
    (evil / "config.json").write_text("{")
    assert refused("summary", evil).isprintable()


def test_a_closed_pipe_is_not_an_error(elsewhere: Path) -> None:
    result = shell(elsewhere, "bertviewer summary demo | head -1")
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 1


def test_messages_of_libraries_are_not_in_the_output(
    elsewhere: Path, tiny_bert_folder: Path
) -> None:
    model = elsewhere / "model"
    shutil.copytree(tiny_bert_folder, model)
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(model)
    file = model / "tokenizer.json"
    document = json.loads(file.read_text())
    # tokenizers prints "Ignored unknown kwarg option" to file descriptor 1.
    document["added_tokens"][0]["unheard_of"] = True
    file.write_text(json.dumps(document))
    done = bertviewer(elsewhere, "run", "model", "a test", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["schema"] == "bertviewer.run/1"


@pytest.mark.parametrize(
    "name", ["a'b\"c d", "名前 %s{0}", "--task", " ", os.fsdecode(b"\xff\xfe")], ids=ascii
)
def test_any_folder_name(
    name: str, printed: Printed, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert_folder, tmp_path / name)
    assert "pretrained weights" in printed("summary", folder)
    assert "[CLS]" in printed("run", folder, "a test")
    assert printed("report", folder, "-o", "report.pdf", "--sections=model") == ""


def test_characters_that_the_encoding_lacks_are_escaped(elsewhere: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    result = bertviewer(elsewhere, "summary", "bert-base-uncased", environment=ascii_only)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Total params: 109,482,240" in result.stdout
