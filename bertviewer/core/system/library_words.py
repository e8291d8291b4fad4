"""What libraries say when they fail, without what they advise programmers to do about it."""

import re
from collections.abc import Iterator

ELSEWHERE = (
    "it asks for something of the hub or of another folder, and only the model's own files are read"
)
MOST_SAID = 200
"""Characters of an error's own words that are told."""

_LEFT_OUT = " … "
# Of these the words alone say little, as "'added_tokens'" of a KeyError.
_SHORT_OF_WORDS = (KeyError, TypeError, AttributeError, NameError, ArithmeticError)
# They install things, set variables, allow code to run, or write Python.
_ADVICE = re.compile(
    r"\b(?:pip3?|conda|uv|apt|brew) (?:install|add)\b|\binstall|environment variable|https?://"
    r"|\b(?:HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|TORCH|PYTORCH|CUDA|USE|PROTOCOL_BUFFERS)_[A-Z]"
    r"|trust_remote_code|[Rr]emote code|huggingface-cli|\bhf auth\b|\b[Ll]og ?in\b|\btoken ?="
    r"|from_pretrained|attn_implementation|[Oo]ffline mode|[Ii]nternet connection"
    r"|[Rr]estart your|[Oo]pen an issue|[Pp]ull request"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEEDED = re.compile(r"requires? (?:the )?[`']?([\w.-]+)[`']? (?:library|package|backend)")


def words_of(error: BaseException) -> str:
    """Return what an error of a library says, in one line of at most ``MOST_SAID`` characters."""
    said = plain_words(error)
    if isinstance(error, IndexError) and said == "index out of range in self":
        said = "it looks up a row that one of its tables does not have"
    if not said:
        return type(error).__name__
    if isinstance(error, _SHORT_OF_WORDS):
        said = f"{type(error).__name__}: {said}"
    if len(said) <= MOST_SAID:
        return said
    # Python puts a whole model before what it says of it.
    half = (MOST_SAID - len(_LEFT_OUT)) // 2
    return f"{said[:half]}{_LEFT_OUT}{said[-half:]}"


def plain_words(error: BaseException) -> str:
    """Return what an error of a library says, in one line; "" if that is nothing but advice."""
    if own := own_words(error):
        return own
    kept = [said for said in _SENTENCE.split(str(error)) if not _ADVICE.search(said)]
    return " ".join(" ".join(kept).split())


def named_words(error: BaseException) -> str:
    """Return the same after the error's class, which says more to those who know it."""
    if own := own_words(error):
        return own
    return f"{type(error).__name__}: {plain_words(error)}".removesuffix(": ")


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
    return f"it needs {f'the library {name}' if name else 'a library'}, which is not there"


def _is_of_the_hub(error: BaseException) -> bool:
    """Tell whether somebody asked for what is not on this disk.

    What huggingface_hub checks the fields of a configuration with is the one other thing of it.
    """
    kinds = {kind.__module__: kind.__name__ for kind in type(error).__mro__}
    name = kinds.get("huggingface_hub.errors", "StrictDataclassError")
    return isinstance(error, ConnectionError) or not name.startswith("StrictDataclass")


def one_line(error: Exception) -> str:
    """Return what failed in one line, for a person."""
    text = plain_words(error)[:200]
    # What these say can be read by itself; what a KeyError says cannot.
    says_all = text and isinstance(error, ValueError | RuntimeError)
    return text if says_all else f"{type(error).__name__}: {text}"
