"""Helper processes: the protocol, the limits, what is forbidden, and how they end."""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import main
from bertviewer.core.util import helper_process, sandbox
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.helper_process import Helper, HelperProcess
from bertviewer.core.util.sandbox import LIMIT_EXCEEDED
from tests.core.util import helper_functions

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")


def start(**options: Any) -> HelperProcess:
    limits: dict[str, Any] = {"memory": 200_000_000, "seconds": 60}
    return HelperProcess(helper_functions.__name__, **(limits | options))


@pytest.fixture
def helper() -> Iterator[Helper]:
    made = Helper(start, "Waiting")
    yield made
    made.stop()


def call(helper: Helper, function: str, **arguments: Any) -> Any:
    with helper.session() as process:
        return process.call(function, arguments)


def test_results_and_errors(helper: Helper) -> None:
    for value in (None, 3, "\ud800\n", {"a": [1.5, "Ω"]}):
        assert call(helper, "echo", value=value) == value
    with pytest.raises(UserError, match=r"^not this$"):
        call(helper, "refuse", message="not this")
    with pytest.raises(UserError, match="KeyError: 'nothing'"):
        call(helper, "nothing")
    with pytest.raises(UserError, match="stopped here"):
        call(helper, "exit", message="stopped here")  # an exception that is not an Exception
    assert call(helper, "echo", value=1) == 1


def test_steps_come_before_the_result(helper: Helper) -> None:
    steps: list[int] = []
    with helper.session() as process:
        assert process.call("count", {"stop": 3}, on_step=steps.append) == "counted"
        with pytest.raises(UserError, match="nothing to count"):
            process.call("count", {"stop": 0}, on_step=steps.append)
        with pytest.raises(Cancelled):
            process.call("count", {"stop": 4, "pause": 0.1}, canceller(0.1))
    assert call(helper, "echo", value=1) == 1
    with helper.session() as another:
        assert another is process
    assert steps == [0, 1, 2]


def test_a_crash_is_logged_and_the_process_started_again(helper: Helper) -> None:
    first = call(helper, "pid")
    assert call(helper, "pid") == first
    with pytest.raises(UserError, match=r"^the helper process crashed; details are in ") as told:
        call(helper, "die", message="a trace")
    assert "a trace" in Path(str(told.value).rpartition(" ")[2]).read_text()
    second = call(helper, "pid")
    assert second not in (first, os.getpid())
    os.kill(second, signal.SIGKILL)
    os.waitid(os.P_PID, second, os.WEXITED | os.WNOWAIT)
    assert call(helper, "pid") not in (first, second)


@linux
def test_memory_is_limited(helper: Helper) -> None:
    with pytest.raises(UserError, match=LIMIT_EXCEEDED):
        call(helper, "allocate", nbytes=300_000_000)
    assert call(helper, "allocate", nbytes=100_000_000) == 100_000_000


@linux
def test_cpu_time_is_limited_for_each_call() -> None:
    with start(seconds=1) as process:
        for _ in range(4):
            process.call("spin", {"seconds": 0.6})
        with pytest.raises(UserError, match=LIMIT_EXCEEDED):
            process.call("spin", {})


def test_the_time_by_the_clock_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_process, "CLOCK_FACTOR", 0.2)
    with start(seconds=1) as process, pytest.raises(UserError, match=LIMIT_EXCEEDED):
        process.call("sleep", {})


def canceller(seconds: float) -> Any:
    deadline = time.monotonic() + seconds

    def progress(done: int, total: int, label: str) -> None:
        assert (done, total) == (0, 0)
        if time.monotonic() > deadline:
            raise Cancelled(label)

    return progress


def test_a_call_can_be_cancelled(helper: Helper) -> None:
    first = call(helper, "pid")
    with helper.session() as process, pytest.raises(Cancelled, match="Working"):
        process.call("spin", {"seconds": 0.4}, canceller(0.1), "Working")
    assert call(helper, "pid") == first  # it was waited for a little
    with helper.session() as process, pytest.raises(Cancelled):
        process.call("spin", {}, canceller(0.1))
    assert call(helper, "pid") != first  # it was killed


def test_waiting_for_the_start_can_be_cancelled(
    helper: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "_POLL_SECONDS", 0.001)  # much less than any start takes
    with helper.session() as process, pytest.raises(Cancelled):
        process.call("pid", {}, canceller(0))
    assert call(helper, "pid") == process.process.pid


def test_threads_take_turns(helper: Helper) -> None:
    found: list[bool] = []

    def count(value: int) -> None:
        found.extend(call(helper, "echo", value=value) == value for _ in range(20))

    threads = [threading.Thread(target=count, args=(value,)) for value in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 60


def test_waiting_for_another_thread_can_be_cancelled(helper: Helper) -> None:
    with helper.session(), pytest.raises(Cancelled, match="Waiting"), helper.session(canceller(0)):
        pytest.fail("two at once")


def test_stopping_it_ends_the_call_of_another_thread(helper: Helper) -> None:
    deadline = time.monotonic() + 0.1

    def stop(done: int, total: int, label: str) -> None:
        if time.monotonic() > deadline:
            helper.stop()

    with helper.session() as process, pytest.raises(UserError, match=LIMIT_EXCEEDED):
        process.call("spin", {}, stop)
    assert not process.folder.exists()


def test_where_no_process_can_be_started(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "command", lambda *_: [str(tmp_path / "nothing")])
    before = set(Path(tempfile.gettempdir()).glob("bertviewer-*"))
    helper.prepare()  # reports nothing
    with pytest.raises(UserError, match=r"^no helper process can be started: No such f"):
        call(helper, "pid")
    assert set(Path(tempfile.gettempdir()).glob("bertviewer-*")) == before


def test_nothing_is_left_when_the_program_is_killed(helper: Helper) -> None:
    call(helper, "pid")
    with helper.session() as process:
        assert process.process.stdin is not None
        process.process.stdin.close()  # as the system does
        assert process.process.wait(60) == 0
        assert not process.folder.exists()


def test_its_folder_may_be_deleted(helper: Helper) -> None:
    call(helper, "pid")
    with helper.session() as process:
        process.folder.rmdir()
    assert call(helper, "echo", value=1) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_has_its_own(helper: Helper) -> None:
    first = call(helper, "pid")
    pid = os.fork()
    if not pid:
        other = call(helper, "pid")
        helper_process.end_helpers()
        os._exit(0 if other != first else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert call(helper, "pid") == first


def test_all_are_ended_with_the_program(helper: Helper) -> None:
    with helper.session() as process:
        helper_process.end_helpers()
    assert process.process.returncode is not None
    assert not process.folder.exists()


def test_secrets_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("https_proxy", "proxy.example")
    for access in ("untrusted", "trusted", "network"):
        with start(access=access) as process:
            found = process.call("run", {"code": "__import__('os').environ"})
        assert "hf_secret" not in found
        assert ("proxy.example" in found) is (access == "network")


def test_a_bundle_calls_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/bertviewer/bertviewer")
    command = helper_process.command("a.module", "folder")
    assert command[0] == "/opt/bertviewer/bertviewer"
    called: list[list[str]] = []

    def helped(arguments: list[str]) -> int:
        called.append(arguments)
        return 0

    monkeypatch.setattr(sandbox, "main", helped)
    assert main(command[1:]) == 0
    assert called == [["a.module", "folder"]]


def test_only_some_folders_can_be_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("read")
    (inside / "link").symlink_to(outside / "file")
    secrets = (outside / "file", inside / "link", inside / ".." / "out" / "file", "/etc/passwd")
    with start(reads=[inside]) as process:
        (process.folder / "own").write_text("own")
        assert process.call("read", {"path": str(inside / "file")}) == "read"
        assert process.call("read", {"path": str(process.folder / "own")}) == "own"
        assert process.call("run", {"code": "__import__('colorsys').ONE_THIRD"}).startswith("0.33")
        for path in secrets:
            with pytest.raises(UserError, match=r"^refused: it tried to do something .*\(open '"):
                process.call("read", {"path": str(path)})
        with pytest.raises(UserError, match=r"\(open 0\)"):
            process.call("run", {"code": "open(0)"})
        (process.folder / "own").unlink()
    with start(access="trusted") as process:
        assert process.call("read", {"path": str(outside / "file")}) == "read"


def test_an_installation_may_be_made_of_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (tmp_path / "module.py").write_text("WORD = 'read'")
    (library / "linked.py").symlink_to(tmp_path / "module.py")
    monkeypatch.syspath_prepend(library)
    with start() as process:
        assert process.call("run", {"code": "__import__('linked').WORD"}) == "'read'"


def test_what_is_forbidden(tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    with start() as process:
        everywhere = {
            "__import__('os').system('true')": "os.system",
            "__import__('os').fork()": "os.fork",
            f"__import__('os').posix_spawn('/bin/touch', ['touch', {marker!r}], {{}})": "os.posix",
            "__import__('socket').socket()": "socket.__new__",
            "__import__('socket').getaddrinfo('localhost', 1)": "socket.getaddrinfo",
            f"__import__('subprocess').Popen(['touch', {marker!r}])": "subprocess.Popen",
        }
        of_untrusted = {
            f"open({marker!r}, 'w')": "open",
            f"__import__('os').open({marker!r}, {os.O_CREAT})": "open",
            f"__import__('os').mkdir({marker!r})": "os.mkdir",
            f"__import__('os').rename('a', {marker!r})": "os.rename",
            "__import__('pickle').loads(b'cos\\nsystem\\n.')": "pickle.find_class",
            "__import__('ctypes').CDLL(None)": "ctypes.dlopen",
        }
        for code, event in (everywhere | of_untrusted).items():
            with pytest.raises(UserError, match=rf"^refused: it tried .*\({event}"):
                process.call("run", {"code": code})
    with start(access="network") as process:
        code = "__import__('socket').socketpair() and open(__import__('os').devnull, 'w').name"
        assert process.call("run", {"code": code}) == repr(os.devnull)
    with start(access="trusted") as process:
        for code, event in everywhere.items():
            with pytest.raises(UserError, match=rf"^refused: it tried .*\({event}"):
                process.call("run", {"code": code})
    assert not (tmp_path / "marker").exists()
