"""transformers gets a copy of a tokenizer's files, in which nothing names another file."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import main
from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.files import MAX_BYTES, READ_BY_TRANSFORMERS, SETTINGS
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.private_copy import write_private_copy
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from tests.tools.refusals import refusals

PATH = "/etc/passwd"
TOKENS_MAP, TOKENIZER = "special_tokens_map.json", "tokenizer.json"


def copied(folder: Path, config: dict[str, Any] | None = None) -> dict[str, str]:
    """Return the files of a private copy with their contents."""
    target = folder.with_name("copy")
    target.mkdir(exist_ok=True)
    write_private_copy(folder, config or {}, target)
    return {file.name: file.read_text("utf-8") for file in target.iterdir()}


def write_large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda file: file.symlink_to(PATH), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("/dev/zero"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("nothing"), "No such file or directory"),
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (write_large, "too large for a tokenizer"),
    ],
    ids=["outside", "device", "nothing", "pipe", "folder", "large"],
)
def test_only_regular_files_of_the_model_are_copied(
    tmp_path: Path, create: Callable[[Path], None], message: str
) -> None:
    for number, name in enumerate(READ_BY_TRANSFORMERS):
        file = tmp_path / str(number) / name
        file.parent.mkdir()
        create(file)
        with pytest.raises(UserError) as raised:
            copied(file.parent)
        assert str(raised.value).startswith(f"{file}: {message}")


def test_names_of_files_are_not_copied(folder: Path) -> None:
    names = ("vocab_file", "merges_file", "tokenizer_file", "gguf_file", "vocab", "merges",
             "name_or_path", "special_tokens_map_file", "chat_template", "custom")  # fmt: skip
    tables = {
        "init_inputs": [PATH],
        "sp_model_kwargs": {"model_file": PATH, "alpha": 0.5},
        "mecab_kwargs": {"mecab_option": f"-d {PATH}"},
        "vocab_file": 0,  # the standard input
    }
    kept = {"do_lower_case": False, "unk_token": PATH}  # a token is looked up in the vocabulary
    for name in (SETTINGS, TOKENS_MAP):
        (folder / name).write_text(json.dumps({**dict.fromkeys(names, PATH), **tables, **kept}))
    files = copied(folder)
    for name in (SETTINGS, TOKENS_MAP):
        assert json.loads(files[name]) == {
            **kept,
            "sp_model_kwargs": {"alpha": 0.5},
            "mecab_kwargs": {},
        }


INVALID: tuple[tuple[str, object], ...] = (
    (SETTINGS, {"fast_tokenizer_files": ["../tokenizer.4.0.0.json"]}),
    (SETTINGS, {"fast_tokenizer_files": "/etc/tokenizer.4.0.0.json"}),
    (SETTINGS, {"fast_tokenizer_files": [3]}),
    (SETTINGS, {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}),  # a link to another folder
    (SETTINGS, {"padding_side": PATH}),
    (SETTINGS, {"src_lang": "..\\x"}),
    (SETTINGS, {"do_lower_case": "yes"}),
    (SETTINGS, {"model_max_length": "9"}),
    (SETTINGS, {"tokenizer_class": 5}),
    (SETTINGS, {"unk_token": 5}),
    (SETTINGS, {"unk_token": {"content": 5}}),
    (SETTINGS, {"extra_special_tokens": {"vocab_file": "a"}}),
    (SETTINGS, {"added_tokens_decoder": {"a": {"content": "x"}}}),
    (SETTINGS, {"added_tokens_decoder": {"1": "x"}}),
    (SETTINGS, []),
    (SETTINGS, ""),
    (SETTINGS, "[" * 200_000),
    (SETTINGS, '{"a": ' + "9" * 5_000 + "}"),
    (SETTINGS, "\xff"),
    (TOKENS_MAP, {"langs": [["en"]]}),
    ("added_tokens.json", {"<x>": PATH}),
    ("byte_maps.json", {"decompose_map": PATH}),
    (TOKENIZER, {}),
    (TOKENIZER, []),
    (TOKENIZER, {"model": {"vocab": PATH}}),
    (TOKENIZER, {"model": {"merges": PATH}}),
)


def test_invalid_files_are_refused(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.4.0.0.json").symlink_to(PATH)

    def copy(case: tuple[str, object]) -> object:
        name, content = case
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="latin-1")
        try:
            return copied(folder)
        finally:
            (folder / name).unlink()

    cases = {f"{name} of {str(content)[:80]!r}": (name, content) for name, content in INVALID}
    golden("refusals/tokenizers.txt", refusals(copy, cases, folder))


def test_the_file_for_this_version_of_transformers_is_copied(folder: Path) -> None:
    names = [f"tokenizer.{version}.json" for version in ("4.0.0", "5.1.0", "99", "x")]
    for name in names:
        (folder / name).write_text(json.dumps({"model": {}, "version": name}))
    (folder / SETTINGS).write_text(json.dumps({"fast_tokenizer_files": names}))
    assert json.loads(copied(folder)[TOKENIZER])["version"] == "tokenizer.5.1.0.json"


def test_the_configuration_is_reduced_to_what_selects_the_tokenizer(tmp_path: Path) -> None:
    part = {"model_type": "bert", "tokenizer_class": 5}
    config = {"model_type": "encoder-decoder", "backbone": PATH, "encoder": part, "decoder": []}
    assert json.loads(copied(tmp_path / "nothing", config)["config.json"]) == {
        "model_type": "encoder-decoder",
        "encoder": {"model_type": "bert"},
    }


def test_usual_settings_are_copied(folder: Path) -> None:
    usual = {
        "model_max_length": int(1e30),
        "added_tokens_decoder": {"0": {"content": "[PAD]", "special": True, "lstrip": False}},
        "mask_token": {"__type": "AddedToken", "content": "[MASK]", "normalized": False},
        "additional_special_tokens": ["<a>", {"content": "<b>", "rstrip": True}],
        "extra_special_tokens": {"image_token": "<image>"},
        "cls_token_box": [0, 0, 0, 0],
        "add_prefix_space": None,
        "tgt_lang": "zho_Hans",
        "tokenizer_class": "BertTokenizerFast",
    }
    (folder / SETTINGS).write_text(json.dumps(usual))
    (folder / "merges.txt").symlink_to("vocab.txt")
    files = copied(folder)
    assert json.loads(files[SETTINGS]) == usual
    assert files["merges.txt"] == (folder / "vocab.txt").read_text()


@pytest.mark.parametrize("settings", [{}, {"tokenizer_class": "MyTokenizer"}])
def test_python_code_of_the_model_is_never_run(folder: Path, settings: dict[str, str]) -> None:
    code = {"auto_map": {"AutoTokenizer": ["code.MyTokenizer", None]}}
    (folder / SETTINGS).write_text(json.dumps({**settings, **code}))
    family = {} if settings else {"model_type": "no-such"}
    with pytest.raises(UserError, match="custom Python code from the model, which is never run"):
        ModelTokenizer(folder, family)
    # It is not needed if transformers has the class.
    (folder / SETTINGS).write_text(json.dumps({**code, "tokenizer_class": "BertTokenizer"}))
    assert len(ModelTokenizer(folder).tokenize(Sentence("the cats"))) == 5


def test_the_command_line_shows_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "vocab.txt").symlink_to(PATH)
    assert main(["run", str(folder), "a test"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert f"vocab.txt: {LINKS_OUTSIDE}" in line
