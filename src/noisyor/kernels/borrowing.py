"""Arguments of kernels are borrowed: nobody counts references to them.

Numba counts the references to every array. A function adds one to each array of its arguments when
it begins, and takes it away when it ends; behind branches it fails to see that this is in vain. A
kernel whose arguments are two named tuples of a dozen arrays then does fifty atomic operations in
each call, on counts that all threads share: most of the time, where kernels are small. But what
calls a kernel holds its arguments all the while.

So variables that are an argument, or a part of one, are not counted. Whatever else is made of them
(another name, a result, a part of a tuple) still is.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import ir, lowering, types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import BaseNativeLowering, NativeLowering


class BorrowingLower(lowering.Lower):
    """Numba's translation of a function to LLVM's language, in which arguments are borrowed."""

    def lower(self) -> None:
        """Translate the function."""
        self._is_counting = True
        self._borrowed = self._find_borrowed()
        super().lower()

    def _find_borrowed(self) -> set[str]:
        """Return the names of variables that are an argument, or a part of a borrowed tuple."""
        blocks = self.func_ir.blocks
        assigned = [each for block in blocks.values() for each in block.find_insts(ir.Assign)]
        n_assigned = Counter(each.target.name for each in assigned)
        once = [each for each in assigned if n_assigned[each.target.name] == 1]
        borrowed = {each.target.name for each in once if self._is_argument(each)}
        while True:  # parts of parts
            parts = {each.target.name for each in once if self._is_part(each, borrowed)}
            if parts <= borrowed:
                return borrowed
            borrowed |= parts

    def _is_argument(self, assigned: Any) -> bool:
        value = assigned.value
        if not isinstance(value, ir.Arg) or self.generator_info:
            return False  # a generator goes on after its caller has let go
        return bool(self.typeof(f"arg.{value.name}") == self.typeof(assigned.target.name))

    def _is_part(self, assigned: Any, borrowed: set[str]) -> bool:
        value = assigned.value
        if not isinstance(value, ir.Expr) or value.op not in ("getattr", "static_getitem"):
            return False
        is_tuple = isinstance(self.typeof(value.value.name), types.BaseTuple)
        return is_tuple and value.value.name in borrowed

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Translate an assignment."""
        if inst.target.name not in self._borrowed:
            return super().lower_assign(ty, inst)
        if isinstance(inst.value, ir.Arg):
            with self._not_counting():
                return super().lower_assign(ty, inst)
        part = super().lower_assign(ty, inst)  # counts it in a place of its own
        self.decref(ty, part)  # two neighbours, which LLVM removes
        return part

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable a value; what it had before, in an earlier round of a loop, goes."""
        if name not in self._borrowed:
            super().storevar(value, name, argidx)
            return
        with self._not_counting():
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        """Let go of a variable."""
        if name not in self._borrowed:
            super().delvar(name)
            return
        with self._not_counting():
            super().delvar(name)

    def incref(self, typ: Any, val: Any) -> None:
        """Count a reference."""
        if self._is_counting:
            super().incref(typ, val)

    def decref(self, typ: Any, val: Any) -> None:
        """Take it back."""
        if self._is_counting:
            super().decref(typ, val)

    @contextmanager
    def _not_counting(self) -> Iterator[None]:
        self._is_counting = False
        try:
            yield
        finally:
            self._is_counting = True


@register_pass(mutates_CFG=True, analysis_only=False)
class BorrowingLowering(BaseNativeLowering):
    """The step of numba's compiler that translates so."""

    _name: Any = "noisyor_borrowing_lowering"

    @property
    def lowering_class(self) -> Any:
        """What translates."""
        return BorrowingLower


def with_borrowing(pipeline: Any) -> Any:
    """Return the steps of a compiler with this translation in place of numba's own."""
    pipeline.passes = [
        (BorrowingLowering if step is NativeLowering else step, description)
        for step, description in pipeline.passes
    ]
    pipeline.finalize()
    return pipeline
