"""Which files make a tokenizer, and what is said of those that do not."""

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviewer.app import main
from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization import loading
from bertviewer.core.tokenization.files import (
    READ_BY_TRANSFORMERS,
    SETTINGS,
    WITHOUT_VOCABULARY,
    has_tokenizer,
    lacks_tokenizer,
)
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.installation import extra_advice
from tests.core.formulas.formula_models import TINY


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


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


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, NOT_REGULAR),
    "a folder": (Path.mkdir, NOT_REGULAR),
    "a link to nothing": (lambda file: file.symlink_to("nothing"), "No such file or directory"),
    "a link that leaves": (lambda file: file.symlink_to("/dev/zero"), LINKS_OUTSIDE),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("name", ["vocab.txt", "spiece.model"])
def test_a_vocabulary_that_is_no_file_is_named(name: str, kind: str, folder: Path) -> None:
    for file in ("vocab.txt", "tokenizer.json"):
        (folder / file).unlink(missing_ok=True)
    make, said = UNREADABLE[kind]
    make(folder / name)
    model = open_model(parse_source(str(folder)))
    with pytest.raises(UserError, match=f"{re.escape(str(folder / name))}: {said}"):
        run_sentence(model, Sentence("a test"))


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
    for name in loading.SENTENCEPIECE:
        monkeypatch.setitem(loading.SENTENCEPIECE, name, lambda name=name: name in installed)
    (tmp_path / "spm.model").write_bytes(b"not read")
    (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}')
    with pytest.raises(UserError) as raised:
        loading.load_tokenizer(tmp_path, has_code=False)
    command = extra_advice("sentencepiece")
    assert str(raised.value) == f"spm.model can only be read with {said}; install: {command}"


@pytest.mark.parametrize(
    ("family", "files", "said"),
    [
        ("bert", {"vocab.json": "{}"}, "BertTokenizer is made from vocab.txt or tokenizer.json"),
        (
            "albert",
            {"vocab.txt": "a", SETTINGS: '{"tokenizer_class": "AlbertTokenizer"}'},
            "AlbertTokenizer is made from spiece.model or tokenizer",
        ),
        ("gpt2", {"vocab.txt": "a"}, "GPT2Tokenizer is made from vocab.json or tokenizer.json"),
        ("bert", {"vocab.txt": "a", SETTINGS: '{"tokenizer_class": "T5Tokenizer"}'}, "T5Tokenizer"),
    ],
)
def test_one_that_would_know_no_words_is_refused(
    family: str, files: dict[str, str], said: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=f"{said}.*, which are missing$"):
        ModelTokenizer(tmp_path, {"model_type": family, **TINY[family]})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tokenizer_class": "NoSuchTokenizer"}, "tokenizer_class 'NoSuchTokenizer' is unknown"),
        ({"tokenizer_class": 5}, "'tokenizer_class' is 5, not a word"),
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
    with pytest.raises(UserError, match=f"the tokenizer_class '{name}' is not a tokenizer class$"):
        ModelTokenizer(folder, config)


def test_a_chinese_albert_is_read_by_berts(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "你", "好", "##好"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    tokenizer = ModelTokenizer(tmp_path, {"model_type": "albert", **TINY["albert"]})
    assert tokenizer.kind == "bert"
    tokens = tokenizer.tokenize(Sentence("你好"))
    assert [token.id for token in tokens] == [2, 5, 6, 3]


def test_a_class_that_is_not_needed_is_not_blamed(folder: Path) -> None:
    (folder / SETTINGS).write_text('{"tokenizer_class": "NoSuchTokenizer"}')
    (folder / "tokenizer.json").write_text("{nothing")
    with pytest.raises(UserError, match="Expecting property name"):
        ModelTokenizer(folder, {})


def test_an_empty_model_is_told_by_more_than_a_key(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": {}}')
    with pytest.raises(UserError, match=r"cannot be read: KeyError: 'added_tokens'"):
        run_sentence(open_model(parse_source(str(folder))), Sentence("a test"))


def test_words_without_merges(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "vocab.json").write_text('{"a": 0}')
    (folder / SETTINGS).write_text('{"tokenizer_class": "RobertaTokenizer"}')
    with pytest.raises(UserError, match=r"cannot be read: merges.txt is missing next to vocab"):
        run_sentence(open_model(parse_source(str(folder))), Sentence("a test"))
