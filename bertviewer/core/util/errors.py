"""The program's exceptions, and one-line messages for errors of libraries."""

import re
from collections.abc import Iterator, Mapping

from bertviewer.core.util.text import printable

MAX_MESSAGE = 600
"""Characters of a message; libraries quote whole files in theirs."""
NOT_REGULAR = "not a regular file"
"""The message for a pipe, a device or a folder where a file is expected."""
NEEDS_OTHER_FILES = (
    "it needs something from the Hub or another folder, but only the model's own files are read"
)
MAX_REASON = 200
"""Characters of a library's error that a message quotes."""

_GAP = " … "
_PYTHON_ERRORS: Mapping[type[BaseException], str] = {
    ZeroDivisionError: "it divides by zero",
    OverflowError: "a number in it is too large",
    RecursionError: "it recurses without end",
    MemoryError: "it needs more memory than is free",
}
_NAMED_ERRORS = (TypeError, AttributeError, NameError, LookupError)
"""Python's own errors whose text says little without the type."""
_EMPTY_ERRORS: Mapping[type[BaseException], str] = {
    AssertionError: "an assertion in its code fails",
    NotImplementedError: "it does not implement this",
}
# Advice to programmers: to install something, set variables, allow code to run, or write Python.
# Compiled at first use, which is never for most sessions.
_ADVICE = (
    r"\b(?:pip3?|conda|uv|apt|brew) (?:install|add)\b|\binstall|environment variable|https?://"
    r"|\b(?:HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|TORCH|PYTORCH|CUDA|USE|PROTOCOL_BUFFERS)_[A-Z]"
    r"|trust_remote_code|[Rr]emote code|huggingface-cli|\bhf auth\b|\b[Ll]og ?in\b|\btoken ?="
    r"|from_pretrained|attn_implementation|[Oo]ffline mode|[Ii]nternet connection"
    r"|[Rr]estart your|[Oo]pen an issue|[Pp]ull request"
    r"|individual layer configs|per_layer_config\[|allow_global|h(?:omo|etero)geneous"
)
_SENTENCE_END = r"(?<=[.!?;])\s+|\n+"
_MISSING = r"requires? (?:the )?[`']?([\w.-]+)[`']? (?:library|package|backend)"


class UserError(Exception):
    """An error that the user can fix; its text is one printable line with the thing and the cause.

    Characters of quoted files that are not printable are escaped, and the middle of a message of
    more than ``MAX_MESSAGE`` characters is left out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class TooLongError(UserError):
    """A text has more tokens than the model accepts; it can be truncated."""


class UnknownTypeError(UserError):
    """A configuration has a model type that transformers does not have."""


class Stopped(Exception):
    """Work was stopped from outside; ``except Exception`` around a library must let it through."""


class Cancelled(Stopped):
    """The user cancelled the work; raised by progress callbacks and forward hooks."""


def error_reason(error: Exception) -> str:
    """Return an error's message; of a system error without Python's number and path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def one_line(message: str) -> str:
    """Return a message as one printable line of at most about ``MAX_MESSAGE`` characters."""
    return _without_middle(printable(" ".join(_without_middle(message).split())))


def _without_middle(text: str) -> str:
    half = MAX_MESSAGE // 2
    return text if len(text) <= MAX_MESSAGE else f"{text[:half]}{_GAP}{text[-half:]}"


def describe_error(error: BaseException) -> str:
    """Return why a library failed, in one line of at most ``MAX_REASON`` characters."""
    text = _python_message(error) or library_message(error)
    text = text or _EMPTY_ERRORS.get(type(error), "no reason given")
    if len(text) <= MAX_REASON:
        return text
    # A TypeError's message begins with the repr of a whole model.
    half = (MAX_REASON - len(_GAP)) // 2
    return f"{text[:half]}{_GAP}{text[-half:]}"


def _python_message(error: BaseException) -> str:
    """Return the message for an error that Python or torch raises, "" for one of a library."""
    if isinstance(error, IndexError) and str(error) == "index out of range in self":
        return "an index is out of range"
    if isinstance(error, TypeError) and "meta" in str(error):
        return "it depends on activation values, which do not exist on the meta device"
    if type(error) in _PYTHON_ERRORS:
        return _PYTHON_ERRORS[type(error)]
    if isinstance(error, _NAMED_ERRORS) and not known_cause(error):
        return ": ".join(filter(None, (type(error).__name__, library_message(error))))
    return ""


def library_message(error: BaseException) -> str:
    """Return a library's message in one line, without advice to programmers; "" if none is left."""
    if cause := known_cause(error):
        return cause
    kept = [part for part in re.split(_SENTENCE_END, str(error)) if not re.search(_ADVICE, part)]
    return " ".join(" ".join(kept).split())


def known_cause(error: BaseException) -> str:
    """Return this program's message for a missing library or a file that is elsewhere, else ""."""
    for cause in _causes(error):
        if isinstance(cause, ImportError):
            found = re.search(_MISSING, str(cause))
            name = found[1] if found else (cause.name or "").partition(".")[0]
            return f"it needs {f'the library {name}' if name else 'a library'}, which is missing"
        if _is_hub_error(cause):
            return NEEDS_OTHER_FILES
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the chain of its explicit causes."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__


def _is_hub_error(error: BaseException) -> bool:
    """Return whether the network or the Hub was asked for a file that is not on this disk.

    huggingface_hub's only other errors come from validating a configuration's fields.
    """
    kinds = {kind.__module__: kind.__name__ for kind in type(error).__mro__}
    name = kinds.get("huggingface_hub.errors", "StrictDataclassError")
    return isinstance(error, ConnectionError) or not name.startswith("StrictDataclass")
