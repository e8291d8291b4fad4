"""What lies beside a model as its tokenizer is looked at before a library reads it."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviewer.app import main
from bertviewer.core.errors import UserError
from bertviewer.core.loading import open_model
from bertviewer.core.run import model_tokenizer
from bertviewer.core.run.activation_run import Sentence
from bertviewer.core.run.model_tokenizer import ModelTokenizer
from bertviewer.core.run.running import run_sentence
from bertviewer.core.run.tokenizer_files import (
    MAX_BYTES,
    READ_BY_TRANSFORMERS,
    SETTINGS,
    TEMPLATES,
    WITHOUT_VOCABULARY,
    check_tokenizer_files,
    has_tokenizer,
    lacks_tokenizer,
)
from bertviewer.core.source import parse_source
from tests.cli.commands import ROOT
from tests.core.formulas.formula_models import TINY

Put = Callable[[Path], None]


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as raised:
        check_tokenizer_files(folder)
    return str(raised.value)


def large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    ("put", "said"),
    [
        (lambda file: file.symlink_to("/etc/passwd"), "a link that leaves its folder, which is"),
        (lambda file: file.symlink_to("/dev/zero"), "a link that leaves its folder, which is"),
        (lambda file: file.symlink_to("nothing"), "No such file or directory"),
        (os.mkfifo, "not a regular file"),
        (Path.mkdir, "not a regular file"),
        (large, "too large for a tokenizer"),
    ],
    ids=["passwd", "zero", "nothing", "pipe", "folder", "large"],
)
def test_what_is_no_file_of_the_model(folder: Path, name: str, put: Put, said: str) -> None:
    (folder / name).unlink(missing_ok=True)
    put(folder / name)
    assert refusal(folder).startswith(f"{folder / name}: {said}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fast_tokenizer_files": ["../tokenizer.4.0.0.json"]}, "is not the name of a file"),
        ({"fast_tokenizer_files": "/etc/tokenizer.4.0.0.json"}, "is not the name of a file"),
        ({"fast_tokenizer_files": [3]}, "'3' is not the name of a file beside it"),
        ({"gguf_file": "/etc/passwd"}, "gguf_file names another file, which is not read"),
        ({"sp_model_kwargs": {"model_file": "/etc/passwd"}}, "model_file names another file"),
        ({"vocab": "/etc/passwd"}, "vocab names another file, which is not read"),
        ({"merges": "/etc/passwd"}, "merges names another file, which is not read"),
        ([], "the settings are not a JSON object"),
    ],
)
def test_settings_that_name_other_files(folder: Path, settings: object, said: str) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert said in refusal(folder)


@pytest.mark.parametrize("text", ["", "[" * 200_000, '{"a": ' + "9" * 5_000 + "}", "\xff"])
def test_settings_that_are_none(folder: Path, text: str) -> None:
    (folder / "tokenizer_config.json").write_text(text, encoding="latin-1")
    assert refusal(folder).startswith(f"{folder / 'tokenizer_config.json'}: bad settings: ")


def test_a_link_among_the_versions(folder: Path) -> None:
    (folder / "tokenizer.4.0.0.json").symlink_to("/etc/passwd")
    settings = {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert "tokenizer.4.0.0.json: a link that leaves its folder" in refusal(folder)


def test_templates_lie_in_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (folder / TEMPLATES).symlink_to(tmp_path / "else")
    assert refusal(folder) == f"{folder / TEMPLATES}: a link, which is not followed"
    (folder / TEMPLATES).unlink()
    (folder / TEMPLATES).mkdir()
    (folder / TEMPLATES / "a.jinja").symlink_to("/etc/passwd")
    assert "a.jinja: a link that leaves its folder" in refusal(folder)


def test_what_is_usual_is_fine(folder: Path) -> None:
    usual = {
        "model_max_length": int(1e30),
        "special_tokens_map_file": "/home/somebody/special_tokens_map.json",
        "gguf_file": None,
        "fast_tokenizer_files": ["tokenizer.json"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(usual))
    (folder / "merges.txt").symlink_to("vocab.txt")
    check_tokenizer_files(folder)


def test_the_command_says_it_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "vocab.txt").symlink_to("/etc/passwd")
    assert main(["run", str(folder), "a test"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert "vocab.txt: a link that leaves its folder" in line


def test_a_configuration_that_names_another_one_is_not_followed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.4.0.0.json").write_text("not read")
    config = json.loads((folder / "config.json").read_text())
    config["configuration_files"] = ["../config.4.0.0.json"]
    (folder / "config.json").write_text(json.dumps(config))
    assert main(["run", str(folder), "a test"]) == 0
    assert capsys.readouterr().err == ""


def test_every_file_that_transformers_knows_is_looked_at() -> None:
    known = set()
    for file in Path(transformers.__file__).parent.rglob("tokenization*.py"):
        for table in re.findall(r"VOCAB_FILES_NAMES = \{([^}]*)\}", file.read_text("utf-8")):
            known |= set(re.findall(r':\s*"([^"]+)"', table))
    assert len(known) > len(READ_BY_TRANSFORMERS) / 2
    assert known <= set(READ_BY_TRANSFORMERS)
    assert SETTINGS in READ_BY_TRANSFORMERS


def test_the_tokenizers_without_a_vocabulary_are_known() -> None:
    found = set()
    for name in transformers.models.auto.tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        with suppress(ImportError, AttributeError):  # some are there with other libraries only
            if name and not getattr(transformers, name).vocab_files_names:
                found.add(name)
    assert found == set(WITHOUT_VOCABULARY)


def test_one_that_reads_bytes_needs_no_vocabulary(tmp_path: Path) -> None:
    values = {**TINY["t5"], "vocab_size": 384}
    config = transformers.AutoConfig.for_model("t5", **values)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    source = parse_source(str(tmp_path))
    assert not has_tokenizer(source)
    for bad in ("{", "[]", "[" * 100_000, '{"tokenizer_class": ["ByT5Tokenizer"]}'):
        (tmp_path / SETTINGS).write_text(bad)
        assert not has_tokenizer(source)
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)
    assert has_tokenizer(source)
    assert not lacks_tokenizer(source)
    run = run_sentence(open_model(source), Sentence("ab"))
    assert [token.text for token in run.tokens if token.segment == 0] == ["a", "b", "</s>"]


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ((), "sentencepiece and protobuf"),
        (("sentencepiece",), "protobuf"),
    ],
)
def test_what_a_sentencepiece_model_is_read_with(
    installed: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_tokenizer, "_is_installed", installed.__contains__)
    (tmp_path / "spm.model").write_bytes(b"not read")
    config = {"model_type": "deberta-v2", **TINY["deberta-v2"]}
    with pytest.raises(UserError) as raised:
        ModelTokenizer(tmp_path, config)
    problem = f"{tmp_path}: the tokenizer cannot be read"
    command = "pip install 'bertviewer[sentencepiece]'"
    assert str(raised.value) == f"{problem}: spm.model can only be read with {said}: {command}"


def test_a_module_inside_of_what_is_not_there() -> None:
    assert not model_tokenizer._is_installed("no_such_package.inner")
    assert not model_tokenizer._is_installed("no_such_package")
    assert model_tokenizer._is_installed("json.decoder")


def test_what_is_to_be_installed_is_an_extra_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {
        f"bertviewer[{name}]": what for name, what in project["optional-dependencies"].items()
    }
    names = {re.split("[<>=]", what)[0] for what in extras[model_tokenizer._EXTRA]}
    assert names == set(model_tokenizer._SENTENCEPIECE)


@pytest.mark.parametrize(
    ("family", "files", "said"),
    [
        ("bert", {"vocab.json": "{}"}, "BertTokenizer is made from vocab.txt or tokenizer.json"),
        ("albert", {"vocab.txt": "a"}, "AlbertTokenizer is made from spiece.model or tokenizer"),
        ("gpt2", {"vocab.txt": "a"}, "GPT2Tokenizer is made from vocab.json or tokenizer.json"),
        ("bert", {"vocab.txt": "a", SETTINGS: '{"tokenizer_class": "T5Tokenizer"}'}, "T5Tokenizer"),
    ],
)
def test_one_that_would_know_no_words_is_refused(
    family: str, files: dict[str, str], said: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=f"{said}.*, and none is there$"):
        ModelTokenizer(tmp_path, {"model_type": family, **TINY[family]})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tokenizer_class": "NoSuchTokenizer"}, "tokenizer_class 'NoSuchTokenizer' is not known"),
        ({"tokenizer_class": 5}, "tokenizer_class is 5, which is not the name of a class"),
    ],
)
def test_a_class_that_is_none(settings: dict[str, Any], said: str, folder: Path) -> None:
    (folder / SETTINGS).write_text(json.dumps(settings))
    with pytest.raises(UserError, match=said):
        run_sentence(open_model(parse_source(str(folder))), Sentence("a test"))


@pytest.mark.parametrize("name", ["BertModel", "BertModelFast", "Trainer", "models"])
@pytest.mark.parametrize("place", [SETTINGS, "config.json"])
def test_a_class_that_would_read_other_things(name: str, place: str, folder: Path) -> None:
    # A model's class would read this pickle in this process, though nobody has agreed to it.
    (folder / "pytorch_model.bin").write_bytes(b"no pickle")
    (folder / "model.safetensors").unlink()
    file = folder / place
    file.write_text(json.dumps({**json.loads(file.read_text()), "tokenizer_class": name}))
    if place != SETTINGS:
        (folder / SETTINGS).unlink()
    config = json.loads((folder / "config.json").read_text())
    with pytest.raises(UserError, match=f"the tokenizer_class '{name}' is no tokenizer's$"):
        ModelTokenizer(folder, config)


def test_a_class_that_is_not_needed_is_not_blamed(folder: Path) -> None:
    (folder / SETTINGS).write_text('{"tokenizer_class": "NoSuchTokenizer"}')
    (folder / "tokenizer.json").write_text("{nothing")
    with pytest.raises(UserError, match="Expecting property name"):
        ModelTokenizer(folder, {})


def test_an_empty_tokenizer_is_told_by_more_than_a_key(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"cannot be read: KeyError: 'added_tokens'$"):
        run_sentence(open_model(parse_source(str(folder))), Sentence("a test"))


def test_words_without_merges(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "vocab.json").write_text('{"a": 0}')
    (folder / SETTINGS).write_text('{"tokenizer_class": "RobertaTokenizer"}')
    with pytest.raises(UserError, match=r"cannot be read: there is no merges.txt beside its vocab"):
        run_sentence(open_model(parse_source(str(folder))), Sentence("a test"))
