"""Presets, opened once for all tests that ask for the same."""

from functools import cache

from bertviewer.core.loading.meta_model import read_meta_model
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress


@cache
def plain(name: str, task: str = "base") -> Architecture:
    """Return a preset before anything is derived: counts without formulas."""
    source = parse_source(name, task)
    assert source.config_file is not None
    data = read_configuration(source.config_file)
    return read_meta_model(source, data, None, None, no_progress).architecture


@cache
def derived(name: str, task: str = "base") -> Architecture:
    """Return a preset with its formulas."""
    return open_model(parse_source(name, task)).with_formulas()
