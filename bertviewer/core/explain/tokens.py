"""Questions about tokens: special tokens, word pieces, segments and positions."""

from functools import partial

from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.schema.activation_run import Token
from bertviewer.core.sources.families import DISCRIMINATORS, POSITION_TABLES
from bertviewer.core.sources.length_limits import position_table_length

_EMBEDDINGS = ("embeddings",)
_WORDS = ("word_embeddings",)
_SEGMENTS = ("token_type_embeddings",)
_CONTINUATION = "##"


def start_of_encoder(context: Context) -> Numbers | None:
    """Return the token before a text, if the model is an encoder that has one."""
    start = context.start_token
    return {"start": start} if start and context.is_encoder else None


def _end(context: Context) -> Numbers | None:
    end = context.end_token
    return {"end": end} if end and context.is_encoder else None


def _positions_text(context: Context, token_class: str) -> Numbers | None:
    """Return ``position 7`` or ``positions 3, 5 and 7`` of a class of tokens."""
    found = context.positions(token_class)
    if not found:
        return None
    *first, last = map(str, found)
    return {"places": f"positions {', '.join(first)} and {last}" if first else f"position {last}"}


def _segment_table(context: Context) -> tuple[int, int] | None:
    """Return the shape of the segment embedding's table, ``None`` without one."""
    for tensor in context.architecture.parameters:
        if tensor.name.endswith("token_type_embeddings.weight") and len(tensor.shape) == 2:
            return tensor.shape[0], tensor.shape[1]
    return None


def _segments(context: Context) -> Numbers | None:
    table, end = _segment_table(context), context.end_token
    if table is None or table[0] < 2 or not end or not context.compares_tokens:
        return None
    return {"rows": str(table[0]), "width": f"{table[1]:,}", "end": end}


def _one_segment(context: Context) -> Numbers | None:
    table = _segment_table(context)
    return {} if table is not None and table[0] == 1 else None


def _in_segments(context: Context) -> Numbers | None:
    if not context.tokens or context.architecture.is_encoder_decoder:
        return None
    first, second = (sum(token.segment == n for token in context.tokens) for n in (0, 1))
    return {"first": str(first), "second": str(second)} if second else None


def _mask(context: Context, *, is_discriminator: bool) -> Numbers | None:
    """Return the mask token of an encoder, or of a family whose discriminator never reads it."""
    mask, family = context.mask_token, context.architecture.config.get("model_type")
    if not mask or (family in DISCRIMINATORS) != is_discriminator:
        return None
    return {"mask": mask} if is_discriminator or context.is_encoder else None


def _pieces(context: Context) -> Numbers | None:
    words: dict[tuple[int | None, int], list[Token]] = {}
    for token in context.tokens:
        if token.word is not None:
            words.setdefault((token.sentence, token.word), []).append(token)
    split = [w for w in words.values() if any(t.text.startswith(_CONTINUATION) for t in w)]
    rows = context.architecture.config.get("vocab_size")
    if not split or not isinstance(rows, int):
        return None
    longest = max(split, key=len)
    return {
        "rows": f"{rows:,}",
        "word": "".join(token.text.removeprefix(_CONTINUATION) for token in longest),
        "pieces": " ".join(token.text for token in longest),
    }


def _marked(context: Context, mark: str) -> Numbers | None:
    """Return how many tokens of the run start with a mark for spaces."""
    count = sum(token.text.startswith(mark) for token in context.tokens)
    return {"count": str(count), "tokens": str(len(context.tokens))} if count else None


def _position_table(context: Context) -> Numbers | None:
    """Return the number of positions in a learned table, unless scores compare positions too."""
    limit = position_table_length(context.architecture)
    table = context.view.tensors.get("weight")
    is_learned = context.node.role == "embedding" and table is not None and table.trainable
    is_relative = context.architecture.config.get("relative_attention") is True  # DeBERTa
    if limit is None or not is_learned or is_relative or not context.compares_tokens:
        return None
    return {"limit": f"{limit:,}"}


EXPLANATIONS = (
    Explanation(
        "start-token",
        "What is {start} for?",
        "{start} is a special token that is prepended to every text and represents no word. "
        "Self-attention combines information from all tokens in its vector, so that its final "
        "vector can represent the whole text. Classifiers of whole texts read it.",
        "Devlin et al. 2019, section 3",
        start_of_encoder,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        section="tokens",
    ),
    Explanation(
        "end-token",
        "What is {end} for?",
        "{end} is a special token that represents no word. It marks the end of a text, and in a "
        "pair it separates the two texts.",
        "Devlin et al. 2019, section 3",
        _end,
        _EMBEDDINGS,
        _WORDS,
        views=("Tokens",),
        section="tokens",
    ),
    Explanation(
        "segments",
        "Why both {end} and segment embeddings?",
        "{end} marks the boundary between two texts at a single position. The segment embedding, "
        "one of {rows} rows of {width} numbers, is added to every token, so that each token’s own "
        "vector contains which of the texts it belongs to.",
        "Devlin et al. 2019, section 3",
        _segments,
        _EMBEDDINGS,
        _SEGMENTS,
        views=("Tokens",),
        section="tokens",
        measured_text="In this run, {first} tokens are in segment 0 and {second} in segment 1.",
        measured=_in_segments,
    ),
    Explanation(
        "one-segment",
        "Why does the segment table have a single row?",
        "The row is added to every token and distinguishes nothing. RoBERTa was trained without "
        "next-sentence prediction, and separators alone mark the boundary between the two texts "
        "of a pair.",
        "Liu et al. 2019",
        _one_segment,
        _EMBEDDINGS,
        _SEGMENTS,
        section="tokens",
    ),
    Explanation(
        "mask-token",
        "What is {mask} for?",
        "{mask} hides a token that the model predicts from the context on both sides. BERT was "
        "trained to predict 15% of its tokens: 80% of these were masked, 10% were replaced by a "
        "random token and 10% stayed unchanged, because {mask} does not occur in later use.",
        "Devlin et al. 2019, section 3.1",
        partial(_mask, is_discriminator=False),
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        section="tokens",
        measured_text="In this run it is at {places}.",
        measured=partial(_positions_text, token_class="mask"),
    ),
    Explanation(
        "mask-token-of-generator",
        "What is {mask} for?",
        "ELECTRA is trained with two models. The smaller one, the generator, predicts the tokens "
        "that {mask} hides. The larger one, the discriminator, reads the text with these "
        "predictions filled in and classifies every token as original or replaced, so that it "
        "never receives {mask}.",
        "Clark et al. 2020, section 2",
        partial(_mask, is_discriminator=True),
        ("language-model head", *_EMBEDDINGS),
        views=("Tokens", "Predictions"),
        section="tokens",
    ),
    Explanation(
        "pieces",
        "What does ## mean?",
        "A word that is not in the vocabulary is split into pieces that are, and ## marks a "
        "piece that continues a word. In this way, {rows} entries suffice for almost any word.",
        "Wu et al. 2016; Devlin et al. 2019, section 3",
        _pieces,
        names=_WORDS,
        views=("Tokens",),
        section="tokens",
        measured_text="In this run, “{word}” was split into {pieces}.",
    ),
    Explanation(
        "marked-spaces",
        "What does Ġ mean?",
        "The vocabulary consists of bytes and of frequent byte sequences (byte-pair encoding), "
        "in which Ġ represents a space. A token that begins with Ġ follows a space; any other "
        "token begins the text or continues it without a space.",
        "Sennrich et al. 2016; Radford et al. 2019, section 2.2",
        partial(_marked, mark="Ġ"),
        views=("Tokens",),
        section="tokens",
        measured_text="In this run, {count} of {tokens} tokens begin with it.",
    ),
    Explanation(
        "marked-pieces",
        "What does ▁ mean?",
        "SentencePiece treats spaces as part of the text and writes each as ▁. A token that "
        "begins with ▁ follows a space or begins the text; any other token continues the text "
        "without a space.",
        "Kudo & Richardson 2018",
        partial(_marked, mark="▁"),
        views=("Tokens",),
        section="tokens",
        measured_text="In this run, {count} of {tokens} tokens begin with it.",
    ),
    Explanation(
        "positions",
        "Why are there position embeddings?",
        "The dot product of a query and a key compares the contents of two tokens, not their "
        "positions. Therefore the vector of each position is added to the token there. There are "
        "{limit} such vectors, so no input can be longer.",
        "Vaswani et al. 2017, section 3.5; Devlin et al. 2019, section 3",
        _position_table,
        names=POSITION_TABLES,
        section="formulas",
    ),
)
