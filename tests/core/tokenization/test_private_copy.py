"""What transformers is given of a tokenizer's folder: a copy in which nothing names a file."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import main
from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.files import MAX_BYTES, SETTINGS
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.private_copy import write_private_copy
from bertviewer.core.util.errors import NOT_REGULAR, UserError

Put = Callable[[Path], None]


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


def copied(folder: Path, tmp_path: Path, config: dict[str, Any] | None = None) -> dict[str, str]:
    """Return the files of a private copy with their contents."""
    target = tmp_path / "copy"
    target.mkdir()
    write_private_copy(folder, config or {}, target)
    return {file.name: file.read_text("utf-8") for file in target.iterdir()}


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as raised:
        copied(folder, folder.parent)
    return str(raised.value)


def large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    ("put", "said"),
    [
        (lambda file: file.symlink_to("/etc/passwd"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("/dev/zero"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("nothing"), "No such file or directory"),
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (large, "too large for a tokenizer"),
    ],
    ids=["passwd", "zero", "nothing", "pipe", "folder", "large"],
)
def test_what_is_no_file_of_the_model(folder: Path, name: str, put: Put, said: str) -> None:
    (folder / name).unlink(missing_ok=True)
    put(folder / name)
    assert refusal(folder).startswith(f"{folder / name}: {said}")


PATH = "/etc/passwd"


def test_nothing_that_names_a_file_is_passed_on(folder: Path, tmp_path: Path) -> None:
    named = ("vocab_file", "merges_file", "tokenizer_file", "gguf_file", "vocab", "merges")
    others = ("name_or_path", "special_tokens_map_file", "chat_template", "custom")
    paths = dict.fromkeys((*named, *others), PATH)
    tables = {
        "init_inputs": [PATH],
        "sp_model_kwargs": {"model_file": PATH, "alpha": 0.5},
        "mecab_kwargs": {"mecab_option": f"-d {PATH}"},
        "vocab_file": 0,  # the standard input
    }
    known = {"do_lower_case": False, "unk_token": PATH}
    for name in (SETTINGS, "special_tokens_map.json"):
        (folder / name).write_text(json.dumps({**paths, **tables, **known}))
    files = copied(folder, tmp_path)
    for name in (SETTINGS, "special_tokens_map.json"):
        # A token may look like a path: it is looked up in the vocabulary.
        assert json.loads(files[name]) == {
            "do_lower_case": False,
            "unk_token": PATH,
            "sp_model_kwargs": {"alpha": 0.5},
            "mecab_kwargs": {},
        }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (SETTINGS, {"fast_tokenizer_files": ["../tokenizer.4.0.0.json"]}, "is not the name of a"),
        (SETTINGS, {"fast_tokenizer_files": "/etc/tokenizer.4.0.0.json"}, "is not the name of a"),
        (
            SETTINGS,
            {"fast_tokenizer_files": [3]},
            "'3' is not the name of a file in the same folder",
        ),
        (SETTINGS, {"padding_side": PATH}, "'padding_side' is '/etc/passwd', not a word"),
        (SETTINGS, {"src_lang": "..\\x"}, "'src_lang' is '..\\\\x', not a word"),
        (SETTINGS, {"do_lower_case": "yes"}, "'do_lower_case' is 'yes', not true or false"),
        (SETTINGS, {"model_max_length": "9"}, "'model_max_length' is '9', not a number"),
        (SETTINGS, {"unk_token": 5}, "'unk_token' is 5, not a token"),
        (SETTINGS, {"unk_token": {"content": 5}}, "'unk_token' is not a token"),
        (
            SETTINGS,
            {"extra_special_tokens": {"vocab_file": "a"}},
            "'extra_special_tokens' is not a list of tokens, or an object",
        ),
        (
            SETTINGS,
            {"added_tokens_decoder": {"a": {"content": "x"}}},
            "is not an object of tokens by id",
        ),
        (
            SETTINGS,
            {"added_tokens_decoder": {"1": "x"}},
            "is not an object of tokens by id",
        ),
        ("special_tokens_map.json", {"langs": [["en"]]}, "'langs' is not a list of words"),
        ("added_tokens.json", {"<x>": PATH}, "the id of '<x>' is not an integer"),
        ("tokenizer.json", {}, "it contains no model"),
        (
            "tokenizer.json",
            {"model": {"vocab": PATH}},
            "the model's vocab is neither an object nor a list",
        ),
        ("tokenizer.json", {"model": {"merges": PATH}}, "the model's merges are not a list"),
        ("byte_maps.json", {"decompose_map": PATH}, "'decompose_map' is not an object"),
        (SETTINGS, [], "the settings is not an object"),
        ("tokenizer.json", [], "the JSON is not an object"),
    ],
)
def test_what_is_refused(folder: Path, name: str, content: object, said: str) -> None:
    (folder / name).write_text(json.dumps(content))
    message = refusal(folder)
    assert message.startswith(f"{folder / name}: ")
    assert said in message


@pytest.mark.parametrize("text", ["", "[" * 200_000, '{"a": ' + "9" * 5_000 + "}", "\xff"])
def test_settings_that_are_none(folder: Path, text: str) -> None:
    (folder / "tokenizer_config.json").write_text(text, encoding="latin-1")
    assert refusal(folder).startswith(f"{folder / 'tokenizer_config.json'}: bad settings: ")


def test_a_link_among_the_versions(folder: Path) -> None:
    (folder / "tokenizer.4.0.0.json").symlink_to("/etc/passwd")
    settings = {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert f"tokenizer.4.0.0.json: {LINKS_OUTSIDE}" in refusal(folder)


def test_the_version_for_this_transformers_is_chosen(folder: Path, tmp_path: Path) -> None:
    names = [
        "tokenizer.4.0.0.json",
        "tokenizer.5.1.0.json",
        "tokenizer.99.json",
        "tokenizer.x.json",
    ]
    for name in names:
        (folder / name).write_text(json.dumps({"model": {}, "version": name}))
    (folder / SETTINGS).write_text(json.dumps({"fast_tokenizer_files": names}))
    assert json.loads(copied(folder, tmp_path)["tokenizer.json"])["version"] == names[1]


def test_of_the_configuration_only_what_chooses_the_tokenizer(tmp_path: Path) -> None:
    part = {"model_type": "bert", "tokenizer_class": 5}
    config = {"model_type": "encoder-decoder", "backbone": PATH, "encoder": part, "decoder": []}
    files = copied(tmp_path / "nothing", tmp_path, config)
    assert json.loads(files["config.json"]) == {
        "model_type": "encoder-decoder",
        "encoder": {"model_type": "bert"},
    }


@pytest.mark.parametrize("settings", [{}, {"tokenizer_class": "MyTokenizer"}])
def test_python_code_of_its_own_is_told(folder: Path, settings: dict[str, str]) -> None:
    code = {"auto_map": {"AutoTokenizer": ["code.MyTokenizer", None]}}
    (folder / SETTINGS).write_text(json.dumps({**settings, **code}))
    family = {} if settings else {"model_type": "no-such"}
    with pytest.raises(UserError, match="custom Python code from the model, which is never run"):
        ModelTokenizer(folder, family)


def test_python_code_is_not_needed_where_the_class_is_known(folder: Path) -> None:
    settings = {"tokenizer_class": "BertTokenizer", "auto_map": ["code.MyTokenizer", None]}
    (folder / SETTINGS).write_text(json.dumps(settings))
    assert len(ModelTokenizer(folder).tokenize(Sentence("the cats"))) == 5


def test_what_is_usual_is_kept(folder: Path, tmp_path: Path) -> None:
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
    files = copied(folder, tmp_path)
    assert json.loads(files[SETTINGS]) == usual
    assert files["merges.txt"] == (folder / "vocab.txt").read_text()


def test_the_command_says_it_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "vocab.txt").unlink()
    (folder / "vocab.txt").symlink_to("/etc/passwd")
    assert main(["run", str(folder), "a test"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert f"vocab.txt: {LINKS_OUTSIDE}" in line
