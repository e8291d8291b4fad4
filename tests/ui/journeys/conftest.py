"""Journeys open many models, and look at no task heads, which take a build each."""

import pytest

from bertviewer.ui.jobs import model_jobs


@pytest.fixture(autouse=True)
def _no_random_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_jobs, "random_heads_job", lambda _model, _progress: {})
