"""What errors of libraries say, in one line."""

MOST_SAID = 200
"""Characters of an error's own words that are told."""

_LEFT_OUT = " … "
# Of these the words alone say little, as "'added_tokens'" of a KeyError.
_SHORT_OF_WORDS = (KeyError, TypeError, AttributeError, NameError, ArithmeticError)


def words_of(error: BaseException) -> str:
    """Return what an error of a library says, in one line of at most ``MOST_SAID`` characters."""
    said = " ".join(str(error).split())
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
