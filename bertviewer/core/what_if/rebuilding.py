"""Builds the model of a what-if scenario, for values outside the conditions of the formulas."""

from bertviewer.core.loading.deriving import builder
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.symbolic.models import ModelSizes, changed_configs
from bertviewer.core.util.errors import Stopped, UserError, describe_error
from bertviewer.core.what_if.scenario import BuiltModel, Outcome, Scenario


def rebuild(scenario: Scenario, source: ModelSource) -> Outcome:
    """Build a scenario's model on the meta device, and count its parameters.

    Raises:
        UserError: no model has these values.
    """
    architecture, values = scenario.sheet.architecture, scenario.values
    changed = {s: values[s.name] for s in architecture.symbols if values[s.name] != s.value}
    build = builder(source)
    error: Exception = LookupError("an entry of a list is missing")
    for config in changed_configs(architecture.config, changed):
        try:
            sizes = ModelSizes.of(build(config), values)
        except Stopped:
            raise
        except Exception as raised:  # noqa: BLE001 - models refuse one with any kind of error
            error = raised
        else:
            return Outcome(scenario, {}, (), False, BuiltModel(sizes.sizes, sizes.shapes))
    if isinstance(error, UserError):
        raise error
    raise UserError(f"no model has these values: {describe_error(error)}") from error
