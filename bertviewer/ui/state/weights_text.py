"""What a model's weights are, in a few words, wherever a caption says so."""

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import translate


def weights_words(source: SourceInfo) -> str:
    """Return "trained weights", "5 tensors RANDOM, the others trained", and so on."""
    if source.weights == "none":
        return translate("weights", "no weights")
    if source.weights == "random":
        return translate("weights", "random weights")
    if source.random_tensors:
        return count_text(
            len(source.random_tensors),
            translate("weights", "1 tensor random, the others trained"),
            translate("weights", "{0} tensors random, the others trained"),
        )
    return translate("weights", "trained weights")
