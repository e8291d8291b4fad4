"""No file of a model can make a tokenizer read another file, whatever class it names."""

import ast
import ctypes
import functools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS, SETTINGS
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.private_copy import write_private_copy
from bertviewer.core.util.errors import UserError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify exists on Linux only")

BASE_ARGUMENTS = ("vocab_file", "merges_file", "tokenizer_file", "gguf_file", "vocab", "merges")
"""Arguments of the base classes."""
TOKENS_MAP = "special_tokens_map.json"
JSON_FILES = tuple(name for name in READ_BY_TRANSFORMERS if name.endswith(".json"))
_INOTIFY_EVENT = struct.Struct("iIII")


@contextmanager
def opened_files(folder: Path) -> Iterator[list[str]]:
    """Collect the names of the files in a folder that any process opens, with inotify."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0
    opened_or_read = 0x20 | 0x1
    assert libc.inotify_add_watch(watch, os.fsencode(folder), opened_or_read) >= 0
    names: list[str] = []
    try:
        yield names
        events = b""
        with suppress(BlockingIOError):
            events = os.read(watch, 1_000_000)
        while events:
            length = _INOTIFY_EVENT.unpack_from(events)[3]
            name = events[_INOTIFY_EVENT.size : _INOTIFY_EVENT.size + length]
            names.append(os.fsdecode(name.rstrip(b"\0")))
            events = events[_INOTIFY_EVENT.size + length :]
    finally:
        os.close(watch)


@functools.cache
def arguments() -> dict[str, tuple[str, ...]]:
    """Return the arguments of each of transformers' tokenizer classes, from their source."""
    root = Path(transformers.__file__).parent
    found: dict[str, tuple[str, ...]] = {}
    for file in (*root.glob("tokenization_*.py"), *root.glob("models/*/tokenization_*.py")):
        for kind in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(kind, ast.ClassDef):
                continue
            if not kind.name.endswith(("Tokenizer", "Backend", "Legacy")):
                continue
            own = set(BASE_ARGUMENTS)
            for node in ast.walk(kind):
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    own |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)} - {"self"}
                own |= _looked_up(node)
            found[kind.name] = tuple(sorted(own))
    return found


def all_arguments() -> list[str]:
    return sorted(set().union(*arguments().values()))


def _looked_up(node: ast.AST) -> set[str]:
    """Return the names that code looks up in its arguments, as in ``kwargs.pop("vocab")``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return set()
    is_in_arguments = "kwargs" in ast.unparse(node.func.value)
    first = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return {first} if is_in_arguments and isinstance(first, str) else set()


@pytest.fixture(scope="session")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file outside of the model, which would be a valid vocabulary."""
    file = tmp_path_factory.mktemp("elsewhere") / "secret"
    file.write_text("[UNK]\n[PAD]\nsecret\n")
    return file


def write_vocabulary(folder: Path, word: str = "x") -> None:
    """Write vocabularies of the usual kinds."""
    folder.mkdir(parents=True)
    words = ["[UNK]", "[PAD]", "<unk>", "<pad>", "<s>", "</s>", "[CLS]", "[SEP]", "a", "b", word]
    (folder / "vocab.txt").write_text("\n".join(words))
    (folder / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")


def values_with(path: str) -> tuple[Any, ...]:
    """Return values of a key in which a library may look for a path."""
    return path, [path], {"content": path}, {path: path}, {"vocab_file": path, "0": path}


@pytest.fixture(scope="session")
def accepted(secret: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return for each value the arguments with it that are copied for transformers.

    Others are refused, so that no class is created.
    """
    folder = tmp_path_factory.mktemp("settings")
    (folder / "copy").mkdir()
    found: list[dict[str, Any]] = []
    for value in values_with(str(secret)):
        found.append({})
        for argument in all_arguments():
            (folder / SETTINGS).write_text(json.dumps({argument: value}))
            with suppress(UserError):
                write_private_copy(folder, {}, folder / "copy")
                found[-1][argument] = value
    assert found[0].keys() >= {"vocab_file", "tokenizer_file", "unk_token"}
    return found


def test_all_classes_of_transformers_are_tried() -> None:
    assert len(arguments()) > 100
    assert len(all_arguments()) > 100
    for name in transformers.models.auto.tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        with suppress(ImportError, AttributeError):  # some need other packages
            assert not name or getattr(transformers, name).__name__ in arguments()


def test_opened_files_are_noticed(secret: Path) -> None:
    with opened_files(secret.parent) as names:
        pass
    assert names == []
    with opened_files(secret.parent) as names:
        subprocess.run(["cat", str(secret)], check=True, stdout=subprocess.DEVNULL)
    assert "secret" in names
    with opened_files(secret.parent) as names, suppress(Exception):
        transformers.EsmTokenizer(vocab_file=str(secret))
    assert "secret" in names


def test_no_setting_of_any_class_is_a_path(
    secret: Path, tmp_path: Path, accepted: list[dict[str, Any]]
) -> None:
    with opened_files(secret.parent) as names:
        for kind, own in arguments().items():
            folder = tmp_path / kind
            write_vocabulary(folder, str(secret))
            paths = {argument: path for argument, path in accepted[0].items() if argument in own}
            (folder / SETTINGS).write_text(json.dumps({**paths, "tokenizer_class": kind}))
            (folder / TOKENS_MAP).write_text(json.dumps(paths))
            with suppress(UserError):
                ModelTokenizer(folder, {"model_type": "bert"})
    assert names == []


@pytest.mark.parametrize("kind", ["BertTokenizer", "MyT5Tokenizer"])
def test_no_key_of_a_file_is_a_path(
    kind: str, secret: Path, tmp_path: Path, accepted: list[dict[str, Any]]
) -> None:
    with opened_files(secret.parent) as names:
        for name in JSON_FILES:
            for copied, value in zip(accepted, values_with(str(secret)), strict=True):
                folder = tmp_path / "model"
                write_vocabulary(folder, str(secret))
                (folder / SETTINGS).write_text(json.dumps({"tokenizer_class": kind}))
                content = copied if name in (SETTINGS, TOKENS_MAP) else {}
                content = content or dict.fromkeys(all_arguments(), value)
                content = {**content, "tokenizer_class": kind, "model": content}
                (folder / name).write_text(json.dumps(content))
                with suppress(UserError):
                    ModelTokenizer(folder, {"model_type": "bert"}).tokenize(Sentence("a b"))
                shutil.rmtree(folder)
    assert names == []


def test_every_file_that_transformers_reads_is_copied() -> None:
    known = set()
    for file in Path(transformers.__file__).parent.rglob("tokenization*.py"):
        for table in re.findall(r"VOCAB_FILES_NAMES = \{([^}]*)\}", file.read_text("utf-8")):
            known |= set(re.findall(r':\s*"([^"]+)"', table))
    assert len(known) > len(READ_BY_TRANSFORMERS) / 2
    assert known <= set(READ_BY_TRANSFORMERS)
    assert SETTINGS in READ_BY_TRANSFORMERS
