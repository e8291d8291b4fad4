"""Compiles the package's one C module while a wheel is built, where there is a C compiler."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

NAME = "bertviewer.core.activations._row_sums"
SOURCE = Path(*NAME.split(".")).with_suffix(".c")
# GCC before 12 vectorizes at -O3 alone, and its -O3 unrolls the loop over the lanes and is slower.
# Without debug information, which holds this build's own folder, each build gives the same bytes.
ARGUMENTS = [] if sys.platform == "win32" else ["-O2", "-ftree-vectorize", "-g0"]


class CompilingHook(BuildHookInterface[Any]):
    """Puts the compiled module into the wheel; of an editable one, beside its source.

    Without it torch takes the same figures, in several passes, so a machine without a compiler
    gets a wheel too.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for the running Python; ``version`` is "editable" for an editable wheel."""
        self._folder = TemporaryDirectory()
        try:
            if version == "editable":
                # One of an older source would be used as long as no other takes its place.
                for older in Path(self.root, SOURCE.parent).glob(f"{SOURCE.stem}.*"):
                    if older.suffix in (".so", ".pyd"):
                        older.unlink()
            compiled = self._compiled(Path(self._folder.name))
            if version == "editable":
                shutil.copy(compiled, Path(self.root, SOURCE.parent))
        except (BaseError, CCompilerError, OSError) as error:
            self.app.display_warning(f"built without {NAME}, which is only slower: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["force_include"][str(compiled)] = str(SOURCE.with_name(compiled.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled: the wheel has it."""
        self._folder.cleanup()

    def _compiled(self, folder: Path) -> Path:
        source = Path(self.root, SOURCE)
        command = build_ext(
            Distribution(
                {"ext_modules": [Extension(NAME, [str(source)], extra_compile_args=ARGUMENTS)]}
            )
        )
        command.build_temp, command.build_lib = str(folder / "objects"), str(folder)
        command.ensure_finalized()
        command.run()
        return Path(command.get_ext_fullpath(NAME))
