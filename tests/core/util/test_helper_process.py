"""Helper processes: protocol, limits, sandbox, and cleanup."""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import main
from bertviewer.core.util import helper_process, sandbox
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.helper_process import Helper, HelperProcess
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.sandbox import LIMIT_EXCEEDED, Access
from tests.core.util import helper_functions
from tests.tools.subprocesses import output_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits exist on Linux only")


def start(**options: Any) -> HelperProcess:
    limits: dict[str, Any] = {"memory": 200_000_000, "seconds": 60}
    return HelperProcess(helper_functions.__name__, **(limits | options))


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    """Return a helper; tests may crash its process, which the next call restarts."""
    made = Helper(start, "Waiting")
    yield made
    made.stop()


def run(helper: Helper, code: str) -> Any:
    with helper.session() as process:
        return process.call("run", {"code": code})


def process_id(helper: Helper) -> int:
    return int(run(helper, "os.getpid()"))


def cancel_after(seconds: float) -> Progress:
    deadline = time.monotonic() + seconds

    def progress(done: int, total: int, label: str) -> None:
        assert (done, total) == (0, 0)
        if time.monotonic() > deadline:
            raise Cancelled(label)

    return progress


def test_calls_return_results_and_raise_errors(helper: Helper) -> None:
    with helper.session() as process:
        for value in (None, 3, "\ud800\n", {"a": [1.5, "Ω"]}):
            assert process.call("echo", {"value": value}) == value
        with pytest.raises(UserError, match="KeyError: 'nothing'"):
            process.call("nothing", {})
        with pytest.raises(UserError, match="stopped here"):  # SystemExit is not an Exception
            process.call("run", {"code": "sys.exit('stopped here')"})
        assert process.call("echo", {"value": 1}) == 1


def test_steps_precede_the_result(helper: Helper) -> None:
    steps: list[int] = []
    with helper.session() as process:
        assert process.call("count", {"stop": 3}, on_step=steps.append) == "counted"
        with pytest.raises(UserError, match=r"^nothing to count$"):
            process.call("count", {"stop": 0}, on_step=steps.append)
        with pytest.raises(Cancelled):
            process.call("count", {"stop": 4, "pause": 0.1}, cancel_after(0.1))
    with helper.session() as same:  # the steps of the cancelled call are dropped
        assert same is process
        assert same.call("echo", {"value": 1}) == 1
    assert steps == [0, 1, 2]


def test_a_crash_is_logged_and_the_process_restarted(helper: Helper) -> None:
    first = process_id(helper)
    assert process_id(helper) == first
    with pytest.raises(UserError, match=r"^the helper process crashed; details are in ") as error:
        run(helper, "crash('a trace')")
    assert "a trace" in Path(str(error.value).rpartition(" ")[2]).read_text()
    second = process_id(helper)
    assert second not in (first, os.getpid())
    os.kill(second, signal.SIGKILL)
    os.waitid(os.P_PID, second, os.WEXITED | os.WNOWAIT)
    assert process_id(helper) not in (first, second)


@linux
def test_memory_is_limited(helper: Helper) -> None:
    with pytest.raises(UserError, match=LIMIT_EXCEEDED):
        run(helper, "len(bytearray(300_000_000))")
    assert run(helper, "len(bytearray(100_000_000))") == 100_000_000


@linux
def test_cpu_time_is_limited_for_each_call() -> None:
    with start(seconds=1) as process:
        for _ in range(4):
            process.call("run", {"code": "spin(0.6)"})
        with pytest.raises(UserError, match=LIMIT_EXCEEDED):
            process.call("run", {"code": "spin()"})


def test_wall_clock_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_process, "CLOCK_FACTOR", 0.2)
    with start(seconds=1) as process, pytest.raises(UserError, match=LIMIT_EXCEEDED):
        process.call("run", {"code": "time.sleep(60)"})


def test_a_cancelled_call_gets_a_moment_to_finish_and_is_killed_otherwise(
    helper: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "ABANDONED_SECONDS", 1)
    first = process_id(helper)
    with helper.session() as process, pytest.raises(Cancelled, match="Working"):
        process.call("run", {"code": "spin(0.4)"}, cancel_after(0.1), "Working")
    assert process_id(helper) == first
    with helper.session() as process, pytest.raises(Cancelled):
        process.call("run", {"code": "spin()"}, cancel_after(0.1))
    assert process_id(helper) != first


def test_endless_steps_can_be_cancelled(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_process, "ABANDONED_SECONDS", 0.1)
    with helper.session() as process, pytest.raises(Cancelled):
        process.call("count", {"stop": 10**9}, cancel_after(0.1))
    assert process_id(helper) != process.process.pid  # it was killed


def test_waiting_can_be_cancelled(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    helper.stop()
    monkeypatch.setattr(helper_process, "_POLL_SECONDS", 0.001)  # less than any start takes
    with helper.session() as process, pytest.raises(Cancelled):
        process.call("echo", {"value": 1}, cancel_after(0))
    assert process_id(helper) == process.process.pid
    # A second thread waits for the first.
    with (
        helper.session(),
        pytest.raises(Cancelled, match="Waiting"),
        helper.session(cancel_after(0)),
    ):
        pytest.fail("two sessions at once")


def test_threads_take_turns(helper: Helper) -> None:
    found: list[bool] = []

    def call(value: int) -> None:
        for _ in range(20):
            with helper.session() as process:
                found.append(process.call("echo", {"value": value}) == value)

    threads = [threading.Thread(target=call, args=(value,)) for value in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 60


def test_stop_ends_a_call(helper: Helper) -> None:
    deadline = time.monotonic() + 0.1

    def stop(done: int, total: int, label: str) -> None:
        if time.monotonic() > deadline:
            helper.stop()

    with helper.session() as process, pytest.raises(UserError, match=LIMIT_EXCEEDED):
        process.call("run", {"code": "spin()"}, stop)
    assert not process.folder.exists()


def test_a_process_that_cannot_be_started_leaves_nothing(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper.stop()
    monkeypatch.setattr(helper_process, "command", lambda *_: [str(tmp_path / "nothing")])
    before = set(Path(tempfile.gettempdir()).glob("bertviewer-*"))
    helper.prepare()  # reports nothing
    with pytest.raises(UserError, match=r"^no helper process can be started: No such f"):
        process_id(helper)
    assert set(Path(tempfile.gettempdir()).glob("bertviewer-*")) == before


def close_input(process: HelperProcess) -> None:
    """Close the standard input, as the system does if the program is killed."""
    assert process.process.stdin is not None
    process.process.stdin.close()
    assert process.process.wait(60) == 0


@pytest.mark.parametrize("end", [close_input, lambda _: helper_process.end_helpers()])
def test_the_process_and_its_folder_do_not_survive_the_program(
    helper: Helper, end: Callable[[HelperProcess], None]
) -> None:
    process_id(helper)
    with helper.session() as process:
        end(process)
    assert process.process.returncode is not None
    assert not process.folder.exists()


def test_a_process_without_its_folder_is_replaced(helper: Helper) -> None:
    process_id(helper)
    with helper.session() as process:
        process.folder.rmdir()  # as a cleaner of temporary files may do
    assert process_id(helper)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_starts_its_own_process(helper: Helper) -> None:
    first = process_id(helper)
    pid = os.fork()
    if not pid:
        other = process_id(helper)
        helper_process.end_helpers()
        os._exit(0 if other != first else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert process_id(helper) == first


def test_a_bundle_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/bertviewer/bertviewer")
    command = helper_process.command("a.module", "folder")
    assert command[0] == "/opt/bertviewer/bertviewer"
    called: list[list[str]] = []

    def helper_main(arguments: list[str]) -> int:
        called.append(arguments)
        return 0

    monkeypatch.setattr(sandbox, "main", helper_main)
    assert main(command[1:]) == 0
    assert called == [["a.module", "folder"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ``allowed``, ``secret`` and a ``library`` that consists of links."""
    folder = tmp_path_factory.mktemp("sandbox")
    for name in ("allowed", "secret", "library"):
        (folder / name).mkdir()
    (folder / "allowed" / "file").write_text("read")
    (folder / "secret" / "file").write_text("a secret")
    (folder / "allowed" / "link").symlink_to(folder / "secret" / "file")
    (folder / "module.py").write_text("WORD = 'imported'")
    (folder / "library" / "linked.py").symlink_to(folder / "module.py")
    return folder


@pytest.fixture(scope="module")
def processes(folder: Path) -> Iterator[Mapping[Access, HelperProcess]]:
    """Return a process with each kind of access, started with secrets in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", "hf_secret")
        patch.setenv("https_proxy", "proxy.example")
        patch.syspath_prepend(folder / "library")
        made: dict[Access, HelperProcess] = {
            "untrusted": start(reads=[folder / "allowed"]),
            "trusted": start(access="trusted"),
            "network": start(access="network"),
        }
    yield made
    for process in made.values():
        process.end()


Processes = Mapping[Access, HelperProcess]


def test_secrets_are_not_inherited(processes: Processes) -> None:
    for access, process in processes.items():
        environment = process.call("run", {"code": "dict(os.environ)"})
        assert "hf_secret" not in environment.values()
        assert ("https_proxy" in environment) is (access == "network")


def test_untrusted_work_reads_allowed_folders_only(processes: Processes, folder: Path) -> None:
    def read(access: Access, path: object) -> Any:
        return processes[access].call("run", {"code": f"open({str(path)!r}).read()"})

    own = processes["untrusted"].folder / "own"
    own.write_text("own")
    assert read("untrusted", folder / "allowed" / "file") == "read"
    assert read("untrusted", own) == "own"
    own.unlink()
    secrets = (
        folder / "secret" / "file",
        folder / "allowed" / "link",
        folder / "allowed" / ".." / "secret" / "file",
        "/etc/passwd",
    )
    for path in secrets:
        with pytest.raises(UserError, match=r"^refused: it tried to do something .*\(open '"):
            read("untrusted", path)
    with pytest.raises(UserError, match=r"\(open 0\)"):
        processes["untrusted"].call("run", {"code": "open(0)"})
    assert read("trusted", folder / "secret" / "file") == "a secret"


def test_modules_can_be_imported_even_through_links(processes: Processes) -> None:
    for code, value in (
        ("__import__('colorsys').ONE_SIXTH", 1 / 6),
        ("__import__('linked').WORD", "imported"),
    ):
        assert processes["untrusted"].call("run", {"code": code}) == value


def test_a_bundle_imports_from_its_own_executable(tmp_path: Path) -> None:
    program, other = tmp_path / "program", tmp_path / "other"
    program.write_text("modules")
    other.write_text("a secret")
    code = f"""
import sys
from bertviewer.core.util.sandbox import ForbiddenError, forbid_system
sys.executable = {str(program)!r}
forbid_system([])
assert open({str(program)!r}).read() == "modules"
try:
    open({str(other)!r})
except ForbiddenError:
    print("refused")
"""
    assert output_of([sys.executable, "-c", code], tmp_path).strip() == "refused"


def test_forbidden_operations(processes: Processes, tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    own = str(processes["untrusted"].folder / "marker")
    network_and_programs = {
        "os.system('true')": "os.system",
        "os.fork()": "os.fork",
        f"os.posix_spawn('/bin/touch', ['touch', {marker!r}], {{}})": "os.posix",
        "__import__('socket').socket()": "socket.__new__",
        "__import__('socket').getaddrinfo('localhost', 1)": "socket.getaddrinfo",
        f"__import__('subprocess').Popen(['touch', {marker!r}])": "subprocess.Popen",
    }
    system = {
        f"open({marker!r}, 'w')": "open",
        f"os.open({own!r}, {os.O_CREAT})": "open",  # even in its own folder
        f"os.mkdir({marker!r})": "os.mkdir",
        f"os.rename('a', {marker!r})": "os.rename",
        "__import__('pickle').loads(b'cos\\nsystem\\n.')": "pickle.find_class",
        "__import__('ctypes').CDLL(None)": "ctypes.dlopen",
    }
    forbidden: dict[Access, dict[str, str]] = {
        "untrusted": network_and_programs | system,
        "trusted": network_and_programs,
    }
    for access, codes in forbidden.items():
        for code, event in codes.items():
            with pytest.raises(UserError, match=rf"^refused: it tried .*\({event}"):
                processes[access].call("run", {"code": code})
    assert not Path(marker).exists()
    code = "__import__('socket').socketpair() and open(os.devnull, 'w').name"
    assert processes["network"].call("run", {"code": code}) == os.devnull
