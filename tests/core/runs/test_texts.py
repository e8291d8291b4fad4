"""Any text is run, cut to the model's length, or refused with one line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.tokenization.sentence import EMPTY, MAX_CHARACTERS, TokenCount, check_text
from bertviewer.core.tokenization.tokenization import check_score_memory, check_tokens, count_tokens
from bertviewer.core.tokenization.tokenizer import Tokenizer
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import small_model
from tests.core.runs.bert_tokens import BERT, texts
from tests.core.tokenization.small_tokenizers import MAKERS, write_python_tokenizer, write_tokenizer

MEMORY = "bertviewer.core.util.memory.available_memory"
# What hypothesis rarely finds: special tokens, markers of vocabularies, emoji of several
# characters, right-to-left words, combining and control characters, lone surrogates.
PARTS = st.sampled_from(
    [
        *("cat", "12212121", " ", "\n", "\t", "[MASK]", "[SEP]", "[UNK]", "</s>", "<s>", "<pad>"),
        *("##", "▁", "Ġ", "</w>", "@@", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "你好", "שלום", "مرحبا"),
        *("é", "e\u0301", "<img src=x>", "$x$", "﷽"),
        *("\x00", "\x1b[31m", "\x7f", "\u200b", "\u202e", "\ufeff", "\ufffe", "\U0010ffff"),
        *("\ud800", "\udc80", "\x85", "\u2028", "a" * 200),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(), max_size=40),  # with surrogates
    st.lists(PARTS, max_size=12).map("".join),
    st.builds(str.__mul__, PARTS, st.integers(1, 400)),
)


@pytest.fixture(scope="module")
def tiny(tiny_bert_folder: Path) -> LoadedModel:
    """Return a BERT that takes 64 tokens."""
    return open_model(parse_source(str(tiny_bert_folder)))


def one_line(error: UserError) -> str:
    (line,) = str(error).splitlines()
    assert line == line.strip()
    assert len(line) < 300
    return line


def outcome(model: LoadedModel, sentence: Sentence) -> ActivationRun | str:
    """Return the run, or the one line that says why there is none."""
    try:
        return run_sentence(model, sentence)
    except UserError as error:
        return one_line(error)


@given(text=TEXTS, pair=st.none() | TEXTS, cut=st.booleans())
@example(text="\udc80", pair=None, cut=False)
@example(text="\x00", pair="\x00", cut=True)
@example(text="a" * 200_000, pair=None, cut=True)
@example(text="שלום😀" * 40_000, pair=None, cut=True)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_run_or_refused(
    text: str, pair: str | None, cut: bool, tiny: LoadedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    found = outcome(tiny, Sentence(text, pair, cut))
    assert capfd.readouterr().err == ""
    if isinstance(found, str):
        assert not cut or "tokens" not in found
        return
    assert 2 <= len(found.tokens) <= 64
    assert {token.segment for token in found.tokens} <= {0, 1}
    words = list(dict.fromkeys(t.word for t in found.tokens if t.word is not None))
    assert words == list(range(len(words)))
    assert all(token.word is None for token in found.tokens if token.is_special)
    assert all(token.written in text + (pair or "") for token in found.tokens)


@pytest.fixture(scope="session")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> list[Tokenizer]:
    """Return one tokenizer of each kind, with a limit of 20 tokens."""
    config = {"max_position_embeddings": 20}
    made: list[Tokenizer] = [PlaceholderTokenizer(BERT | config)]
    for kind in (*MAKERS, "python"):
        folder = tmp_path_factory.mktemp(kind)
        if kind == "python":
            write_python_tokenizer(folder)
        else:
            write_tokenizer(kind, folder)
        made.append(ModelTokenizer(folder, config))
    return made


@given(text=TEXTS, pair=st.none() | TEXTS)
@settings(max_examples=20)
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
    ("sentence", "message"),
    [
        (Sentence(""), EMPTY.format("sentence")),
        (Sentence(" \n\t\u2028\x85"), EMPTY.format("sentence")),
        (Sentence("good", " "), EMPTY.format("second sentence")),
        (
            Sentence("x" * (MAX_CHARACTERS + 1)),
            "has 200,001 characters, above the limit of 200,000",
        ),
        (Sentence("lone \udc80 surrogate"), "the sentence is not valid Unicode"),
        (Sentence("cat " * 63), "it has 65 tokens, and the model takes at most 64"),
        (Sentence("cat " * 50_000), "it has 50,002 tokens, and the model takes at most 64"),
        (Sentence("你" * 20_000), "it has 20,002 tokens, and the model takes at most 64"),
    ],
)
def test_texts_that_are_refused_before_the_weights_are_read(
    sentence: Sentence, message: str, tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "module", lambda *_: pytest.fail("the model was loaded"))
    assert message in str(outcome(tiny, sentence))
    if "tokens" not in message:
        with pytest.raises(UserError, match=message):
            check_text(sentence)


def test_a_long_text_is_cut_on_request(tiny: LoadedModel) -> None:
    assert len(run_sentence(tiny, Sentence("cat " * 62)).tokens) == 64
    run = run_sentence(tiny, Sentence("cat " * 500, cut=True))
    assert len(run.tokens) == 64
    assert run.tokens[-1].text == "[SEP]"
    assert run.sentence.cut


NINE = BERT | {"max_position_embeddings": 9}


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        (Sentence("a b c"), "[CLS] a b c [SEP]"),
        (Sentence("a b c d e f g h i"), "[CLS] a b c d e f g [SEP]"),
        (Sentence("a b c d e f g", "h i"), "[CLS] a b c d [SEP] h i [SEP]"),
        (Sentence("a", "b c d e f g h"), "[CLS] a [SEP] b c d e f [SEP]"),
        (Sentence("a b c d", "e f g h"), "[CLS] a b c [SEP] e f g [SEP]"),
        (Sentence("a b c d e", "f g h i"), "[CLS] a b c [SEP] f g h [SEP]"),
    ],
)
def test_the_longer_sentence_of_a_pair_is_cut(sentence: Sentence, kept: str) -> None:
    for tokenizer in (PlaceholderTokenizer(NINE), ModelTokenizer(demo_folder(), NINE)):
        tokens = tokenizer.tokenize(replace(sentence, cut=True))
        assert " ".join(texts(tokens)) == kept
        words = [token.word for token in tokens if token.word is not None]
        assert words == list(range(len(words)))
        assert len(tokenizer.tokenize(sentence)) >= len(tokens)


def test_special_limits() -> None:
    config: dict[str, Any] = {"is_encoder_decoder": True, "vocab_size": 99}
    config["max_position_embeddings"] = 3
    tokenizer = PlaceholderTokenizer(config, pair_is_target=True)
    tokens = tokenizer.tokenize(Sentence("a b c d e", "f g h i", cut=True))
    assert texts(tokens) == ["a", "b", "c", "f", "g", "h"]  # encoder and decoder are cut each
    check_tokens(tokens, config)
    with pytest.raises(UserError, match="takes 2 tokens, which leaves no room"):
        PlaceholderTokenizer(BERT | {"max_position_embeddings": 2}).tokenize(
            Sentence("a", cut=True)
        )
    unlimited = PlaceholderTokenizer({"model_type": "t5", "vocab_size": 99})
    assert len(unlimited.tokenize(Sentence("a " * 5_000, cut=True))) == 5_000


def test_too_many_tokens_and_ids_of_another_vocabulary() -> None:
    check_tokens((Token(5, "a", 0),) * 512, BERT)
    with pytest.raises(UserError, match="it has 513 tokens, and the model takes at most 512"):
        check_tokens((Token(5, "a", 0),) * 513, BERT)
    message = "has the id 30522, but the embedding has only 30,522 rows; the tokenizer belongs to"
    with pytest.raises(UserError, match=message):
        check_tokens((Token(30522, "a", 0),), BERT)
    with pytest.raises(UserError, match="no tokens"):
        check_tokens((), BERT)


def test_more_attention_scores_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model("t5", num_layers=1)
    # Twice 3 heads × 2000² scores of 4 bytes.
    monkeypatch.setattr(MEMORY, lambda: 95_900_000)
    with pytest.raises(UserError, match=r"attention of 2,000 tokens needs 0.1 GB of memory, but"):
        run_sentence(model, Sentence("a " * 1999), random_weights=True)
    check_score_memory((Token(5, "a", 0),) * 1990, model.architecture.config, "t5")
    # An accelerator has its own memory; there is none of this name.
    with pytest.raises(UserError, match="its weights cannot be moved to cuda:97"):
        run_sentence(model, Sentence("a " * 1999), random_weights=True, device="cuda:97")


def test_buffers_that_are_larger_than_all_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    # GPT-Neo keeps a mask of all positions in each layer: 1000² bytes.
    kinds = {"attention_types": [[["global"], 10]], "max_position_embeddings": 1000}
    sizes = {"vocab_size": 97, "hidden_size": 4, "num_heads": 1, "num_layers": 10}
    values: dict[str, Any] = {**sizes, **kinds}
    model = small_model("gpt_neo", **values)
    monkeypatch.setattr(MEMORY, lambda: 9_000_000)
    with pytest.raises(UserError, match=r"need 0.0 GB of memory, but only 0.0 GB are free"):
        run_sentence(model, Sentence("a"), random_weights=True)
    monkeypatch.setattr(MEMORY, lambda: 30_000_000)
    assert run_sentence(model, Sentence("a"), random_weights=True).tokens


T5: dict[str, Any] = {"model_type": "t5", "vocab_size": 99}
LLAMA: dict[str, Any] = {"model_type": "llama", "vocab_size": 99, "max_position_embeddings": 20}
BOTH: dict[str, Any] = {"is_encoder_decoder": True, "vocab_size": 99}
FOUR = BOTH | {"max_position_embeddings": 4}


@pytest.mark.parametrize(
    ("config", "sentence", "limits", "expected"),
    [
        (BERT, Sentence("one two", "three"), None, TokenCount(6, 512, ())),
        (BERT, Sentence("word " * 600), None, TokenCount(602, 512, ())),
        (T5, Sentence("word " * 600), None, TokenCount(600, None, ())),
        (LLAMA, Sentence("word " * 30), LengthLimits(trained=20), TokenCount(30, None, trained=20)),
        # Of encoder and decoder the one that is too long counts, else the longer one.
        (
            BOTH,
            Sentence("a b c d", "e f g"),
            LengthLimits(9, 2),
            TokenCount(3, 2, is_one_of_two=True),
        ),
        (BOTH, Sentence("a", "b c d"), LengthLimits(9, 2), TokenCount(3, 2, is_one_of_two=True)),
        (FOUR, Sentence("a b", "c d e"), None, TokenCount(3, 4, (), is_one_of_two=True)),
    ],
)
def test_counted_tokens(
    config: dict[str, Any],
    sentence: Sentence,
    limits: LengthLimits | None,
    expected: TokenCount,
) -> None:
    tokenizer = PlaceholderTokenizer(config, pair_is_target=bool(config.get("is_encoder_decoder")))
    more: dict[str, Any] = {} if limits is None else {"limits": lambda: limits}
    count = count_tokens(tokenizer, sentence, config, **more)
    assert count == expected
    assert count.excess == (0 if count.limit is None else max(0, count.tokens - count.limit))
    assert count.is_untrained == (config is LLAMA)


def test_counts_of_unknown_words_and_of_an_encoder_that_reads_both() -> None:
    count = count_tokens(ModelTokenizer(demo_folder(), BERT), Sentence("a 😀 b 你"), BERT)
    assert count == TokenCount(6, 512, ("😀", "你"))
    both = Sentence("a b", "c d e")
    assert count_tokens(PlaceholderTokenizer(FOUR), both, FOUR) == TokenCount(5, 4, ())
    assert not replace(TokenCount(30, None, trained=20), tokens=20).is_untrained
    with pytest.raises(UserError, match="is empty"):
        count_tokens(PlaceholderTokenizer(BERT), Sentence(" "), BERT)
