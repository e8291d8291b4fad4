"""Which tokens of a run belong together: special ones, those of either text, classes of them."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.sources.special_tokens import MASKS, SEPARATORS, STARTS


class TokenClass(Struct, frozen=True):
    """Some tokens of a run that belong together.

    Attributes:
        name: "all", "content", "cls", "sep", "mask", "special", "first", "second", "unknown" or
            "last": the same for every family.
        label: what a person calls them: the token itself, as the family writes it, or English.
        tokens: their places among the run's tokens, in order.
    """

    name: str
    label: str
    tokens: tuple[int, ...]


def token_classes(run: ActivationRun) -> tuple[TokenClass, ...]:
    """Return the classes that have a token in this run, the widest first.

    ``cls`` are the tokens that stand for the whole text, ``sep`` those that end a sentence,
    ``special`` the special tokens that are neither, masks apart. ``first`` and ``second`` are the
    content of the two texts of a pair. ``last`` is the last token where it is content: a decoder
    as GPT-2 puts what it read of the text there. A token can be in several classes.
    """
    every = tuple(enumerate(run.tokens))
    special = {place: token.text for place, token in every if token.is_special}
    known = STARTS | SEPARATORS | MASKS
    starts = [place for place, text in special.items() if text in STARTS]
    ends = [place for place, text in special.items() if text in SEPARATORS]
    # A mask that somebody typed is a mask, whether the tokenizer calls it special or not.
    masks = [place for place, token in every if token.text in MASKS]
    segments = segments_of(run)
    texts = [[place for place, _ in every if segments[place] == number] for number in (0, 1)]
    first, second = texts if all(texts) else ([], [])
    last = [place for place, _ in every[-1:] if place not in special]
    classes = (
        ("all", "all tokens", [place for place, _ in every]),
        ("content", "content", [place for place, _ in every if place not in special]),
        ("cls", _label(run, starts), starts),
        ("sep", _label(run, ends), ends),
        ("mask", _label(run, masks), masks),
        ("special", "other special", [p for p, text in special.items() if text not in known]),
        ("first", "first sentence", first),
        ("second", "second sentence", second),
        ("unknown", "unknown", [place for place, token in every if token.is_unknown]),
        ("last", "last token", last),
    )
    return tuple(TokenClass(name, label, tuple(found)) for name, label, found in classes if found)


def segments_of(run: ActivationRun) -> tuple[int | None, ...]:
    """Return for each token whether it is of the first text, 0, or of the second, 1.

    Special tokens are of neither: ``None``. The tokens' own segments tell; where a family has one
    for both (RoBERTa's and GPT-2's are all 0), the text does that the tokenizer took a token from:
    not every family puts a separator between the two, mBART and GPT-2 have none.
    """
    own = {token.segment for token in run.tokens if not token.is_special}
    return tuple(
        None if token.is_special else (token.sentence or 0) if own == {0} else token.segment
        for token in run.tokens
    )


def second_start(tokens: Sequence[Token]) -> int | None:
    """Return the first token of the second text, ``None`` where there is but one text.

    It is of segment 1, as a decoder's tokens are too; where a family has one segment for both
    sentences (RoBERTa's and GPT-2's are all 0), the text tells that it was taken from.
    """
    return next((n for n, token in enumerate(tokens) if 1 in (token.segment, token.sentence)), None)


def text_starts(tokens: Sequence[Token]) -> tuple[int, ...]:
    """Return the tokens at which a further text begins: a second sentence, what a decoder reads.

    A pair that a decoder reads again has three. The segment tells them, or, where a family has one
    segment for both sentences, the text that a token was taken from.
    """
    starts, segment, sentence = [], 0, 0
    for place, token in enumerate(tokens):
        if token.segment == 1 != segment:
            starts.append(place)
            # What is put around a text belongs to it.
            read = (one.sentence for one in tokens[place:] if one.sentence is not None)
            sentence = next(read, 0)
        elif token.sentence == 1 != sentence:
            starts.append(place)
        segment = token.segment
        sentence = sentence if token.sentence is None else token.sentence
    return tuple(starts)


def _label(run: ActivationRun, places: list[int]) -> str:
    """Return the tokens' own texts, each once."""
    return " ".join(dict.fromkeys(run.tokens[place].text for place in places))
