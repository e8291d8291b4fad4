"""What-if figures outside the range of the formulas, from a model that is built with the values."""

from typing import Any

from bertviewer.core.loading.deriving import builder
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.symbolic.models import ModelSizes, change_number
from bertviewer.core.util.errors import Stopped, UserError, describe_error
from bertviewer.core.what_if.scenario import BuiltModel, Outcome, Scenario


def rebuild(scenario: Scenario, source: ModelSource) -> Outcome:
    """Build a model on the meta device with a scenario's values, and count it.

    Raises:
        UserError: no model has these values.
    """
    architecture, values = scenario.sheet.architecture, scenario.values
    config: dict[str, Any] = dict(architecture.config)
    for symbol in architecture.symbols:
        if values[symbol.letter] != symbol.value:
            change_number(config, symbol, values[symbol.letter], lists_follow=True)
    try:
        sizes = ModelSizes.of(builder(source)(config), values)
    except (Stopped, UserError):
        raise
    except Exception as error:
        raise UserError(f"no model has these values: {describe_error(error)}") from error
    return Outcome(scenario, {}, (), False, BuiltModel(sizes.sizes, sizes.shapes))
