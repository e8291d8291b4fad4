"""What is asked of tokens: the special ones, pieces of words, segments, positions."""

from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.explain.facts import (
    compares_tokens,
    end_of,
    mask_of,
    sees_all,
    start_of,
    tokens_of,
)
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.sources.family_names import POSITION_TABLES
from bertviewer.core.sources.length_limits import table_room
from bertviewer.core.sources.special_tokens import READS_GUESSES

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
    return {"places": _positions_text(places)}


def _positions_text(places: tuple[int, ...]) -> str:
    """Return ``position 7`` or ``positions 3, 5 and 7``."""
    *first, last = map(str, places)
    return f"positions {', '.join(first)} and {last}" if first else f"position {last}"


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
    return {"places": _positions_text(places)} if places else None


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
    table = asked.view.tensors.get("weight")
    if limit is None or asked.node.role != "embedding" or table is None or not table.trainable:
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
        "{start} is a special token that represents no word. It is prepended to every text, and "
        "attention lets it gather information from all tokens, so that its final vector can "
        "represent the whole; sequence-level classifiers read it.",
        ("Devlin et al. 2019",),
        _start,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it is at position {place} (of {tokens}).",
        measured=_where_start,
    ),
    Explanation(
        "end-token",
        "What is {end} for?",
        "{end} is a special token that represents no word. It is placed at the end of each text, "
        "and between the two texts of a pair, so that the model sees where one ends.",
        ("Devlin et al. 2019",),
        _end,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it is at {places}.",
        measured=_where_ends,
    ),
    Explanation(
        "segments",
        "Why both {end} and segment embeddings?",
        "{end} marks the boundary at a single position, which every other token would have to "
        "find by attention. The segment embedding, one of {rows} rows of {width} numbers, is "
        "added to each token, so that each token itself shows which of two sentences it belongs "
        "to.",
        ("Devlin et al. 2019",),
        _segments,
        _EMBEDDINGS,
        _SEGMENTS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="Tokens in this run: {first} in segment 0, {second} in segment 1.",
        measured=_in_segments,
    ),
    Explanation(
        "one-segment",
        "Why does the segment table have a single row?",
        "The row is added to every token and distinguishes nothing. RoBERTa was trained without "
        "next-sentence prediction, and separators alone mark the boundary between the two texts "
        "of a pair.",
        ("Liu et al. 2019",),
        _one_segment,
        _EMBEDDINGS,
        _SEGMENTS,
        sections=("tokens",),
    ),
    Explanation(
        "mask-token",
        "What is {mask} for?",
        "{mask} hides a token that the model has to predict from the context on both sides. BERT "
        "was trained on 15% of its tokens: 80% of these were masked, 10% were replaced by a "
        "random token and 10% stayed unchanged, because nothing is masked when the model is used.",
        ("Devlin et al. 2019",),
        _mask,
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        sections=("tokens", "predictions"),
        measured_text="In this run it is at {places}.",
        measured=_where_masks,
    ),
    Explanation(
        "mask-token-of-generator",
        "What is {mask} for?",
        "In ELECTRA’s training a small model, the generator, predicts the words that {mask} "
        "hides. The larger one, the discriminator, reads the text with these predictions filled "
        "in and classifies every token as original or replaced, so it learns from all tokens and "
        "never sees {mask}.",
        ("Clark et al. 2020",),
        _replaced,
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        sections=("tokens", "predictions"),
    ),
    Explanation(
        "pieces",
        "What does ## mean?",
        "A word that is not in the vocabulary is split into pieces that are, and ## marks a "
        "piece that continues a word. So {rows} entries are enough to read any word.",
        ("Wu et al. 2016", "Devlin et al. 2019"),
        _pieces,
        names=_WORDS,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run “{word}” was split into {pieces}.",
        measured=_pieces,
    ),
    Explanation(
        "marked-spaces",
        "What does Ġ mean?",
        "The vocabulary consists of bytes and of frequent byte sequences (byte-pair encoding), "
        "in which Ġ represents a space. A token with it begins a word; a token without it "
        "continues a word or begins the text.",
        ("Sennrich et al. 2016", "Radford et al. 2019"),
        _marks_of_spaces,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it begins {count} of {tokens} tokens.",
        measured=_marks_of_spaces,
    ),
    Explanation(
        "marked-pieces",
        "What does ▁ mean?",
        "SentencePiece treats spaces as part of the text and writes each as ▁. A token with it "
        "begins a word; a token without it continues one.",
        ("Kudo & Richardson 2018",),
        _marks_of_pieces,
        views=("Tokens",),
        sections=("tokens",),
        measured_text="In this run it begins {count} of {tokens} tokens.",
        measured=_marks_of_pieces,
    ),
    Explanation(
        "positions",
        "Why are there position embeddings?",
        "The dot product of a query and a key compares the contents of two tokens, not their "
        "positions. Each position therefore has its own vector, which is added to the token "
        "there; there are {limit} of them, so no text can be longer.",
        ("Vaswani et al. 2017", "Devlin et al. 2019"),
        _positions,
        names=POSITION_TABLES,
        sections=("tokens", "formulas"),
    ),
)
"""The questions about tokens, the most asked first."""
