"""Consent to read a pickle."""

from bertviewer.core.sources.model_source import ModelSource


def allowed(source: ModelSource) -> ModelSource:
    return ModelSource(source.kind, source.name, source.path, source.task, pickle_allowed=True)
