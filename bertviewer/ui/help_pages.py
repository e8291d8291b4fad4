"""The texts of the help page."""

from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate

_PARTS: tuple[tuple[str, str], ...] = (
    (QT_TRANSLATE_NOOP("help", "Structure, at the left"),
     QT_TRANSLATE_NOOP("help",
        "Every module of the model as torch nests them. Equal layers stand in one row, as 0–11; "
        "open it to see each. What is selected there is what everything else shows.")),
    (QT_TRANSLATE_NOOP("help", "The middle"),
     QT_TRANSLATE_NOOP("help",
        "The selected module: the map of what goes on in it, its formula with its own sizes, its "
        "tensors and their values, the walk from the tokens to the last layer, what other sizes "
        "would give, the configuration, and its source code.")),
    (QT_TRANSLATE_NOOP("help", "Module, at the right"),
     QT_TRANSLATE_NOOP("help",
        "What the selected module is in a sentence, how many parameters it has and why, what it "
        "costs, and what it gave in the last run. Names there are links.")),
    (QT_TRANSLATE_NOOP("help", "Run, below"),
     QT_TRANSLATE_NOOP("help",
        "A sentence, its tokens, and what it does to the model: statistics by layer, attention, "
        "predictions. A click in any picture selects the layer, token or head for all of them.")),
    (QT_TRANSLATE_NOOP("help", "Parameters and tensors"),
     QT_TRANSLATE_NOOP("help",
        "Parameters are numbers that are learnt; a tensor holds many of them. A tied tensor has "
        "several names and counts once.")),
    (QT_TRANSLATE_NOOP("help", "Letters in formulas"),
     QT_TRANSLATE_NOOP("help",
        "V, D, L and others stand for numbers of the configuration: D is hidden_size. A count is "
        "written in letters, with the numbers put in, and its result, which equals the real count. "
        "Where a condition stands below, it holds under that condition.")),
    (QT_TRANSLATE_NOOP("help", "Multiply-adds and FLOPs"),
     QT_TRANSLATE_NOOP("help",
        "One multiply-add is a multiplication and an addition: two FLOPs. Matrix products alone "
        "are counted.")),
    (QT_TRANSLATE_NOOP("help", "Trained and random"),
     QT_TRANSLATE_NOOP("help",
        "A preset has no weights. What is run with random ones says so everywhere, since no figure "
        "of it comes from training; so does a checkpoint that lacks some of its tensors.")),
    (QT_TRANSLATE_NOOP("help", "Check this step"),
     QT_TRANSLATE_NOOP("help",
        "What a module gave is computed again in float64 by plain sums and products. The largest "
        "difference stands beside what rounding alone may do.")),
    (QT_TRANSLATE_NOOP("help", "Run A"),
     QT_TRANSLATE_NOOP("help",
        "A run that is kept, to compare the next ones with; the newest run is called B then.")),
    (QT_TRANSLATE_NOOP("help", "Head"),
     QT_TRANSLATE_NOOP("help",
        "One of those of an attention that look at the tokens side by side; or the head of a "
        "model, with which a task is solved, as masked language modelling.")),
)  # fmt: skip


def pages() -> tuple[tuple[str, str], ...]:
    """Return headings and texts, in the language of the program."""
    return tuple((translate("help", title), translate("help", text)) for title, text in _PARTS)
