"""One thread: small products wait for one another longer than they take."""

from tests.core.checks.conftest import _one_thread

__all__ = ["_one_thread"]
