"""The table of what a module gave."""

from bertviewer.charts.statistics import statistics_table
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics

MEASURED = Statistics(4, 0, 0, 1, 6.0, 5.0, 0.0, 3.0)


def given(statistics: Statistics, left_out: str = "") -> ModuleActivation:
    shape = 1, 2, 2
    return ModuleActivation("layer", "Layer", shape, shape, (statistics,), 0, None, left_out)


def rows_of(statistics: Statistics, left_out: str = "") -> list[str]:
    return [str(row[0].text) for row in statistics_table(given(statistics, left_out)).rows]


def test_what_was_not_measured_has_no_figures() -> None:
    assert rows_of(MEASURED)[-2:] == ["elements", "shape"]
    assert len(rows_of(MEASURED)) == 10
    assert rows_of(NO_ELEMENTS, "complex64") == ["shape"]


def test_data_tell_the_module_and_the_runs() -> None:
    one = given(MEASURED)
    assert statistics_table(one).table()[0] == ("Statistic: layer", "Value")
    names = "Statistic: layer", "B, Value", "A, Value", "B − A, Value"
    assert statistics_table(one, one).table()[0] == names
