"""Run these tests in one thread: synchronizing small products costs more than they take."""

from tests.core.checks.conftest import _one_thread  # noqa: F401
