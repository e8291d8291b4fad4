"""The model's own tokenizer: words, special and unknown tokens, and its helper process."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import ERROR
from bertviewer.core.building.backend import transformers
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization import model_tokenizer
from bertviewer.core.tokenization.files import SETTINGS, TOKENIZER
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer, tokenizer_helper
from bertviewer.core.tokenization.worker import word_starts
from bertviewer.core.util import helper_process
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import LIMIT_EXCEEDED
from tests.core.runs.bert_tokens import texts
from tests.core.tokenization.small_tokenizers import (
    MAKERS,
    byte_level,
    unigram,
    write_python_tokenizer,
    write_tokenizer,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits exist on Linux only")


@pytest.fixture(scope="session")
def demo() -> ModelTokenizer:
    """Return the tokenizer of bert-base-uncased."""
    return ModelTokenizer(demo_folder(), {"model_type": "bert", "type_vocab_size": 2})


class TestBert:
    def test_tokens(self, demo: ModelTokenizer) -> None:
        tokens = demo.tokenize(Sentence("this is a 12212121 test sentence"))
        assert texts(tokens)[4:8] == ["122", "##12", "##12", "##1"]
        assert [token.id for token in tokens] == [
            101, 2023, 2003, 1037, 13092, 12521, 12521, 2487, 3231, 6251, 102,
        ]  # fmt: skip
        assert [token.word for token in tokens] == [None, 0, 1, 2, 3, 3, 3, 3, 4, 5, None]
        assert tokens[-1] == Token(102, "[SEP]", 0, is_special=True)

    def test_special_and_unknown_tokens_of_a_pair(self, demo: ModelTokenizer) -> None:
        tokens = demo.tokenize(Sentence("[MASK] 😀, x[MASK]y [UNK]", "[SEP] [mask]"))
        assert [token.segment for token in tokens] == [0] * 9 + [1] * 5
        assert [
            (token.text, token.word, token.is_special, token.is_unknown, token.written)
            for token in tokens
        ] == [
            ("[CLS]", None, True, False, ""),
            ("[MASK]", None, True, False, "[MASK]"),
            ("[UNK]", 0, False, True, "😀"),
            (",", 1, False, False, ","),
            ("x", 2, False, False, "x"),
            ("[MASK]", None, True, False, "[MASK]"),
            ("y", 3, False, False, "y"),
            ("[UNK]", None, True, False, "[UNK]"),
            ("[SEP]", None, True, False, ""),
            ("[SEP]", None, True, False, "[SEP]"),
            ("[", 4, False, False, "["),
            ("mask", 5, False, False, "mask"),
            ("]", 6, False, False, "]"),
            ("[SEP]", None, True, False, ""),
        ]

    def test_an_id_of_32_bits_is_refused(self, tmp_path: Path) -> None:
        write_tokenizer("bert", tmp_path)
        file = tmp_path / "tokenizer.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        content["model"]["vocab"]["cat"] = 2**31
        file.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(UserError, match="the tokenizer returns an invalid token: "):
            ModelTokenizer(tmp_path).tokenize(Sentence("a cat"))

    def test_unusual_texts(
        self,
        demo: ModelTokenizer,
        capfd: pytest.CaptureFixture[str],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        assert texts(demo.tokenize(Sentence("\x00\u200b"))) == ["[CLS]", "[SEP]"]
        assert len(demo.tokenize(Sentence("cat " * 2_000))) == 2_002
        with pytest.raises(UserError, match="the tokenizer cannot read this text"):
            demo.tokenize(Sentence("\udc80"))
        assert capfd.readouterr().err == caplog.text == ""  # transformers warns of long texts

    @pytest.mark.parametrize(
        ("pair_is_target", "tokens", "segments"),
        [
            (True, "[CLS] one two three [SEP] [CLS] two cats [SEP]", [0, 0, 0, 0, 0, 1, 1, 1, 1]),
            (False, "[CLS] one two three [SEP] two cats [SEP]", [0] * 8),
        ],
    )
    def test_a_pair_for_an_encoder_decoder(
        self, pair_is_target: bool, tokens: str, segments: list[int]
    ) -> None:
        config = {"is_encoder_decoder": True, "max_position_embeddings": 5 if pair_is_target else 8}
        tokenizer = ModelTokenizer(demo_folder(), config, pair_is_target=pair_is_target)
        found = tokenizer.tokenize(Sentence("one two three four", "two cats", cut=True))
        assert " ".join(texts(found)) == tokens
        assert [token.segment for token in found] == segments
        words = [token.word for token in found if not token.is_special]
        assert words == [0, 1, 2, 3, 4]


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelTokenizer]:
    """Return a small tokenizer of each kind."""
    found = {}
    for kind in MAKERS:
        folder = tmp_path_factory.mktemp(kind)
        write_tokenizer(kind, folder)
        found[kind] = ModelTokenizer(folder)
    return found


def words(tokens: tuple[Token, ...]) -> list[str]:
    """Return the text of each word, without spaces around it."""
    found: dict[int, str] = {}
    for token in tokens:
        if token.word is not None:
            found[token.word] = found.get(token.word, "") + token.written
    assert list(found) == list(range(len(found)))
    return [text.strip() for text in found.values()]


class TestKinds:
    """WordPiece, byte-level BPE, SentencePiece with and without splitting at spaces."""

    @pytest.mark.parametrize("kind", MAKERS)
    def test_words_and_sentences(self, kind: str, small: dict[str, ModelTokenizer]) -> None:
        tokenizer = small[kind]
        found = tokenizer.tokenize(Sentence("this is a 12212121 test"))
        assert words(found) == ["this", "is", "a", "12212121", "test"]
        assert words(tokenizer.tokenize(Sentence("  this \n  cat  "))) == ["this", "cat"]
        pair = tokenizer.tokenize(Sentence("the cat", "the mat"))
        assert words(pair) == ["the", "cat", "the", "mat"]
        special = [token.text for token in pair if token.is_special]
        assert special == {
            "bert": ["[CLS]", "[SEP]", "[SEP]"],
            "roberta": ["<s>", "</s>", "</s>", "</s>"],
        }.get(kind, ["</s>", "</s>"])
        assert all(token.is_special == (token.sentence is None) for token in pair)
        for number, text in enumerate(("thecat", "themat")):
            written = "".join(token.written for token in pair if token.sentence == number)
            assert "".join(written.split()) == text

    @pytest.mark.parametrize("kind", MAKERS)
    def test_unknown_words(self, kind: str, small: dict[str, ModelTokenizer]) -> None:
        tokens = small[kind].tokenize(Sentence("cat 😀 mat"))
        unknown = [token.written for token in tokens if token.is_unknown]
        assert unknown == ([] if kind == "roberta" else ["😀"])
        assert not any(token.is_special and token.is_unknown for token in tokens)
        assert len({token.word for token in tokens} - {None}) == 3

    @pytest.mark.parametrize(("kind", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
    def test_a_mask_is_one_special_token(
        self, kind: str, mask: str, small: dict[str, ModelTokenizer]
    ) -> None:
        tokens = small[kind].tokenize(Sentence(f"the {mask} sat"))
        (token,) = (token for token in tokens if token.text == mask)
        assert token.is_special
        assert token.word is None
        assert words(tokens) == ["the", "sat"]

    def test_mbart_has_no_token_between_two_texts(self, tmp_path: Path) -> None:
        pieces = dict.fromkeys([*unigram().get_vocab(), "en_XX"])
        made = transformers.MBartTokenizer(
            vocab=[(piece, -1.0) for piece in pieces], src_lang="en_XX"
        )
        made.save_pretrained(tmp_path)
        tokenizer = ModelTokenizer(tmp_path, {"model_type": "mbart", "is_encoder_decoder": True})
        tokens = tokenizer.tokenize(Sentence("the cat", "the mat"))
        assert [t.text for t in tokens if t.sentence is None] == ["</s>", "en_XX"]
        sentences = [t.sentence for t in tokens if t.sentence is not None]
        assert sentences == sorted(sentences)
        assert set(sentences) == {0, 1}
        assert {t.segment for t in tokens} == {0}

    def test_the_end_of_text_may_be_the_unknown_token(self, tmp_path: Path) -> None:
        end = {f"{role}_token": "</s>" for role in ("unk", "bos", "eos")}  # as in GPT-2
        made = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_level(), **end)
        made.save_pretrained(tmp_path)
        tokens = ModelTokenizer(tmp_path).tokenize(Sentence("cat</s>"))
        assert [t.is_special for t in tokens if t.text == "</s>"] == [True, True]
        assert not any(token.is_unknown for token in tokens)

    def test_a_tokenizer_in_python_has_no_offsets(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        write_python_tokenizer(tmp_path)
        tokenizer = ModelTokenizer(tmp_path)
        tokens = tokenizer.tokenize(Sentence("a test", "cat"))
        assert [token.text for token in tokens] == [*"a test", "</s>", *"cat", "</s>"]
        assert [token.word for token in tokens] == [0, None, 1, 1, 1, 1, None, 2, 2, 2, None]
        tokens = tokenizer.tokenize(Sentence("a</s>"))
        assert tokens[-1].is_special
        assert not any(token.is_unknown for token in tokens)
        assert capfd.readouterr().err == ""  # ByT5's warns of a typed "</s>"

    @pytest.mark.parametrize(
        ("names", "starts"),
        [
            (["un", "##believ", "##able", "cat"], [1, 0, 0, 1]),
            (["▁un", "believ", "▁cat", "s", ","], [1, 0, 1, 0, 0]),
            (["un", "Ġcat", "s"], [1, 1, 0]),
            (["un@@", "believ@@", "able", "cat"], [1, 0, 0, 1]),
            (["un", "able</w>", "cat</w>"], [1, 0, 1]),
            (["a", " ", "c", "a", "t"], [1, 1, 1, 0, 0]),
            (["unable", "cat"], [1, 1]),
            ([], []),
        ],
    )
    def test_words_start_by_the_marks_of_the_vocabulary(
        self, names: list[str], starts: list[int]
    ) -> None:
        assert word_starts(names) == [bool(start) for start in starts]


VALID: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"},
}


def replace(times: int, count: int) -> dict[str, object]:
    """Return a normalizer that replaces an "a" by ``times`` of them, and repeats that."""
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * times}
    return {"type": "Sequence", "normalizers": [step] * count}


def write(folder: Path, **parts: Any) -> Path:
    (folder / TOKENIZER).write_text(json.dumps({**VALID, **parts}))
    (folder / SETTINGS).write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


class TestHelper:
    """The helper process that reads all tokenizers."""

    def test_a_tokenizer_is_loaded_again_after_a_crash(self, demo: ModelTokenizer) -> None:
        before = demo.tokenize(Sentence("a"))
        with tokenizer_helper().session() as process:
            process.process.kill()
            process.process.wait()
        assert demo.tokenize(Sentence("a")) == before
        with tokenizer_helper().session() as another:
            assert another is not process

    @linux
    @pytest.mark.parametrize(
        "normalizer",
        [replace(100, 8), {"type": "Precompiled", "precompiled_charsmap": "////fw=="}],
        ids=["10^16 letters", "precompiled"],
    )
    def test_memory_is_limited(
        self, normalizer: object, tmp_path: Path, demo: ModelTokenizer
    ) -> None:
        folder = write(tmp_path, normalizer=normalizer)
        with pytest.raises(UserError, match=LIMIT_EXCEEDED):
            ModelTokenizer(folder).tokenize(Sentence("a"))
        assert [token.id for token in demo.tokenize(Sentence("a"))] == [101, 1037, 102]

    def test_a_crash_names_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(helper_process, "command", lambda *_: [sys.executable, "-c", ""])
        tokenizer_helper().stop()
        problem = f"{tmp_path}: the tokenizer cannot be read: the helper process crashed"
        with pytest.raises(UserError, match=f"^{re.escape(problem)}"):
            ModelTokenizer(write(tmp_path))

    def test_a_full_disk_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> bool:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(model_tokenizer, "write_private_copy", fail)
        message = r"^tokenizers cannot be read: No space left on device$"
        with pytest.raises(UserError, match=message):
            ModelTokenizer(write(tmp_path))

    def test_unused_tokenizers_are_closed(self, tmp_path: Path) -> None:
        first = ModelTokenizer(write(tmp_path))
        number = {"number": first._number}
        with tokenizer_helper().session() as process:
            assert process.call("vocabulary", number)
        del first
        second = ModelTokenizer(tmp_path)
        with tokenizer_helper().session() as process:
            with pytest.raises(UserError, match="KeyError: "):
                process.call("vocabulary", number)
            assert list(process.folder.iterdir()) == []  # the copies are deleted
        assert len(second.tokenize(Sentence("a b"))) == 2

    @linux
    def test_ctrl_c_interrupts_a_slow_tokenizer(
        self, tiny_bert_folder: Path, tmp_path: Path
    ) -> None:
        write(tmp_path, normalizer=replace(1, 20_000))
        for name in ("config.json", "model.safetensors"):
            (tmp_path / name).write_bytes((tiny_bert_folder / name).read_bytes())
        # A shell in the background ignores the signal.
        code = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "from bertviewer.app import main; sys.exit(main())"
        )
        running = subprocess.Popen(
            [sys.executable, "-c", code, "run", str(tmp_path), "a" * 100_000],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            wait_until(lambda: has_busy_child(running.pid))
            os.killpg(running.pid, signal.SIGINT)
            output, errors = running.communicate(timeout=60)
        finally:
            running.kill()
            running.communicate()
        assert (running.returncode, output) == (2, "")
        assert errors.splitlines()[-1] == f"{ERROR}interrupted"


def has_busy_child(parent: int) -> bool:
    """Return whether a child has used more CPU time than its imports take."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(status[1]) == parent and int(status[11]) > 2.5 * os.sysconf("SC_CLK_TCK"):
            return True
    return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
