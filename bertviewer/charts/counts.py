"""How tensors are counted, in the same words everywhere.

A tensor counts once, by its first name; further names of it are tied names.
"""

from collections.abc import Iterable

from bertviewer.charts.translation import translate
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import count_text


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
