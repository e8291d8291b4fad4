"""The contents of a pickle: its globals and opcodes, read without running it.

A pickle is a program that builds objects and may call any function. ``pickletools`` of the standard
library lists its opcodes. A pickle is refused before torch sees it if it needs other globals than
tensors do, or has other opcodes than torch reads with ``weights_only=True``. (torch's own
``get_unsafe_globals_in_checkpoint`` needs the import of torch, reads the zip file in C++, and knows
only the newer of the two file formats.)
"""

import errno
import io
import pickletools
import struct
import zipfile
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from pathlib import Path

from msgspec import Struct

from bertviewer.core.checkpoints.header import LFS_POINTER, WEB_PAGE
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.text import listed

MAX_PROGRAM_BYTES = 16_000_000
"""Room for 100,000 tensors of about 130 bytes each."""
MAX_OPCODES = 3_000_000
NAMES_SHOWN = 4
NAME_LENGTH = 80

# The beginning of a file in the format of torch.save before version 1.6.
_MAGIC = 0x1950A86A20F9469CFC6C
# After the magic number: protocol version, machine, object, keys of the storages.
_PICKLES_AFTER_MAGIC = 4

_DTYPES = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
    "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip
_STORAGES = (
    "Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool",
)  # fmt: skip
_SAFE_GLOBALS = frozenset(
    (
        "collections.OrderedDict",
        "torch._utils._rebuild_tensor",
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3",
        "torch._utils._rebuild_parameter",
        "torch.nn.parameter.Parameter",
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "torch.storage.UntypedStorage",
        *(f"torch.{name}" for name in _DTYPES),
        *(f"torch.{name}Storage" for name in _STORAGES),
        *(f"torch.{name}Tensor" for name in _STORAGES),
    )
)
"""The globals of tensors, and of the containers that they are saved in."""

_SAFE_OPCODES = (
    "APPEND", "APPENDS", "BINFLOAT", "BINGET", "BININT", "BININT1", "BININT2", "BINPERSID",
    "BINPUT", "BINUNICODE", "BUILD", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_SET", "EMPTY_TUPLE",
    "GLOBAL", "LONG1", "LONG_BINGET", "LONG_BINPUT", "MARK", "NEWFALSE", "NEWOBJ", "NEWTRUE",
    "NONE", "PROTO", "REDUCE", "SETITEM", "SETITEMS", "SHORT_BINSTRING", "STOP", "TUPLE",
    "TUPLE1", "TUPLE2", "TUPLE3",
)  # fmt: skip

_DAMAGED = (
    zipfile.BadZipFile,
    ValueError,
    LookupError,
    OverflowError,
    EOFError,
    NotImplementedError,
    struct.error,
    Warning,  # about a backslash in a text, where warnings are errors
)


_ENCRYPTED = 1  # a zip entry's flag


class _TooLongError(Exception):
    """The pickle is longer than saved weights need."""


class PickleContents(Struct, frozen=True):
    """The contents of a file of pickled weights.

    Attributes:
        file: the file.
        nbytes: its size.
        globals: all classes and functions in it, sorted: ``torch.FloatStorage``.
        unsafe_opcodes: the opcodes that torch does not write, sorted; usually none.
    """

    file: Path
    nbytes: int
    globals: tuple[str, ...]
    unsafe_opcodes: tuple[str, ...] = ()

    @property
    def unsafe_globals(self) -> tuple[str, ...]:
        """The classes and functions that tensors do not need."""
        return tuple(name for name in self.globals if name not in _SAFE_GLOBALS)

    @property
    def refusal(self) -> str:
        """Why it is not read, in one line; empty if it contains nothing but tensors."""
        if self.unsafe_globals:
            names = listed(self.unsafe_globals, NAMES_SHOWN)
            of_training = self.file.suffix in (".ckpt", ".pt", ".pth")
            instead = "; save only the model's state_dict and open that" if of_training else ""
            return f"{self.file}: refused: it asks for {names}, which tensors never need{instead}"
        if self.unsafe_opcodes:
            return (
                f"{self.file}: refused: its pickle has opcodes that torch never writes "
                f"({listed(self.unsafe_opcodes, NAMES_SHOWN)})"
            )
        return ""


def read_contents(file: Path) -> PickleContents:
    """Return the contents of a file that torch saved, without running it.

    Raises:
        UserError: it cannot be read, is damaged, or does not contain weights.
    """
    scanner = _Scanner()
    try:
        nbytes = file.stat().st_size
        with file.open("rb") as opened:
            start = opened.read(MAX_PROGRAM_BYTES)
        if is_zip := start.startswith(b"PK\x03\x04"):
            scanner.read(io.BytesIO(_program_of_zip(file, nbytes)))
        else:
            _refuse_other_files(file, start)
            scanner.read_old_format(io.BytesIO(start))
    except _TooLongError as error:
        raise UserError(f"{file}: it lists too many tensors") from error
    except OSError as error:
        # A truncated zip may point to a place before its beginning.
        cause = "truncated or corrupt" if error.errno == errno.EINVAL else error_reason(error)
        raise UserError(f"{file}: {cause}") from error
    except _DAMAGED as error:
        raise UserError(f"{file}: truncated or corrupt") from error
    contents = PickleContents(
        file, nbytes, tuple(sorted(scanner.globals)), tuple(sorted(scanner.unsafe_opcodes))
    )
    if not (is_zip or scanner.has_magic or contents.refusal):
        raise UserError(f"{file}: a pickle that was not saved by torch")
    return contents


def _refuse_other_files(file: Path, start: bytes) -> None:
    text = start[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        raise UserError(f"{file}: the file is empty")
    if text.startswith(b"version https://git-lfs"):
        raise UserError(f"{file}: {LFS_POINTER}")
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        raise UserError(f"{file}: {WEB_PAGE}")
    if start[257:262] == b"ustar":
        raise UserError(f"{file}: in torch's oldest format (tar), which is not supported")
    if start[8:9] == b"{":
        raise UserError(f"{file}: a safetensors file; name it model.safetensors")
    # Pickle protocols since 2; torch never used an older one.
    if start[:1] != b"\x80":
        raise UserError(f"{file}: not a file saved by torch")


def _program_of_zip(file: Path, nbytes: int) -> bytes:
    """Return the pickle in a zip file in torch's format."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        names = {entry.filename for entry in entries}
        # torch stores entries without compression.
        if any(e.compress_type != zipfile.ZIP_STORED or e.flag_bits & _ENCRYPTED for e in entries):
            raise UserError(
                f"{file}: its entries are compressed or encrypted, which torch never does"
            )
        if sum(entry.file_size for entry in entries) > nbytes:
            raise UserError(f"{file}: its entries claim to be larger than the file")
        if len(names) < len(entries):
            raise UserError(f"{file}: two of its entries have the same name")
        folders = {name.partition("/")[0] for name in names}
        folder = next(iter(folders), "")
        if len(folders) != 1 or f"{folder}/data.pkl" not in names:
            raise UserError(f"{file}: a zip file, but not one in which torch saved weights")
        if f"{folder}/constants.pkl" in names:
            raise UserError(f"{file}: a TorchScript program, not only weights")
        if archive.getinfo(f"{folder}/data.pkl").file_size > MAX_PROGRAM_BYTES:
            raise _TooLongError
        return archive.read(f"{folder}/data.pkl")


class _Scanner:
    """Collects the globals and unsafe opcodes of pickles."""

    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.unsafe_opcodes: set[str] = set()
        self.has_magic = False
        self._left = MAX_OPCODES

    def read_old_format(self, stream: io.BytesIO) -> None:
        """Read the pickles at the beginning of a file in the format before torch 1.6."""
        self.read(stream)
        if self.has_magic:
            for _ in range(_PICKLES_AFTER_MAGIC):
                self.read(stream)

    def read(self, stream: io.BytesIO) -> None:
        """Read one pickle up to its end.

        Raises:
            _TooLongError: it has too many opcodes.
            Exception: one of ``_DAMAGED``: it is invalid or truncated.
        """
        # A later STACK_GLOBAL takes the two texts that were pushed last from the stack.
        pushed: list[str] = ["?", "?"]
        memo: dict[int, str] = {}
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            self._left -= 1
            if self._left < 0:
                raise _TooLongError
            if name not in _SAFE_OPCODES:
                self.unsafe_opcodes.add(name)
            if name in ("GLOBAL", "INST"):
                self._add(*str(argument).split(" ", 1))
            elif name == "STACK_GLOBAL":
                self._add(*pushed)
            elif name == "LONG1" and argument == _MAGIC:
                self.has_magic = True
            if name in ("PUT", "BINPUT", "LONG_BINPUT"):
                memo[int(argument or 0)] = pushed[-1]
            elif name == "MEMOIZE":
                memo[len(memo)] = pushed[-1]
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                pushed = [pushed[-1], memo.get(int(argument or 0), "?")]
            elif opcode.stack_after:
                pushed = [pushed[-1], argument if isinstance(argument, str) else "?"]

    def _add(self, module: str, name: str = "?") -> None:
        module, name = NAME_MAPPING.get((module, name), (module, name))
        self.globals.add(_printable(f"{IMPORT_MAPPING.get(module, module)}.{name}"))


def _printable(text: str) -> str:
    """Return a name from the file for a message of one line."""
    kept = "".join(character if character.isprintable() else "�" for character in text)
    return kept if len(kept) <= NAME_LENGTH else f"{kept[:NAME_LENGTH]}…"
