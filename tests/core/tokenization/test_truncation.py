"""A text that is too long is cut as transformers cuts it, at the side that the tokenizer says."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.tokens import TokenIds
from tests.core.tokenization.small_tokenizers import MAKERS, write_python_tokenizer, write_tokenizer

LONG, OTHER = "this is a 12212121 test of the cat and the mat", "the dog 12212121 ran home today"
LIMITS = range(6, 14)


def written(folder: Path, kind: str, side: str) -> Path:
    if kind == "python":
        write_python_tokenizer(folder)
    else:
        write_tokenizer(kind, folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**settings, "truncation_side": side}))
    return folder


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", [*sorted(MAKERS), "python"])
def test_a_cut_text_is_transformers_own(kind: str, side: str, tmp_path: Path) -> None:
    from bertviewer.core.building.backend import transformers

    folder = written(tmp_path, kind, side)
    theirs: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    limit = 0
    ours = ModelTokenizer(folder, limits=lambda: LengthLimits(limit, limit))
    (alone,) = ours.encode_each([LONG])
    assert isinstance(alone, TokenIds)
    for limit in LIMITS:
        for pair in (None, OTHER):
            expected = theirs(LONG, pair, truncation=True, max_length=limit)["input_ids"]
            tokens = ours.tokenize(Sentence(LONG, pair, cut=True))
            assert [token.id for token in tokens] == expected, (limit, pair)
            numbers = list(dict.fromkeys(t.word for t in tokens if t.word is not None))
            assert numbers == list(range(len(numbers)))
            assert all(token.word is None for token in tokens if token.sentence is None)
        cut = alone.cut(limit, keeps_end=ours.keeps_end)
        expected = theirs(LONG, truncation=True, max_length=limit)["input_ids"]
        assert list(cut.ids) == expected


def test_special_tokens_that_were_typed_are_cut_as_text(tmp_path: Path) -> None:
    from bertviewer.core.building.backend import transformers

    folder = written(tmp_path, "bert", "right")
    theirs: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    text = "the cat [SEP] [SEP] [SEP] the mat"
    (ids,) = ModelTokenizer(folder).encode_each([text])
    assert isinstance(ids, TokenIds)
    assert list(ids.cut(6).ids) == theirs(text, truncation=True, max_length=6)["input_ids"]
