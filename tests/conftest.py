"""What all tests share: no screen, no network, nothing left behind, and two small models."""

import functools
import gc
import ipaddress
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Qt and the hub's client read these when they are first imported.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["HF_HUB_OFFLINE"] = "1"
# torch reads this one. Threads wait for one another longer than these small products take.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Formulas that this program derived are cached here for the length of the tests, and what other
# programs on this machine derived is not believed; nor is the last crash of one told.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="bertviewer-tests-")
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="bertviewer-tests-")

import hypothesis
import pytest

from bertviewer.core.loading import cached_models as models
from bertviewer.core.saving import disk_cache
from bertviewer.core.saving.disk_cache import JsonStore
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from tests.tools.left_behind import let_things_end, new, qt_application, qt_things, threads
from tests.tools.patient_bot import PatientBot

# How long an example takes says how busy the machine is. The same examples each time: a change is
# judged by what it changes. `--hypothesis-profile=default` looks for others.
hypothesis.settings.register_profile("unhurried", deadline=None, derandomize=True)
hypothesis.settings.load_profile("unhurried")

BUNDLED = models.bundled
"""Where what comes with the program is."""

DERIVING = "tests/core/"
"""Where it matters that presets and the demo are derived anew."""

MANY_MODULES = 100
"""To import as many makes it worth while to look at what is there anew."""

# Traced and derived models are millions of small objects. To look for garbage as often as Python
# does by itself takes an eighth of the time.
gc.set_threshold(20_000, 20, 20)

GRACE_SECONDS = 60.0
"""How long after a test its threads and windows may take to end."""


LONGEST = (
    "tests/core/test_families.py",
    "tests/core/symbolic/test_model_types.py",
    "tests/core/loading/test_cached_models.py",
    "tests/fuzz/",
    "tests/test_wheel.py",
    "tests/test_no_network.py",
    "tests/ui/journeys/test_desktop.py",
    "tests/core/tokenization/test_model_tokenizer.py",
)
"""Files that take far longer than others.

They come first: of several processes none is then waited for at the end.
"""


def pytest_configure(config: pytest.Config) -> None:
    # xdist would begin with the files that have many tests, and the longest have few.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_unconfigure() -> None:
    """Remove the cache and what else the tests have left there."""
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        shutil.rmtree(os.environ[variable], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--overwrite-golden",
        action="store_true",
        help="write what the program draws now into tests/golden, instead of comparing",
    )
    parser.addoption(
        "--update-images", action="store_true", help="write reference images, do not compare"
    )
    parser.addoption(
        "--late",
        action="store_true",
        help="have the worker, and what waits for a turn of the event loop, come late in tests/ui: "
        "a test that looks before it is there fails",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Give a function that compares a text with the file of that name in tests/golden."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name.replace(" ", "-")
        if request.config.getoption("--overwrite-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def image(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Give a function that compares a widget or QImage with the reference image of that name.

    Reference images are in the folder ``images`` next to the test.
    """

    def compare(name: str, picture: Any) -> None:
        from tests.tools.images import compare_image

        file = request.path.parent / "images" / f"{name.replace(' ', '-').replace(',', '')}.png"
        compare_image(file, picture, update=request.config.getoption("--update-images"))

    return compare


@pytest.fixture(scope="session")
def qapp(qapp: Any) -> Any:
    """Return pytest-qt's application, with the program's font and style from the first test on."""
    _dress(qapp)
    return qapp


@pytest.fixture(autouse=True)
def _usual_looks() -> None:
    """Restore what all tests of a process share: the theme, and the pointer outside of windows."""
    application = qt_application()
    if application is not None:
        _dress(application)


def _dress(application: Any) -> None:
    from PySide6.QtGui import QCursor

    from bertviewer.ui.theme.appearance import LIGHT_NAME, apply_appearance

    apply_appearance(application, LIGHT_NAME)
    # A header or a button under the pointer is drawn in its hover colours.
    QCursor.setPos(application.primaryScreen().geometry().bottomRight())


@pytest.fixture
def qtbot(qapp: Any, request: pytest.FixtureRequest) -> PatientBot:
    """Return pytest-qt's bot, with more patience."""
    return PatientBot(request)


def know_what_comes_with_the_program(patch: pytest.MonkeyPatch) -> None:
    """Have presets and the demo known, as they are to everybody who opens them in the window."""
    patch.setattr(models, "bundled", BUNDLED)


@pytest.fixture(scope="session", autouse=True)
def _nothing_seen_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have presets and the demo derived by the core's tests, not read from what comes with them."""
    empty = tmp_path_factory.mktemp("nothing-seen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "bundled", lambda kind: JsonStore(empty / kind, models.MAX_BYTES))
        yield


@pytest.fixture(scope="module", autouse=True)
def _seen_in_this_file_alone(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Have what one file's tests derive be new to all others, in whatever order they come."""
    folder = tmp_path_factory.mktemp("seen-here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_cache, "user_cache_path", lambda *_, **__: folder)
        if not request.node.nodeid.startswith(DERIVING):
            know_what_comes_with_the_program(patch)
        yield


@pytest.fixture
def nothing_was_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an empty cache to a test that needs a model to be new."""
    nowhere = tmp_path / "nothing-seen"
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: nowhere)
    monkeypatch.setattr(models, "bundled", lambda kind: JsonStore(nowhere / kind, models.MAX_BYTES))


@pytest.fixture(scope="session")
def demo_source() -> ModelSource:
    """Return the pretrained demo model, which the extra ``demo`` installs."""
    return parse_source("demo")


TINY_WORDS = ("this", "is", "a", "test", "sentence", "the", "cat", "sat", "on", "mat")


@pytest.fixture(scope="session")
def tiny_bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BERT of two layers, weights from a fixed seed, as a folder of the usual files."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    write_tiny_bert(folder)
    return folder


def write_tiny_bert(folder: Path) -> None:
    """Write it into a folder."""
    from bertviewer.core.building.backend import torch, transformers

    config = transformers.BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        transformers.BertModel(config).save_pretrained(folder)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    words += [f"##{letter}" for letter in letters]
    words += [word for word in TINY_WORDS if word not in letters]
    words += [f"[unused{number}]" for number in range(200 - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer", "do_lower_case": true, "model_max_length": 64}\n'
    )


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a path or a name of AF_UNIX
    if address[0] in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that talks to another machine. Programs that it starts are their own affair."""

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *args: Any) -> Any:
            # The address is the last argument of each of these.
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(args[-1]):
                # Not an OSError: a library would take that for a bad connection and go on.
                pytest.fail(f"a test tried to reach {args[-1]}")
            return method(self, *args)

        return call

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
    look_up = socket.getaddrinfo

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None and not _is_local((host,)):
            pytest.fail(f"a test tried to look up {host}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a running timer or a window to the tests after it."""
    _forget_libraries()
    before = threads() + qt_things()
    yield
    deadline = time.monotonic() + GRACE_SECONDS
    pause = 0.0  # most end at once
    while left := new(threads() + qt_things(), before):
        if time.monotonic() > deadline:
            pytest.fail(f"the test left behind: {', '.join(map(repr, left))}")
        left.clear()
        time.sleep(pause)
        let_things_end()
        pause = 0.02


@pytest.fixture(scope="module", autouse=True)
def _forget_other_files() -> None:
    """Take what the files before have made and keep out of the search for garbage.

    Among it are traced models: to look through these after every test with a window takes longer
    than the test.
    """
    gc.collect()
    gc.freeze()


@functools.cache
def _freeze(_modules: int) -> None:
    gc.collect()
    gc.freeze()


def _forget_libraries() -> None:
    """Take the million objects of torch, Qt and their kin out of the search when they are there."""
    _freeze(len(sys.modules) // MANY_MODULES)
