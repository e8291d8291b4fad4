"""Words, special and unknown tokens of each kind of tokenizer there is."""

from pathlib import Path

import pytest

from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.worker import word_starts
from tests.core.tokenization.small_tokenizers import MAKERS, write_python_tokenizer, write_tokenizer


@pytest.fixture(scope="session", params=sorted(MAKERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    for kind in MAKERS:
        folders[kind] = tmp_path_factory.mktemp(kind)
        write_tokenizer(kind, folders[kind])
    return folders


def words(tokens: tuple[Token, ...]) -> list[str]:
    """Return what was written for each word, spaces at its ends apart."""
    found: dict[int, str] = {}
    for token in tokens:
        if token.word is not None:
            found[token.word] = found.get(token.word, "") + token.written
    assert list(found) == list(range(len(found)))
    return [text.strip() for text in found.values()]


def test_words_stand_between_spaces(kind: str, folders: dict[str, Path]) -> None:
    tokens = ModelTokenizer(folders[kind]).tokenize(Sentence("this is a 12212121 test"))
    assert words(tokens) == ["this", "is", "a", "12212121", "test"]


def test_spaces_are_no_words(kind: str, folders: dict[str, Path]) -> None:
    tokens = ModelTokenizer(folders[kind]).tokenize(Sentence("  this \n  cat  "))
    assert words(tokens) == ["this", "cat"]


def test_words_of_a_pair_go_on_counting(kind: str, folders: dict[str, Path]) -> None:
    tokens = ModelTokenizer(folders[kind]).tokenize(Sentence("the cat", "the mat"))
    assert words(tokens) == ["the", "cat", "the", "mat"]
    special = [token.text for token in tokens if token.is_special]
    assert special == {
        "bert": ["[CLS]", "[SEP]", "[SEP]"],
        "roberta": ["<s>", "</s>", "</s>", "</s>"],
    }.get(kind, ["</s>", "</s>"])


def test_each_token_knows_which_text_it_is_of(kind: str, folders: dict[str, Path]) -> None:
    tokens = ModelTokenizer(folders[kind]).tokenize(Sentence("the cat", "the mat"))
    written = ["".join(t.written for t in tokens if t.sentence == text) for text in (0, 1)]
    assert ["".join(text.split()) for text in written] == ["thecat", "themat"]
    assert all(token.is_special == (token.sentence is None) for token in tokens)


def test_mbart_puts_nothing_between_two_texts(tmp_path: Path) -> None:
    from bertviewer.core.building.backend import transformers
    from tests.core.tokenization.small_tokenizers import unigram

    pieces = [*unigram().get_vocab(), "en_XX"]
    scores = [(piece, -1.0) for piece in dict.fromkeys(pieces)]
    made = transformers.MBartTokenizer(vocab=scores, src_lang="en_XX")
    made.save_pretrained(tmp_path)
    tokens = ModelTokenizer(tmp_path, {"model_type": "mbart", "is_encoder_decoder": True}).tokenize(
        Sentence("the cat", "the mat")
    )
    assert [t.text for t in tokens if t.sentence is None] == ["</s>", "en_XX"]
    texts = [t.sentence for t in tokens if t.sentence is not None]
    assert texts == sorted(texts)
    assert set(texts) == {0, 1}
    assert {t.segment for t in tokens} == {0}


def test_a_mask_is_one_special_token(folders: dict[str, Path]) -> None:
    for kind, mask in (("bert", "[MASK]"), ("roberta", "<mask>")):
        tokens = ModelTokenizer(folders[kind]).tokenize(Sentence(f"the {mask} sat"))
        (token,) = (token for token in tokens if token.text == mask)
        assert token.is_special
        assert token.word is None
        assert words(tokens) == ["the", "sat"]


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [("bert", ["😀"]), ("roberta", []), ("sentencepiece", ["😀"]), ("unsplit", ["😀"])],
)
def test_what_the_vocabulary_lacks(kind: str, unknown: list[str], folders: dict[str, Path]) -> None:
    tokens = ModelTokenizer(folders[kind]).tokenize(Sentence("cat 😀 mat"))
    assert [token.written for token in tokens if token.is_unknown] == unknown
    assert not any(token.is_special and token.is_unknown for token in tokens)
    assert len({token.word for token in tokens} - {None}) == 3


def test_a_token_of_many_duties_is_not_unknown(tmp_path: Path) -> None:
    from bertviewer.core.building.backend import transformers
    from tests.core.tokenization.small_tokenizers import byte_level

    # As GPT-2, whose end of text is its unknown token as well.
    end = {f"{role}_token": "</s>" for role in ("unk", "bos", "eos")}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_level(), **end)
    made.save_pretrained(tmp_path)
    tokens = ModelTokenizer(tmp_path).tokenize(Sentence("cat</s>"))
    assert [t.is_special for t in tokens if t.text == "</s>"] == [True, True]
    assert not any(token.is_unknown for token in tokens)


@pytest.fixture(scope="session")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    """Return ByT5's: bytes, and it warns of what was typed."""
    folder = tmp_path_factory.mktemp("byt5")
    write_python_tokenizer(folder)
    return ModelTokenizer(folder)


def test_one_in_python_knows_words_by_their_spaces(in_python: ModelTokenizer) -> None:
    tokens = in_python.tokenize(Sentence("a test", "cat"))
    assert [token.text for token in tokens] == [*"a test", "</s>", *"cat", "</s>"]
    assert [token.word for token in tokens] == [0, None, 1, 1, 1, 1, None, 2, 2, 2, None]


def test_one_in_python_warns_nobody(
    in_python: ModelTokenizer, capfd: pytest.CaptureFixture[str]
) -> None:
    tokens = in_python.tokenize(Sentence("a</s>"))
    assert [token.is_special for token in tokens if token.text == "</s>"][-1]
    assert not any(token.is_unknown for token in tokens)
    assert capfd.readouterr().err == ""


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
def test_where_words_start_by_their_marks(names: list[str], starts: list[int]) -> None:
    assert word_starts(names) == [bool(start) for start in starts]
