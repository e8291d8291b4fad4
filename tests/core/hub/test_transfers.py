"""Servers that are silent, slow or send too much are given up."""

import pytest
from msgspec.structs import replace

from bertviewer.core.hub.connection import TransferLimits
from bertviewer.core.hub.download import get_listing
from bertviewer.core.hub.transfers import (
    MAX_DESCRIPTION,
    StallRule,
    TransferProcess,
    Unreachable,
    transfer_process,
)
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.hub.conftest import CONTENT, FILE, REPO
from tests.core.hub.hub_server import Fault, HubServer


class TestStallRule:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """Return a list with the time, which a test sets."""
        now = [0.0]
        monkeypatch.setattr("bertviewer.core.hub.transfers.time.monotonic", lambda: now[0])
        return now

    def test_the_rate_over_each_window_has_a_minimum(self, clock: list[float]) -> None:
        rule = StallRule(TransferLimits(window=30, least_rate=100), 10**6)
        for seconds, nbytes, expected in (
            (29.0, 0, ""),
            (30.0, 3_000, ""),  # the minimum
            (59.0, 2_999, ""),
            (60.0, 0, "sends 2,999 bytes of it in 30 seconds"),
        ):
            clock[0] = seconds
            assert rule.violation(nbytes, is_waiting=False) == expected

    def test_pauses_that_the_server_asked_for_do_not_count(self, clock: list[float]) -> None:
        rule = StallRule(TransferLimits(window=30), 10**6)
        for seconds, is_waiting in ((20.0, False), (50.0, True), (59.0, False)):
            clock[0] = seconds
            assert rule.violation(0, is_waiting=is_waiting) == ""
        clock[0] = 60.0
        assert rule.violation(0, is_waiting=False).startswith("sends 0 bytes")

    def test_larger_files_may_take_longer(self, clock: list[float]) -> None:
        rule = StallRule(TransferLimits(window=1e9, least_rate=100, overall=60), 1_000)
        clock[0] = 70.0
        assert rule.violation(0, is_waiting=True) == ""
        clock[0] = 70.1
        assert rule.violation(0, is_waiting=True) == "is too slow"


QUICK = TransferLimits(silence=0.4, window=0.6, first_pause=0.01)


@pytest.mark.parametrize(
    ("faults", "limits", "expected"),
    [
        ([Fault(silent=True)] * 9, QUICK, "does not answer"),
        (
            [Fault(held=20_000)],
            TransferLimits(window=1.5, least_rate=1e6),
            "sends 16,384 bytes of it in 2 seconds; what was downloaded is kept",
        ),
        (
            [Fault(cut=100 * size) for size in range(1, 1000)],
            TransferLimits(window=1e9, least_rate=1e9, overall=0.5, first_pause=0.01),
            "is too slow; what was downloaded is kept",
        ),
    ],
    ids=["silent", "slow", "many tries"],
)
def test_servers_that_are_too_slow_are_given_up(
    server: HubServer,
    process: TransferProcess,
    faults: list[Fault],
    limits: TransferLimits,
    expected: str,
) -> None:
    commit = server.add(REPO, {FILE: CONTENT})
    server.fail(FILE, *faults)
    request = process.request(f"/{REPO}/resolve/{commit}/{FILE}", "the file")
    request = replace(request, limits=limits, stop=len(CONTENT), nbytes=len(CONTENT))
    with (
        transfer_process(process.hub) as another,
        pytest.raises(UserError, match=f"^the file: .*{expected}") as raised,
    ):
        another.read(request, lambda _nbytes, _remark: None)
    assert isinstance(raised.value, Unreachable) == (expected == "does not answer")


def test_cancelling_does_not_wait_for_the_server(
    server: HubServer, process: TransferProcess
) -> None:
    server.fail("/x", Fault(silent=True))

    def cancel(_nbytes: int, _remark: str) -> None:
        if server.requests:
            raise Cancelled

    with transfer_process(process.hub) as another, pytest.raises(Cancelled):
        another.read(another.request("/x", "the file"), cancel)
    assert len(server.requests) == 1


def test_an_endless_description_is_refused(server: HubServer, process: TransferProcess) -> None:
    server.add(REPO, {})
    server.fail("/api/", Fault(content=b"[" * (MAX_DESCRIPTION + 2)))
    with pytest.raises(UserError, match="sent far too long a description"):
        get_listing(process, HubName(REPO), lambda _nbytes, _remark: None)
