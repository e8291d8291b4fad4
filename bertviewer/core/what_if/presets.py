"""The sizes of the program's presets, as values to put into another model of the same family."""

from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.source.configuration import read_configuration
from bertviewer.core.source.presets import PRESETS, find_preset
from bertviewer.core.what_if.scenario import Scenario
from bertviewer.core.what_if.sheet import Sheet


def preset_sizes(sheet: Sheet) -> dict[str, dict[str, int]]:
    """Return by preset the letters' values that make the open model as large as it.

    Only presets of the same ``model_type`` are in it, and of these only those whose sizes the
    formulas can follow, and which differ from the open model.

    Raises:
        UserError: a preset's file cannot be read.
    """
    symbols = sheet.architecture.symbols
    found = {}
    for preset in PRESETS:
        path = find_preset(preset.name)
        config = {} if path is None else read_configuration(path)
        if config.get("model_type") != sheet.architecture.config.get("model_type"):
            continue
        theirs = {symbol.key: symbol.value for symbol in symbols_of(config)}
        wanted = {s.letter: theirs.get(s.key, s.value) for s in symbols}
        free = {s.letter: wanted[s.letter] for s in symbols if sheet.is_free(s)}
        changed = {letter: v for letter, v in free.items() if v != sheet.values[letter]}
        values = Scenario(sheet, changed).values
        if changed and all(values[letter] == value for letter, value in wanted.items()):
            found[preset.name] = changed
    return found
