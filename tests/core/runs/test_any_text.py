"""Any text is run or refused with one line."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import find_preset
from bertviewer.core.tokenization.sentence import EMPTY, MAX_CHARACTERS
from bertviewer.core.tokenization.tokenization import check_tokens, count_tokens
from bertviewer.core.tokenization.tokenizer import Tokenizer
from bertviewer.core.util.errors import UserError
from tests.core.tokenization.small_tokenizers import MAKERS, write_python_tokenizer, write_tokenizer

# What hypothesis would come upon too rarely: special tokens by name, marks of vocabularies, emoji
# that are several characters, words from right to left, characters that combine or control.
PARTS = st.sampled_from(
    [
        *("cat", "12212121", " ", "\n", "\t", "[MASK]", "[SEP]", "[UNK]", "</s>", "<s>", "<pad>"),
        *(
            "##",
            "▁",
            "Ġ",
            "</w>",
            "@@",
            "😀",
            "👨‍👩‍👧",
            "🇩🇪",
            "你好",
            "שלום",
            "مرحبا",
            "é",
            "e\u0301",
        ),
        *("\x00", "\x1b[31m", "\x7f", "\u200b", "\u202e", "\ufeff", "\ufffe", "\U0010ffff"),
        *("\ud800", "\udc80", "\x85", "\u2028", "<img src=x>", "$x$", "﷽", "a" * 200),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(), max_size=40),  # surrogates too
    st.lists(PARTS, max_size=12).map("".join),
    st.builds(str.__mul__, PARTS, st.integers(1, 400)),
)


@cache
def tiny_model(folder: Path) -> LoadedModel:
    return open_model(parse_source(str(folder)))


def outcome(model: LoadedModel, sentence: Sentence) -> ActivationRun | str:
    """Return the run, or the one line that says why there is none."""
    try:
        return run_sentence(model, sentence)
    except UserError as error:
        return one_line(error)


def one_line(error: UserError) -> str:
    (line,) = str(error).splitlines()
    assert line == line.strip()
    assert len(line) < 300
    return line


@given(text=TEXTS, pair=st.none() | TEXTS, cut=st.booleans())
@example(text="\udc80", pair=None, cut=False)
@example(text="\x00", pair="\x00", cut=True)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_runs_or_is_refused(
    text: str,
    pair: str | None,
    cut: bool,
    tiny_bert_folder: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    found = outcome(tiny_model(tiny_bert_folder), Sentence(text, pair, cut))
    assert capfd.readouterr().err == ""
    if isinstance(found, str):
        assert not cut or "too long" not in found
        return
    assert 2 <= len(found.tokens) <= 64
    assert {token.segment for token in found.tokens} <= {0, 1}
    words = list(dict.fromkeys(t.word for t in found.tokens if t.word is not None))
    assert words == list(range(len(words)))
    assert all(token.word is None for token in found.tokens if token.is_special)
    assert all(token.written in text + (pair or "") for token in found.tokens)


@pytest.fixture(scope="session")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> list[Tokenizer]:
    """Return one of each kind, which all know a limit of 20 tokens; and a stand-in."""
    from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
    from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer

    config = {"max_position_embeddings": 20}
    made: list[Tokenizer] = []
    for kind in MAKERS:
        folder = tmp_path_factory.mktemp(kind)
        write_tokenizer(kind, folder)
        made.append(ModelTokenizer(folder, config))
    folder = tmp_path_factory.mktemp("python")
    write_python_tokenizer(folder)
    made.append(ModelTokenizer(folder, config))
    bert = config | {"model_type": "bert", "vocab_size": 30_522, "type_vocab_size": 2}
    return [*made, PlaceholderTokenizer(bert)]


@given(text=TEXTS, pair=st.none() | TEXTS)
@settings(max_examples=100)
def test_every_kind_of_tokenizer_reads_any_text(
    text: str, pair: str | None, tokenizers: list[Tokenizer]
) -> None:
    config = {"max_position_embeddings": 20}
    for tokenizer in tokenizers:
        try:
            count = count_tokens(tokenizer, Sentence(text, pair), config)
            cut = tokenizer.tokenize(Sentence(text, pair, cut=True))
            check_tokens(cut, config)
        except UserError as error:
            one_line(error)
            continue
        assert len(cut) == min(count.tokens, 20)
        assert count.excess == max(0, count.tokens - 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * 1_000_000, "has 1,000,000 characters, above the limit of 200,000"),
        ("cat " * (MAX_CHARACTERS // 4), "it has 50,002 tokens, and the model takes at most 64"),
        ("你" * 20_000, "it has 20,002 tokens, and the model takes at most 64"),
        ("a\ud800b", "the sentence is not valid Unicode"),
        (" \u2028\x85", EMPTY.format("sentence")),
    ],
)
def test_what_is_refused_before_the_forward_pass(
    text: str, message: str, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(tiny_bert_folder)
    # Not even the weights are read for it.
    monkeypatch.setattr(model, "module", lambda *_: pytest.fail("the model was asked for"))
    assert message in str(outcome(model, Sentence(text)))


@pytest.mark.parametrize("unit", ["a", "😀", "שלום", "\x00", "e\u0301"])
def test_one_word_of_200_000_characters(unit: str, tiny_bert_folder: Path) -> None:
    text = unit * (MAX_CHARACTERS // len(unit))
    run = outcome(tiny_model(tiny_bert_folder), Sentence(text, cut=True))
    assert isinstance(run, ActivationRun)
    assert len(run.tokens) <= 64


def test_a_vocabulary_of_another_model_is_told(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = find_preset("bert-base-uncased")
    assert preset is not None
    for file in ("vocab.txt", "tokenizer_config.json"):
        (tmp_path / file).write_text((tiny_bert_folder / file).read_text())
    text = preset.read_text().replace('"vocab_size": 30522', '"vocab_size": 9')
    (tmp_path / "config.json").write_text(text)
    model = open_model(parse_source(str(tmp_path)))
    monkeypatch.setattr(model, "module", lambda *_: pytest.fail("the model was asked for"))
    with pytest.raises(UserError, match="has only 9 rows; the tokenizer belongs to another model"):
        run_sentence(model, Sentence("cat"))
