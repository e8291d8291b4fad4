"""Which files make a tokenizer, and why others cannot be loaded."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviewer.app import main
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization import loading
from bertviewer.core.tokenization.files import (
    SETTINGS,
    WITHOUT_VOCABULARY,
    has_tokenizer,
    lacks_tokenizer,
)
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.installation import extra_advice
from tests.core.formulas.formula_models import TINY
from tests.tools.refusals import refusals


def test_other_files_that_a_configuration_names_are_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / "config.4.0.0.json").write_text("not read")
    config = json.loads((folder / "config.json").read_text())
    config["configuration_files"] = ["../config.4.0.0.json"]
    (folder / "config.json").write_text(json.dumps(config))
    assert main(["run", str(folder), "a test"]) == 0
    assert capsys.readouterr().err == ""


def test_classes_without_a_vocabulary_are_known() -> None:
    found = set()
    for name in transformers.models.auto.tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        with suppress(ImportError, AttributeError):  # some need other packages
            if name and not getattr(transformers, name).vocab_files_names:
                found.add(name)
    assert found == set(WITHOUT_VOCABULARY)


def test_settings_are_enough_for_classes_without_a_vocabulary(tmp_path: Path) -> None:
    config = transformers.AutoConfig.for_model("t5", **{**TINY["t5"], "vocab_size": 384})
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    source = parse_source(str(tmp_path))
    assert not has_tokenizer(source)
    for invalid in ("{", "[]", "[" * 100_000, '{"tokenizer_class": ["ByT5Tokenizer"]}'):
        (tmp_path / SETTINGS).write_text(invalid)
        assert not has_tokenizer(source)
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)
    assert has_tokenizer(source)
    assert not lacks_tokenizer(source)
    run = run_sentence(open_model(source), Sentence("ab"))
    assert [token.text for token in run.tokens if token.segment == 0] == ["a", "b", "</s>"]


@pytest.mark.parametrize(
    ("installed", "missing"),
    [((), "sentencepiece and protobuf"), (("sentencepiece",), "protobuf")],
)
def test_missing_packages_for_sentencepiece(
    installed: tuple[str, ...], missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in loading.SENTENCEPIECE:
        monkeypatch.setitem(loading.SENTENCEPIECE, name, lambda name=name: name in installed)
    (tmp_path / "spm.model").write_bytes(b"not read")
    (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}')
    with pytest.raises(UserError) as raised:
        loading.load_tokenizer(tmp_path, has_code=False)
    command = extra_advice("sentencepiece")
    assert str(raised.value) == f"spm.model can only be read with {missing}; install: {command}"


def named(name: object) -> str:
    return json.dumps({"tokenizer_class": name})


INVALID: dict[str, tuple[str, dict[str, str]]] = {
    # The vocabulary of another class: transformers would load an empty one.
    "bert with vocab.json": ("bert", {"vocab.json": "{}"}),
    "gpt2 with vocab.txt": ("gpt2", {"vocab.txt": "a"}),
    "albert with vocab.txt": ("albert", {"vocab.txt": "a", SETTINGS: named("AlbertTokenizer")}),
    "t5's class with vocab.txt": ("bert", {"vocab.txt": "a", SETTINGS: named("T5Tokenizer")}),
    "vocab.json without merges": (
        "roberta", {"vocab.json": '{"a": 0}', SETTINGS: named("RobertaTokenizer")}
    ),
    # A class that is not a tokenizer's would read other files, such as the weights.
    **{
        f"the class {name}": ("bert", {"vocab.txt": "a", SETTINGS: named(name)})
        for name in ("BertModel", "BertModelFast", "Trainer", "models", "NoSuchTokenizer")
    },
    # The class is not needed, so it is not the reason.
    "an invalid tokenizer.json": (
        "bert", {"tokenizer.json": "{nothing", SETTINGS: named("NoSuchTokenizer")}
    ),
    "a tokenizer.json without content": ("bert", {"tokenizer.json": '{"model": {}}'}),
}  # fmt: skip


def test_tokenizers_that_cannot_be_loaded_have_a_reason(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    def load(case: tuple[str, dict[str, str]]) -> object:
        family, files = case
        for file in tmp_path.iterdir():
            file.unlink()
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        return ModelTokenizer(tmp_path, {"model_type": family, **TINY[family]})

    golden("refusals/tokenizer-classes.txt", refusals(load, INVALID, tmp_path))


def test_a_class_in_the_configuration_must_be_a_tokenizer(folder: Path) -> None:
    (folder / SETTINGS).unlink()
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    with pytest.raises(UserError, match="the tokenizer_class 'BertModel' is not a tokenizer class"):
        ModelTokenizer(folder, {**config, "tokenizer_class": "BertModel"})


def test_a_chinese_albert_has_the_tokenizer_of_bert(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "你", "好", "##好"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    tokenizer = ModelTokenizer(tmp_path, {"model_type": "albert", **TINY["albert"]})
    assert tokenizer.kind == "bert"
    assert [token.id for token in tokenizer.tokenize(Sentence("你好"))] == [2, 5, 6, 3]
