"""A module's or a tensor's path as Python writes it."""

import keyword
import unicodedata


def python_expression(path: str, root: str = "model") -> str:
    """Return the expression that gives what is at ``path``, as ``model.encoder.layer[3].query``.

    A number is an item of a list. A name that Python could not read behind a point is asked for
    with ``getattr``.
    """
    expression = root
    for name in path.split(".") if path else ():
        if name.isascii() and name.isdecimal() and str(int(name)) == name:
            expression = f"{expression}[{name}]"
        elif _is_readable(name):
            expression = f"{expression}.{name}"
        else:
            expression = f"getattr({expression}, {name!r})"
    return expression


def _is_readable(name: str) -> bool:
    # Python reads a name in its normal form, which may be another one.
    is_normal = unicodedata.normalize("NFKC", name) == name
    return name.isidentifier() and not keyword.iskeyword(name) and is_normal
