"""What is asked of tokens: the special ones, pieces of words, segments, positions."""

from bertviewer.core.activations.activation_run import ActivationRun, Token
from bertviewer.core.explanations.explanation import Asked, Explanation, Numbers
from bertviewer.core.explanations.facts import (
    compares_tokens,
    end_of,
    mask_of,
    sees_all,
    start_of,
    tokens_of,
)
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.families.names import POSITION_TABLES
from bertviewer.core.families.special_tokens import READS_GUESSES
from bertviewer.core.lengths.length_limits import table_room

_EMBEDDINGS = ("embeddings",)
_WORDS = ("word_embeddings",)
_SEGMENTS = ("token_type_embeddings",)
_CONTINUES, _SPACE, _PIECE = "##", "Ġ", "▁"


def _start(asked: Asked) -> Numbers | None:
    start = start_of(asked)
    return None if start is None or not sees_all(asked.architecture) else {"start": start}


def _where_start(asked: Asked) -> Numbers | None:
    places = () if asked.run is None else tokens_of(asked.run, "cls")
    if asked.run is None or len(places) != 1:
        return None
    return {"place": str(places[0]), "tokens": str(len(asked.run.tokens))}


def _end(asked: Asked) -> Numbers | None:
    end = end_of(asked)
    return None if end is None or not sees_all(asked.architecture) else {"end": end}


def _where_ends(asked: Asked) -> Numbers | None:
    places = () if asked.run is None else tokens_of(asked.run, "sep")
    if not places:
        return None
    return {"places": " and ".join(map(str, places))}


def _segment_rows(asked: Asked) -> tuple[int, int] | None:
    """Return the shape of the table of segments, ``None`` where there is none."""
    for tensor in asked.architecture.parameters:
        if tensor.name.endswith("token_type_embeddings.weight") and len(tensor.shape) == 2:
            return tensor.shape[0], tensor.shape[1]
    return None


def _segments(asked: Asked) -> Numbers | None:
    rows = _segment_rows(asked)
    end = end_of(asked)
    if rows is None or rows[0] < 2 or end is None or not compares_tokens(asked.architecture):
        return None
    return {"rows": str(rows[0]), "width": f"{rows[1]:,}", "end": end}


def _one_segment(asked: Asked) -> Numbers | None:
    rows = _segment_rows(asked)
    return {"width": f"{rows[1]:,}"} if rows is not None and rows[0] == 1 else None


def _in_segments(asked: Asked) -> Numbers | None:
    if asked.run is None or asked.architecture.config.get("is_encoder_decoder"):
        return None
    counts = [sum(token.segment == number for token in asked.run.tokens) for number in (0, 1)]
    return {"first": str(counts[0]), "second": str(counts[1])}


def _mask(asked: Asked) -> Numbers | None:
    mask = mask_of(asked)
    is_guessed = sees_all(asked.architecture) and not _tells_replaced(asked)
    return {"mask": mask} if mask is not None and is_guessed else None


def _replaced(asked: Asked) -> Numbers | None:
    mask = mask_of(asked)
    return {"mask": mask} if mask is not None and _tells_replaced(asked) else None


def _tells_replaced(asked: Asked) -> bool:
    return asked.architecture.config.get("model_type") in READS_GUESSES


def _where_masks(asked: Asked) -> Numbers | None:
    places = () if asked.run is None else tokens_of(asked.run, "mask")
    return {"places": " and ".join(map(str, places))} if places else None


def _words(run: ActivationRun) -> list[list[Token]]:
    """Return the pieces of each word of a run."""
    words: dict[tuple[int | None, int], list[Token]] = {}
    for token in run.tokens:
        if token.word is not None:
            words.setdefault((token.sentence, token.word), []).append(token)
    return list(words.values())


def _pieces(asked: Asked) -> Numbers | None:
    if asked.run is None:
        return None
    rows = asked.architecture.config.get("vocab_size")
    cut = [word for word in _words(asked.run) if any(t.text.startswith(_CONTINUES) for t in word)]
    if not cut or not isinstance(rows, int):
        return None
    longest = max(cut, key=len)
    return {
        "rows": f"{rows:,}",
        "word": "".join(token.text.removeprefix(_CONTINUES) for token in longest),
        "pieces": " ".join(token.text for token in longest),
    }


def _marks_of_spaces(asked: Asked) -> Numbers | None:
    return _marked(asked, _SPACE)


def _marks_of_pieces(asked: Asked) -> Numbers | None:
    return _marked(asked, _PIECE)


def _marked(asked: Asked, mark: str) -> Numbers | None:
    texts = [] if asked.run is None else [token.text for token in asked.run.tokens]
    count = sum(text.startswith(mark) for text in texts)
    return {"count": str(count), "tokens": str(len(texts))} if count else None


def _positions(asked: Asked) -> Numbers | None:
    """Return how many tokens a learnt table of positions has room for."""
    limit = table_room(asked.architecture)
    kinds = (ModuleKind.EMBEDDING, ModuleKind.OFFSET_POSITIONS)
    if limit is None or asked.view.kind not in kinds or "weight" not in asked.view.tensors:
        return None
    if asked.architecture.config.get("relative_attention") is True:
        return None  # DeBERTa's scores compare places too
    if not compares_tokens(asked.architecture):
        return None
    return {"limit": f"{limit:,}"}


EXPLANATIONS = (
    Explanation(
        "start-token",
        "What is {start} for?",
        "{start} stands for no word. It is there before every text, and attention lets it gather "
        "from all tokens, so that its last vector can stand for the whole; heads that judge whole "
        "texts read it.",
        ("Devlin et al. 2019",),
        _start,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it is token {place} of {tokens}.",
        measured=_where_start,
    ),
    Explanation(
        "end-token",
        "What is {end} for?",
        "{end} stands for no word. It is there at the end of each text, and between the two of a "
        "pair, so that the model sees where one ends.",
        ("Devlin et al. 2019",),
        _end,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it stands at {places}.",
        measured=_where_ends,
    ),
    Explanation(
        "segments",
        "Why both {end} and segments?",
        "{end} marks the border at one place, which every other token would have to find by "
        "attention. The segment's vector, one of {rows} rows of {width} numbers, is added to each "
        "token, so that each says by itself which of two sentences it is of.",
        ("Devlin et al. 2019",),
        _segments,
        _EMBEDDINGS,
        _SEGMENTS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run {first} tokens are of segment 0 and {second} of segment 1.",
        measured=_in_segments,
    ),
    Explanation(
        "one-segment",
        "Why is there a table of segments with one row?",
        "The row is added to every token alike, and tells nothing apart. RoBERTa was trained "
        "without next sentence prediction, and separators alone part the two texts of a pair.",
        ("Liu et al. 2019",),
        _one_segment,
        _EMBEDDINGS,
        _SEGMENTS,
        sections=("tokens",),
    ),
    Explanation(
        "mask-token",
        "What is {mask} for?",
        "{mask} hides a word that the model has to guess from both sides. BERT was trained on 15% "
        "of its tokens: of these 80% were masked, 10% were another word and 10% stayed, as "
        "nothing is masked when the model is used.",
        ("Devlin et al. 2019",),
        _mask,
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        sections=("tokens", "predictions"),
        measured_text="In this run it stands at {places}.",
        measured=_where_masks,
    ),
    Explanation(
        "mask-token-of-generator",
        "What is {mask} for?",
        "In ELECTRA's training a small model, the generator, guesses the words that {mask} hides. "
        "The larger one, the discriminator, reads its guesses in their place and tells of every "
        "token whether it was replaced, so that it learns from all of them and never sees {mask}.",
        ("Clark et al. 2020",),
        _replaced,
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        sections=("tokens", "predictions"),
    ),
    Explanation(
        "pieces",
        "What does ## mean?",
        "A word that the vocabulary lacks is cut into pieces that it has, and ## marks a piece "
        "that continues a word. So {rows} entries are enough to read any word.",
        ("Wu et al. 2016", "Devlin et al. 2019"),
        _pieces,
        names=_WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run {word} became {pieces}.",
        measured=_pieces,
    ),
    Explanation(
        "marked-spaces",
        "What does Ġ mean?",
        "The vocabulary is of bytes and of what often follows one another (byte-pair encoding), "
        "and Ġ is how it writes a space. A token with it begins a word; one without goes on, or "
        "begins the text.",
        ("Sennrich et al. 2016", "Radford et al. 2019"),
        _marks_of_spaces,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run {count} of {tokens} tokens begin with it.",
        measured=_marks_of_spaces,
    ),
    Explanation(
        "marked-pieces",
        "What does ▁ mean?",
        "SentencePiece reads a text with its spaces, and writes each as ▁. A token with it begins "
        "a word, one without goes on.",
        ("Kudo & Richardson 2018",),
        _marks_of_pieces,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run {count} of {tokens} tokens begin with it.",
        measured=_marks_of_pieces,
    ),
    Explanation(
        "positions",
        "Why is there a table of positions?",
        "The product of a query and a key compares what two tokens are, and not where they stand. "
        "So each place has a vector of its own that is added to the token there, and there are "
        "{limit} of them: no text can be longer.",
        ("Vaswani et al. 2017", "Devlin et al. 2019"),
        _positions,
        names=POSITION_TABLES,
        sections=("tokens", "formulas"),
    ),
)
"""The questions about tokens, the most asked first."""
