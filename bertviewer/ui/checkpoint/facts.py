"""What the overview tells of the checkpoint, in a few lines."""

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.widgets.facts import Fact

_FILES = QT_TRANSLATE_NOOP("checkpoint", "Files")
_STORED = QT_TRANSLATE_NOOP("checkpoint", "Stored as")
_CONVERTED = QT_TRANSLATE_NOOP("checkpoint", "{0}; computed in {1}")
_SEVERAL = QT_TRANSLATE_NOOP("checkpoint", "{0} files, {1} MB in total")
_ONE = QT_TRANSLATE_NOOP("checkpoint", "{0}, {1} MB")
_MISSING = QT_TRANSLATE_NOOP("checkpoint", "Missing")
_MISSING_ONE = QT_TRANSLATE_NOOP("checkpoint", "1 of {1} tensors (random)")
_MISSING_MANY = QT_TRANSLATE_NOOP("checkpoint", "{0} of {1} tensors (random)")
_RENAMED = QT_TRANSLATE_NOOP("checkpoint", "Renamed")
_RENAMED_ONE = QT_TRANSLATE_NOOP("checkpoint", "1 of {1} tensors: {2} → {3}")
_RENAMED_MANY = QT_TRANSLATE_NOOP("checkpoint", "{0} of {1} tensors, such as {2} → {3}")
_UNUSED = QT_TRANSLATE_NOOP("checkpoint", "Not in this model")
_UNUSED_ONE = QT_TRANSLATE_NOOP("checkpoint", "1 of {1} tensors in the files: {2}")
_UNUSED_MANY = QT_TRANSLATE_NOOP("checkpoint", "{0} of {1} tensors in the files, such as {2}")


def checkpoint_facts(keys: LoadReport) -> list[Fact]:
    """Return the facts that there are; names in full are in the dialog."""
    name, size = next(iter(keys.files)), f"{keys.nbytes / 1e6:,.1f}"
    files = _ONE if len(keys.files) == 1 else _SEVERAL
    held = sum(keys.stored_dtypes.values())
    dtypes = ", ".join(
        dtype if len(keys.stored_dtypes) == 1 else f"{count:,} × {dtype}"
        for dtype, count in keys.stored_dtypes.items()
    )
    facts: list[Fact] = [
        (_translated(_FILES), _translated(files).format(
            name if len(keys.files) == 1 else len(keys.files), size)),
        (_translated(_STORED), _translated(_CONVERTED).format(dtypes, keys.dtype)),
    ]  # fmt: skip
    if keys.missing:
        missing = _translated(_MISSING_ONE), _translated(_MISSING_MANY)
        text = count_text(len(keys.missing), *missing, keys.tensors)
        facts.append((_translated(_MISSING), text))
    if keys.renamed:
        stored, own = next(iter(keys.renamed.items()))
        renamed = _translated(_RENAMED_ONE), _translated(_RENAMED_MANY)
        text = count_text(len(keys.renamed), *renamed, held, stored, own)
        facts.append((_translated(_RENAMED), text))
    if keys.unexpected:
        unused = _translated(_UNUSED_ONE), _translated(_UNUSED_MANY)
        text = count_text(len(keys.unexpected), *unused, held, keys.unexpected[0])
        facts.append((_translated(_UNUSED), text))
    return facts


def _translated(text: str) -> str:
    return translate("checkpoint", text)
