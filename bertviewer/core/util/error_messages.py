"""What libraries say when they fail, without what they advise programmers to do about it."""

import re
from collections.abc import Iterator, Mapping

ELSEWHERE = (
    "it needs something from the Hub or another folder, but only the model's own files are read"
)
MOST_SAID = 200
"""Characters of an error's own words that are told."""

_LEFT_OUT = " … "
_PLAIN: Mapping[type[BaseException], str] = {
    ZeroDivisionError: "it divides by zero",
    OverflowError: "a number in it is too large",
    RecursionError: "it recurses without end",
    MemoryError: "it needs more memory than is free",
}
_QUOTED = (TypeError, AttributeError, NameError, LookupError)
"""Python's own errors: their text says little without the type."""
_ROWS = "index out of range in self"
_WITHOUT_WORDS: Mapping[type[BaseException], str] = {
    AssertionError: "an assertion in its code fails",
    NotImplementedError: "it does not implement this",
}
_NO_REASON = "no reason given"
# They install things, set variables, allow code to run, or write Python.
_ADVICE = re.compile(
    r"\b(?:pip3?|conda|uv|apt|brew) (?:install|add)\b|\binstall|environment variable|https?://"
    r"|\b(?:HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|TORCH|PYTORCH|CUDA|USE|PROTOCOL_BUFFERS)_[A-Z]"
    r"|trust_remote_code|[Rr]emote code|huggingface-cli|\bhf auth\b|\b[Ll]og ?in\b|\btoken ?="
    r"|from_pretrained|attn_implementation|[Oo]ffline mode|[Ii]nternet connection"
    r"|[Rr]estart your|[Oo]pen an issue|[Pp]ull request"
    r"|individual layer configs|per_layer_config\[|allow_global|h(?:omo|etero)geneous"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEEDED = re.compile(r"requires? (?:the )?[`']?([\w.-]+)[`']? (?:library|package|backend)")


def words_of(error: BaseException) -> str:
    """Return why a library failed, in one line of at most ``MOST_SAID`` characters."""
    said = _of_python(error) or plain_words(error)
    said = said or _WITHOUT_WORDS.get(type(error), _NO_REASON)
    if len(said) <= MOST_SAID:
        return said
    # Python puts a whole model before what it says of it.
    half = (MOST_SAID - len(_LEFT_OUT)) // 2
    return f"{said[:half]}{_LEFT_OUT}{said[-half:]}"


def _of_python(error: BaseException) -> str:
    """Return how an error that Python raises is reported; "" for a library's own."""
    if isinstance(error, IndexError) and str(error) == _ROWS:
        return "an index is out of range"
    if isinstance(error, TypeError) and "meta" in str(error):
        return "it depends on activation values, which do not exist on the meta device"
    if type(error) in _PLAIN:
        return _PLAIN[type(error)]
    if isinstance(error, _QUOTED) and not own_words(error):
        return ": ".join(filter(None, (type(error).__name__, plain_words(error))))
    return ""


def plain_words(error: BaseException) -> str:
    """Return what an error of a library says, in one line; "" if that is nothing but advice."""
    if own := own_words(error):
        return own
    kept = [said for said in _SENTENCE.split(str(error)) if not _ADVICE.search(said)]
    return " ".join(" ".join(kept).split())


def own_words(error: BaseException) -> str:
    """Return what this program says of a library that is missing, or of what lies elsewhere."""
    for cause in _causes(error):
        if isinstance(cause, ImportError):
            return _missing(cause)
        if _is_of_the_hub(cause):
            return ELSEWHERE
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it was raised from, and so on."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__


def _missing(error: ImportError) -> str:
    found = _NEEDED.search(str(error))
    name = found[1] if found else (error.name or "").partition(".")[0]
    return f"it needs {f'the library {name}' if name else 'a library'}, which is missing"


def _is_of_the_hub(error: BaseException) -> bool:
    """Tell whether somebody asked for what is not on this disk.

    What huggingface_hub checks the fields of a configuration with is the one other thing of it.
    """
    kinds = {kind.__module__: kind.__name__ for kind in type(error).__mro__}
    name = kinds.get("huggingface_hub.errors", "StrictDataclassError")
    return isinstance(error, ConnectionError) or not name.startswith("StrictDataclass")
