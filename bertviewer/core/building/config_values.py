"""Reads single attributes of configuration objects, whatever their classes do about it."""

from typing import Any

from bertviewer.core.util.errors import Stopped


def config_value(config: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of a configuration, ``default`` if it has none of that name.

    A property may raise any error, and transformers refuses to give an attribute that differs
    between layers ("per_layer_config"): then it is the value that is stored for all layers.
    """
    try:
        return getattr(config, name, default)
    except Stopped:
        raise
    except Exception:  # noqa: BLE001 - what a property raises is up to its class
        return vars(config).get(getattr(type(config), "attribute_map", {}).get(name, name), default)
