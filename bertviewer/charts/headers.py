"""What stands above the numbers of a chart in its CSV, to tell a stranger what they are."""

from bertviewer.core.text.text_direction import bare


def column_header(label: str, measure: str) -> str:
    """Return a label and what its numbers are, "encoder.layer: output, std"; nothing twice."""
    name = bare(label)
    if not name or measure in ("", name):
        return name or measure
    is_told = measure.startswith(f"{name}, ") or measure.endswith(f", {name}")
    return measure if is_told else f"{name}, {measure}"


def corner_header(rows: str, columns: str, values: str, subject: str = "") -> str:
    """Return what the rows, the columns and the numbers of a grid are: "Layer × Token: Norm".

    ``subject`` is what all of it is of.
    """
    sides = " × ".join(filter(None, (rows, columns)))
    figures = ", ".join(filter(None, (values, subject)))
    return ": ".join(filter(None, (sides, figures)))
