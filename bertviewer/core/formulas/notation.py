"""The typography of formulas: bold matrices and vectors, italic numbers, upright names.

Capital letters are matrices, except for sizes. Lowercase letters in ``_VECTORS`` are vectors; with
the index of an element they are numbers. Functions and names of several letters are upright.
"""

import re

_SIZES = frozenset("SD")
_VECTORS = frozenset((*"abcefgmrtuvwxyz", "gamma", "beta", "lambda", "Theta"))
_NUMBERS = frozenset(("t_s", "z_h", "r_e"))
"""Elements of vectors whose index is not i or j."""

_SET_ALREADY = frozenset(("op", "cal", "bold", "italic", "upright"))
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z]+(?:\.[A-Za-z]+)*|.', re.DOTALL)
_ELEMENT = re.compile(r"(?<![A-Za-z])[ij](?![A-Za-z])")


def styled(maths: str) -> str:
    """Return Typst mathematics with its matrices and vectors in bold; indices are not changed."""
    tokens: list[str] = _TOKEN.findall(maths)
    shown: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        end = place + 1
        if token == "_" or (token in _SET_ALREADY and tokens[end : end + 1] == ["("]):
            end = _argument_end(tokens, end)
            shown.append("".join(tokens[place:end]))
        else:
            index = tokens[end + 1 : _argument_end(tokens, end + 1)] if tokens[end:] else []
            index = index if tokens[end : end + 1] == ["_"] else []
            shown.append(f"bold({token})" if _is_bold(token, "".join(index)) else token)
        place = end
    return "".join(shown)


def _argument_end(tokens: list[str], start: int) -> int:
    """Return the end of an index or an argument: of one token, or of a balanced group after it."""
    end = start if tokens[start : start + 1] == ["("] else start + 1
    if tokens[end : end + 1] != ["("]:
        return end
    depth = 0
    for place in range(end, len(tokens)):
        depth += (tokens[place] == "(") - (tokens[place] == ")")
        if not depth:
            return place + 1
    return len(tokens)


def _is_bold(token: str, index: str) -> bool:
    if len(token) == 1 and token.isascii() and token.isupper():
        return token not in _SIZES
    is_number = _ELEMENT.search(index) is not None or f"{token}_{index}" in _NUMBERS
    return token in _VECTORS and not is_number
