"""No file of a model can have another file read, whichever class of tokenizer it names."""

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS, SETTINGS
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util.errors import UserError
from tests.core.tokenization.opens import watched

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

FILES = tuple(name for name in READ_BY_TRANSFORMERS if name.endswith(".json"))
OF_ALL = ("vocab_file", "merges_file", "tokenizer_file", "gguf_file", "vocab", "merges")
"""What the classes that all others come from take."""


def _sources() -> tuple[str, ...]:
    root = Path(transformers.__file__).parent
    files = (*root.glob("tokenization_*.py"), *root.glob("models/*/tokenization_*.py"))
    return tuple(file.read_text("utf-8") for file in files)


_ENDS = ("Tokenizer", "Backend", "Legacy")
CLASSES = tuple(
    dict.fromkeys(
        name
        for source in _sources()
        for name in re.findall(r"^class (\w+)\b", source, re.MULTILINE)
        if name.endswith(_ENDS)
    )
)


@functools.cache
def arguments() -> dict[str, tuple[str, ...]]:
    """Return transformers' classes of tokenizers with the arguments that each may be made with.

    To parse them takes seconds, which only a process that tries them needs.
    """
    found: dict[str, tuple[str, ...]] = {}
    for source in _sources():
        for kind in ast.walk(ast.parse(source)):
            if not isinstance(kind, ast.ClassDef) or not kind.name.endswith(_ENDS):
                continue
            own: set[str] = set()
            for node in ast.walk(kind):
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    own |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)} - {"self"}
                own |= _looked_up(node)
            found[kind.name] = tuple(sorted(own.union(OF_ALL)))
    # Each time that it is made it lists all characters there are, for a second.
    found["CanineTokenizer"] = ("vocab_file", "tokenizer_file")
    return found


def _looked_up(node: ast.AST) -> set[str]:
    """Return the names that code looks up in what it was given, as ``kwargs.pop("vocab")``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return set()
    is_of_arguments = "kwargs" in ast.unparse(node.func.value)
    first = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return {first} if is_of_arguments and isinstance(first, str) else set()


def all_arguments() -> list[str]:
    return sorted(set().union(*arguments().values()))


def test_there_is_something_to_try() -> None:
    assert set(CLASSES) == set(arguments())
    assert len(CLASSES) > 100
    assert len(all_arguments()) > 100
    for name in transformers.models.auto.tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        with suppress(ImportError, AttributeError):  # some are there with other libraries only
            assert not name or getattr(transformers, name).__name__ in CLASSES


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Return a file that nobody may read; it would do for any vocabulary."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret").write_text("[UNK]\n[PAD]\nsecret\n")
    return folder / "secret"


def test_the_watch_sees_what_other_processes_open(canary: Path) -> None:
    with watched(canary.parent) as opened:
        pass
    assert opened == []
    with watched(canary.parent) as opened:
        subprocess.run(["cat", str(canary)], check=True, stdout=subprocess.DEVNULL)
    assert "secret" in opened
    with watched(canary.parent) as opened, suppress(Exception):
        transformers.EsmTokenizer(vocab_file=str(canary))
    assert "secret" in opened


def _values(path: str) -> tuple[Any, ...]:
    """Return what a file may say at a key: a path, alone and in what else is read there."""
    return (path, [path], {"content": path}, {path: path}, {"vocab_file": path, "0": path})


@pytest.mark.parametrize("kind", CLASSES)
def test_no_argument_of_a_class_is_a_path(kind: str, canary: Path, tmp_path: Path) -> None:
    path = str(canary)
    with watched(canary.parent) as opened:
        for number, argument in enumerate(arguments()[kind]):
            folder = tmp_path / str(number)
            _write_vocabulary(folder, path)
            (folder / SETTINGS).write_text(json.dumps({argument: path, "tokenizer_class": kind}))
            (folder / "special_tokens_map.json").write_text(json.dumps({argument: path}))
            with suppress(UserError):
                ModelTokenizer(folder, {"model_type": "bert"})
    assert opened == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["BertTokenizer", "EsmTokenizer", "MyT5Tokenizer", ""])
def test_no_key_of_a_file_is_a_path(name: str, kind: str, canary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    named = {"tokenizer_class": kind} if kind else {}
    with watched(canary.parent) as opened:
        for value in _values(str(canary)):
            _write_vocabulary(folder, str(canary))
            (folder / SETTINGS).write_text(json.dumps(named))
            content = dict.fromkeys(all_arguments(), value) | named
            (folder / name).write_text(json.dumps({**content, "model": content}))
            with suppress(UserError):
                ModelTokenizer(folder, {"model_type": "bert"}).tokenize(Sentence("a b"))
            shutil.rmtree(folder)
    assert opened == []


@pytest.mark.parametrize("put", ["symlink", "pipe"])
@pytest.mark.parametrize("name", READ_BY_TRANSFORMERS)
def test_no_file_is_another_one(name: str, put: str, canary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    _write_vocabulary(folder, "")
    (folder / name).unlink(missing_ok=True)
    if put == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(canary)
    with watched(canary.parent) as opened, pytest.raises(UserError, match=name):
        ModelTokenizer(folder, {"model_type": "bert"})
    assert opened == []


def _write_vocabulary(folder: Path, path: str) -> None:
    """Write vocabularies of the usual kinds, in which a word is a path."""
    folder.mkdir()
    words = ["[UNK]", "[PAD]", "<unk>", "<pad>", "<s>", "</s>", "[CLS]", "[SEP]", "a", "b", path]
    (folder / "vocab.txt").write_text("\n".join(words))
    (folder / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
