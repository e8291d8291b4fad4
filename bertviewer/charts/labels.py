"""Labels of tokens, hidden states and counts: in titles, on axes, in legends."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from bertviewer.charts.translation import translate
from bertviewer.core.analysis.tokens import words_of
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import isolated

MAX_TOKEN, _MAX_NORM = 16, 6
"""Maximum length of a token in a list or a legend, and of the name of a norm on an axis."""


def visible(text: str) -> str:
    """Return a text on one line: control characters are escaped, a text of spaces is ␣."""
    if text and not text.strip(" "):
        return "␣" * len(text)
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter
        for letter in text
    )


def shortened(text: str, length: int) -> str:
    """Return at most so many characters, with an ellipsis at the end of longer texts."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def token_title(run: ActivationRun, token: int) -> str:
    """Return a token with its position and that of its word: "river (token 5, word 4)"."""
    text = isolated(visible(run.tokens[token].text))
    word = next((word for word in words_of(run) if token in word.tokens), None)
    if word is None:
        return translate("charts", "{0} (token {1})").format(text, token)
    if len(word.tokens) == 1:
        return translate("charts", "{0} (token {1}, word {2})").format(text, token, word.number)
    title = translate("charts", "{0} (token {1}, in word {2}: {3})")
    return title.format(text, token, word.number, isolated(visible(word.text)))


def token_name(run: ActivationRun, token: int, partner: int | None = None) -> str:
    """Return a token with its position: "bank (2)", or "bank (2, A 3)" if that in run A differs."""
    positions = str(token) if partner in (None, token) else f"{token}, A {partner}"
    return f"{isolated(shortened(visible(run.tokens[token].text), MAX_TOKEN))} ({positions})"


def token_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return unique names of tokens."""
    name = translate("charts", "{0} (token {1})")
    return tuple(name.format(isolated(token.text), n) for n, token in enumerate(tokens))


def state_labels(count: int) -> tuple[str, ...]:
    """Return short names of hidden states: emb, 0, 1 and so on."""
    return (translate("charts", "emb"), *map(str, range(count - 1)))[:count]


def state_names(count: int) -> tuple[str, ...]:
    """Return the names of hidden states: embeddings, layer 0 and so on."""
    name = translate("charts", "layer {0}")
    return (translate("charts", "embeddings"), *map(name.format, range(count - 1)))[:count]


def names_of_states(run: ActivationRun) -> tuple[str, ...]:
    """Return the names of a run's hidden states.

    transformers takes GPT-2's last one after the final norm, so it is "layer 11, after ln_f".
    """
    return _with_norm(run, _of_states(run, len(run.token_norms), state_names))


def state_ticks(run: ActivationRun) -> tuple[str, ...]:
    """Return the short names of a run's hidden states: "11, after ln_f"."""
    # States of different sizes have norms only.
    count = max(len(run.token_norms), len(run.hidden_states))
    return _with_norm(run, _of_states(run, count, state_labels))


def axis_labels(run: ActivationRun) -> tuple[str, ...]:
    """Return labels of the hidden states for an axis: "11+ln_f"."""
    labels, norm = _of_states(run, len(run.token_norms), state_labels), norm_after(run)
    if len(labels) < 2 or not norm:
        return labels
    return (*labels[:-1], f"{labels[-1]}+{norm if len(norm) <= _MAX_NORM else 'norm'}")


def norm_after(run: ActivationRun) -> str:
    """Return the name of the norm before the last hidden state, "" if there is none.

    It is a module outside all layers, such as GPT-2's ln_f.
    """
    producers = run.state_paths[-1] if run.state_paths else ()
    # The path of a layer has a number. The parent of a single layer is no norm.
    outside = [p for p in producers if p and not any(map(str.isdecimal, p.split(".")))]
    parents = {path for path in outside if any(m.path.startswith(f"{path}.") for m in run.modules)}
    after = dict.fromkeys(path.split(".")[-1] for path in outside if path not in parents)
    return " / ".join(after)


def _of_states(
    run: ActivationRun, count: int, names: Callable[[int], tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the names of a run's hidden states; the first of Mamba is the output of layer 0."""
    alone = [paths[0] if len(paths) == 1 else "" for paths in (*run.state_paths, (), ())]
    first, second = (path.rpartition(".") for path in alone[:2])
    is_layer = (first[0], first[2], second[2]) == (second[0], "0", "1")
    if not is_layer:
        return names(count)
    layers = names(count + 1)[1:]
    return (*layers[:-1], layers[-2]) if count > 1 and norm_after(run) else layers


def _with_norm(run: ActivationRun, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names, with that of the norm added to the last one."""
    norm = norm_after(run)
    if len(names) < 2 or not norm:
        return names
    return (*names[:-1], translate("charts", "{0}, after {1}").format(names[-1], norm))


def tensors_text(tensors: Iterable[TensorInfo]) -> str:
    """Return "58 tensors", or "58 tensors and 2 tied names" if some have several names."""
    tied = [tensor.tied_to is not None for tensor in tensors]
    count = tied.count(False)
    counted = count_text(count, translate("charts", "1 tensor"), translate("charts", "{0} tensors"))
    if not (names := tied.count(True)):
        return counted
    also = count_text(
        names, translate("charts", "1 tied name"), translate("charts", "{0} tied names")
    )
    return translate("charts", "{0} and {1}").format(counted, also) if count else also
