"""Structs that are equal although some of their fields differ."""

from typing import Any, ClassVar


class PartialEquality:
    """Mixin: the fields in ``NOT_COMPARED`` count neither for ``==`` and ``hash`` nor in a repr.

    msgspec has no such option per field.
    """

    __slots__ = ()
    NOT_COMPARED: ClassVar[tuple[str, ...]] = ()
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(tuple(self._compared().values()))

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self._compared().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _compared(self) -> dict[str, Any]:
        names = (n for n in self.__struct_fields__ if n not in self.NOT_COMPARED)
        return {name: getattr(self, name) for name in names}
