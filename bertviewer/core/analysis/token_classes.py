"""The classes of tokens that a chart can show one by one: [CLS], [SEP], content and so on."""

from dataclasses import dataclass

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.special_tokens import MASKS, SEPARATORS, STARTS
from bertviewer.core.analysis.words import segments_of


@dataclass(frozen=True, slots=True)
class TokenClass:
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


def _label(run: ActivationRun, places: list[int]) -> str:
    """Return the tokens' own texts, each once."""
    return " ".join(dict.fromkeys(run.tokens[place].text for place in places))
