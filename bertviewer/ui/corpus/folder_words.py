"""What is said of the folder that a corpus is to be written into, before a run begins."""

from msgspec import Struct

from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.ui.corpus.folder_state import FolderState
from bertviewer.ui.corpus.options import Wishes
from bertviewer.ui.settings.translation import translate


class Words(Struct, frozen=True):
    """A sentence or two, and whether they warn, or say that only the choices are others."""

    text: str = ""
    is_warning: bool = False
    has_other_choices: bool = False


def folder_words(state: FolderState | None, wishes: Wishes, *, is_taken_over: bool) -> Words:
    """Return what a person has to know; ``is_taken_over``: of choices that were just exchanged."""
    if state is None or not wishes.folder:
        return Words()
    text = {
        "taken": translate("folder_words", "The folder already contains other files, such as {0}."),
        "other": translate("folder_words", "The folder contains a corpus of another model: {0}."),
        "bad": "{0}",
    }.get(state.kind)
    if text is not None:
        problem = state.problem if state.kind != "bad" else as_sentence(state.problem)
        return Words(text.format(printable(problem)), is_warning=True)
    if state.kind == "new":
        return Words()
    begun = _begun(state)
    names = tuple(file.replace("\\", "/").rpartition("/")[2] for file in wishes.files)
    if wishes.files and names != state.data:
        more = translate("folder_words", "It cannot be resumed with other files.")
        return Words(f"{begun} {more}", is_warning=True)
    if not state.goes_on_with(wishes.choices):
        more = translate(
            "folder_words", "It was started with other settings and cannot be resumed with these."
        )
        return Words(f"{begun} {more}", is_warning=True, has_other_choices=True)
    if state.kind == "whole":
        more = translate("folder_words", "It will be shown without running anything.")
    else:
        more = translate("folder_words", "The remaining shards will be run.")
    if is_taken_over:
        more = f"{more} {translate('folder_words', 'Its settings are used.')}"
    return Words(f"{begun} {more}")


def _begun(state: FolderState) -> str:
    sentences = count_text(
        state.sentences,
        translate("folder_words", "{0} sentence"),
        translate("folder_words", "{0} sentences"),
    )
    names = printable(", ".join(state.data))
    if state.kind == "whole":
        text = translate("folder_words", "The folder contains a finished corpus: {0} from {1}.")
        return text.format(sentences, names)
    text = translate(
        "folder_words",
        "The folder contains an unfinished run: {0} of {1} shards done, {2} in total from {3}.",
    )
    return text.format(f"{state.done:,}", f"{state.shards:,}", sentences, names)
