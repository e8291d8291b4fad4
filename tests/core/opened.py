"""Presets, opened once for all tests that ask for the same."""

from functools import cache

from bertviewer.core.architecture import Architecture
from bertviewer.core.loading import open_model
from bertviewer.core.source import parse_source


@cache
def plain(name: str, task: str = "base") -> Architecture:
    """Return a preset as it is on screen first: counts without formulas."""
    return open_model(parse_source(name, task)).architecture


@cache
def derived(name: str, task: str = "base") -> Architecture:
    """Return a preset with its formulas."""
    return open_model(parse_source(name, task)).with_formulas()
