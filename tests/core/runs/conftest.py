"""One thread, as for the checks: small products wait for one another longer than they take."""

from tests.core.checks.conftest import _one_thread  # noqa: F401
