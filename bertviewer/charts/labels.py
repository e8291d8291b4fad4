"""What tokens and hidden states are called: in titles and lists, on axes, in legends.

Where an element of a tensor stands and what it is, in words.

How tensors are counted, in the same words everywhere.

A tensor counts once, by its first name; further names of it are tied names.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from bertviewer.charts.translation import translate
from bertviewer.core.analysis.tokens import words_of
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import isolated

MAX_TOKEN = 16  # letters of a token in a list or a legend
LONGEST_NORM = 6  # letters of a norm's name on an axis


def visible(text: str) -> str:
    """Return a token's text on one line: its control characters by name, spaces alone as ␣."""
    if text and not text.strip(" "):
        return "␣" * len(text)
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter
        for letter in text
    )


def shortened(text: str, length: int) -> str:
    """Return at most so many characters, and a sign that there are more."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def token_title(run: ActivationRun, token: int) -> str:
    """Return a token's text and place, and those of its word: "river (token 5, word 4)"."""
    text = isolated(visible(run.tokens[token].text))
    word = next((word for word in words_of(run) if token in word.tokens), None)
    if word is None:
        return translate("charts", "{0} (token {1})").format(text, token)
    if len(word.tokens) == 1:
        return translate("charts", "{0} (token {1}, word {2})").format(text, token, word.number)
    says = translate("charts", "{0} (token {1}, in word {2}: {3})")
    return says.format(text, token, word.number, isolated(visible(word.text)))


def token_name(run: ActivationRun, token: int, partner: int | None = None) -> str:
    """Return a token's text and place, as "bank (2)".

    Where the same token of run A is at another place, that is told too: "bank (2, A 3)".
    """
    places = str(token) if partner in (None, token) else f"{token}, A {partner}"
    return f"{isolated(shortened(visible(run.tokens[token].text), MAX_TOKEN))} ({places})"


def state_labels(count: int) -> tuple[str, ...]:
    """Return short names of hidden states: emb, 0, 1 and so on."""
    return (translate("charts", "emb"), *map(str, range(count - 1)))[:count]


def state_names(count: int) -> tuple[str, ...]:
    """Return their names in words."""
    name = translate("charts", "layer {0}")
    return (
        translate("charts", "embeddings"),
        *map(name.format, range(count - 1)),
    )[:count]


def names_of_states(run: ActivationRun) -> tuple[str, ...]:
    """Return the names of a run's hidden states in words.

    transformers takes GPT-2's last one after the final layer norm: "layer 11, after ln_f" is not
    what layer 11 gave.
    """
    return _with_norm(run, state_names(len(run.token_norms)))


def state_ticks(run: ActivationRun) -> tuple[str, ...]:
    """Return their short names, the last one with its norm likewise: "11, after ln_f"."""
    # Of states that differ in size there are norms alone.
    count = max(len(run.token_norms), len(run.hidden_states))
    return _with_norm(run, state_labels(count))


def axis_labels(run: ActivationRun) -> tuple[str, ...]:
    """Return labels of the hidden states for an axis, the last one with its norm: "11+ln_f"."""
    labels, norm = state_labels(len(run.token_norms)), norm_after(run)
    if len(labels) < 2 or not norm:
        return labels
    short = norm if len(norm) <= LONGEST_NORM else "norm"
    return (*labels[:-1], f"{labels[-1]}+{short}")


def norm_after(run: ActivationRun) -> str:
    """Return the name of the norm that the last hidden state is taken after, "" if there is none.

    It is a module outside of all layers, as GPT-2's ln_f.
    """
    givers = run.state_paths[-1] if run.state_paths else ()
    # A layer is one of a list: there is a number in its path. What holds a single one is no norm.
    outside = [path for path in givers if path and not any(map(str.isdecimal, path.split(".")))]
    holders = {path for path in outside if any(m.path.startswith(f"{path}.") for m in run.modules)}
    after = dict.fromkeys(path.split(".")[-1] for path in outside if path not in holders)
    return " / ".join(after)


def _with_norm(run: ActivationRun, names: tuple[str, ...]) -> tuple[str, ...]:
    norm = norm_after(run)
    if len(names) < 2 or not norm:
        return names
    return (*names[:-1], translate("charts", "{0}, after {1}").format(names[-1], norm))


def token_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return names that tell tokens of the same text apart."""
    name = translate("charts", "{0} (token {1})")
    return tuple(name.format(isolated(token.text), place) for place, token in enumerate(tokens))


def tensors_text(tensors: Iterable[TensorInfo]) -> str:
    """Return "58 tensors", or "58 tensors and 2 tied names" where some have several names."""
    tied = [tensor.tied_to is not None for tensor in tensors]
    count = tied.count(False)
    counted = count_text(count, translate("charts", "1 tensor"), translate("charts", "{0} tensors"))
    if not (names := tied.count(True)):
        return counted
    also = count_text(
        names, translate("charts", "1 tied name"), translate("charts", "{0} tied names")
    )
    return translate("charts", "{0} and {1}").format(counted, also) if count else also
