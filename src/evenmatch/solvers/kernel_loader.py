"""Load kernels that an earlier process compiled, without the compiler.

Numba's own loading prepares the compilation of further functions that call the kernel: it loads its
whole library of types, and each kernel once more in LLVM's representation. That is three quarters
of a server's memory and most of its start. This module loads only the machine code, and calls it
through numba's dispatcher, which checks and converts arguments as always. If another kernel that
calls this one has to be compiled, numba's own kernel is made then.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from llvmlite import binding

_dynfunc: Any = importlib.import_module("numba._dynfunc")
_dispatcher: Any = importlib.import_module("numba.core.dispatcher")
BASE: Any = _dispatcher._DispatcherBase


class Code(NamedTuple):
    """The machine code of a kernel, and the data needed to call it."""

    types: tuple[Any, ...]
    """numba's types of the arguments."""
    wrapper: str
    """Symbol of the function that takes Python objects."""
    environment: str
    """Symbol of the pointer to the kernel's own environment."""
    environments: Sequence[tuple[str, str, list[Any]]]
    """Environments that it refers to: symbol, name of the module, constants."""
    needs: Sequence[str]
    """Symbols that the process must define."""
    machine: bytes
    """An object file."""


class LoadedKernel(BASE):  # type: ignore[misc]
    """A kernel that can be called; the compiler is loaded only if another kernel is compiled.

    Args:
        function: The kernel in Python.
        code: Its machine code.
        compiled: Makes numba's own dispatcher of the kernel.
    """

    _fold_args = True

    def __init__(
        self, function: Callable[..., Any], code: Code, compiled: Callable[[], Any]
    ) -> None:
        self.compiled = cache(compiled)
        signature = inspect.signature(function)
        super().__init__(len(signature.parameters), function, signature, False, False)
        # The dispatcher keeps neither alive, and a type without references loses its number.
        self._kept = (code.types, _callable(function, code))
        self._insert([kind._code for kind in code.types], self._kept[1], False)

    @property
    def entry_point(self) -> Any:
        """Return the machine code as a function that does not check types."""
        return self._kept[1]

    @property
    def _numba_type_(self) -> Any:
        return self.compiled()._numba_type_

    def _compile_for_args(self, *args: Any, **keywords: Any) -> Any:
        """Handle arguments of other types by numba's own kernel, which converts or refuses them."""
        return self.compiled()

    def _make_finalizer(self) -> Callable[[], None]:
        return lambda: None


def can_load() -> bool:
    """Return whether this platform's machine code is in ELF format, which can be loaded."""
    return sys.platform.startswith("linux") and sys.maxsize > 2**32


def code_of(result: Any, types: tuple[Any, ...], environments: Sequence[Any]) -> bytes | None:
    """Return compiled code as bytes that `load` reads; None if it holds more than code.

    Args:
        result: From numba's compiler.
        types: Types of the arguments.
        environments: Environments that its code refers to.
    """
    library, about = result.library, result.fndesc
    if result.reload_init or result.objectmode or result.lifted or library.has_dynamic_globals:
        return None
    module = library._final_module
    names = [*module.functions, *module.global_variables]
    needs = [each.name for each in names if each.is_declaration]
    code = Code(
        types,
        about.llvm_cpython_wrapper_name,
        about.env_name,
        [_described(each) for each in (result.environment, *environments)],
        [name for name in needs if not name.startswith("llvm.")],
        library._get_compiled_object(),
    )
    return pickle.dumps(tuple(code))


def load(
    function: Callable[..., Any], data: bytes, compiled: Callable[[], Any]
) -> LoadedKernel | None:
    """Return a kernel from the bytes of `code_of`; None if this process cannot run it."""
    code = Code(*pickle.loads(data))
    _engine()
    if any(binding.address_of_symbol(name) is None for name in code.needs):
        return None
    return LoadedKernel(function, code, compiled)


def _described(environment: Any) -> tuple[str, str, list[Any]]:
    name = environment.globals.get("__name__", "")
    return environment.env_name, name, list(environment.consts)


def _callable(function: Callable[..., Any], code: Code) -> Any:
    """Link machine code into this process and return a function that calls it."""
    engine = _engine()
    machine = binding.ObjectFileRef.from_data(code.machine)
    engine.add_object_file(machine)
    engine.finalize_object()
    for symbol, module, constants in code.environments:
        address = engine.get_global_value_address(symbol)
        if address:
            pointer = id(_environment(symbol, module, constants))
            (ctypes.c_void_p * 1).from_address(address)[0] = pointer
    found = sys.modules[function.__module__]
    about = f"compiled wrapper for {function.__qualname__!r}"
    address = engine.get_function_address(code.wrapper)
    own = _ENVIRONMENTS[code.environment]
    return _dynfunc.make_function(found, function.__name__, about, address, own, (engine,))


_ENVIRONMENTS: dict[str, Any] = {}
"""By symbol; machine code points at them, so they live as long as the process."""


def _environment(symbol: str, module: str, constants: list[Any]) -> Any:
    """Return the environment of a symbol; a symbol belongs to one compilation only."""
    if symbol not in _ENVIRONMENTS:
        found = sys.modules.get(module)
        made = _dynfunc.Environment({"__name__": module} if found is None else vars(found))
        made.consts[:] = constants
        _ENVIRONMENTS[symbol] = made
    return _ENVIRONMENTS[symbol]


@cache
def _engine() -> Any:
    """Return the linker of machine code, with all that numba's code may call from Python."""
    codegen: Any = importlib.import_module("numba.core.codegen")
    base: Any = importlib.import_module("numba.core.base")
    externals: Any = importlib.import_module("numba.core.externals")
    runtime: Any = importlib.import_module("numba.core.runtime._nrt_python")
    # The module that uses the runtime's symbols sets their functions up when it is imported.
    importlib.import_module("numba.core.runtime.nrt")
    base._load_global_helpers()
    externals.c_math_functions.install(None)
    for name, address in runtime.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    return codegen.JITCPUCodegen("evenmatch.kernels")._engine._ee
