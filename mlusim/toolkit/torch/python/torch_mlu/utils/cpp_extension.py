"""Extensions with BANG C kernels, compiled by ``cncc``: `load`, `load_inline`, and classes for ``setup.py``."""

import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from torch_mlu import _place

Texts = str | Sequence[str] | None
BANG = (".mlu", ".mluh")
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


def load_inline(
    name: str,
    cpp_sources: Texts = "",
    bang_sources: Texts = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_bang_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_bang: bool | None = None,  # noqa: ARG001 - the sources show it
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,  # noqa: ARG001 - always
    keep_intermediates: bool = True,  # noqa: ARG001 - the cache has all files that can be reused
    use_pch: bool = False,  # noqa: ARG001 - always
    extra_cncc_cflags: Sequence[str] | None = None,
    mlu_sources: Texts = None,
) -> ModuleType | str:
    """Build an extension from source texts, and return its module.

    *functions* are the functions for Python, as names or with docstrings; *cpp_sources* declares or defines them.
    Raises `RuntimeError` with the compiler's output if it does not compile.
    """
    del build_directory  # the results are in mlusim's cache, under names that depend on their contents
    extension = {
        "name": name,
        "bang": [*_texts(bang_sources), *_texts(mlu_sources)],
        "cpp": "\n".join(_texts(cpp_sources)),
        "functions": _functions(functions),
        **_flags(extra_include_paths, extra_cflags, (extra_bang_cflags, extra_cncc_cflags), extra_ldflags),
    }
    if not extension["bang"] and not extension["cpp"]:
        message = "load_inline has no sources; give bang_sources, cpp_sources or both"
        raise ValueError(message)
    return _loaded(extension, verbose, is_python_module)


def load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    extra_cflags: Sequence[str] | None = None,
    extra_bang_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_bang: bool | None = None,  # noqa: ARG001 - the sources show it
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,  # noqa: ARG001 - the cache has all files that can be reused
    extra_cncc_cflags: Sequence[str] | None = None,
) -> ModuleType | str:
    """Build an extension from files, one of which has ``PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)``, and return its module.

    Raises `RuntimeError` as `load_inline` does.
    """
    del build_directory
    if is_standalone:
        message = "load makes modules; compile a program with cncc"
        raise ValueError(message)
    extension = {
        "name": name,
        "files": [
            _file(source) for source in ([sources] if isinstance(sources, str | os.PathLike) else sources)
        ],
        **_flags(extra_include_paths, extra_cflags, (extra_bang_cflags, extra_cncc_cflags), extra_ldflags),
    }
    return _loaded(extension, verbose, is_python_module)


Words = Sequence[str] | None


def _flags(include: Words, cxx: Words, bang: Iterable[Words], link: Words) -> dict[str, list[str]]:
    """Return the folders and flags for the builder; any of the arguments may be None.

    Raises `TypeError` for a string, whose letters would be taken for flags.
    """
    bang = list(bang)
    for flags in (include, cxx, link, *bang):
        if isinstance(flags, str):
            message = f"the flags {flags!r} are a text; give a list: {flags.split()!r}"
            raise TypeError(message)
    return {
        "include": [str(folder) for folder in include or ()],
        "cxx_flags": list(cxx or ()),
        "bang_flags": [word for words in bang for word in words or ()],
        "link_flags": list(link or ()),
    }


def _texts(texts: Texts) -> list[str]:
    if texts is None or texts == "":
        return []
    return [texts] if isinstance(texts, str) else list(texts)


def _functions(functions: str | Sequence[str] | Mapping[str, str] | None) -> dict[str, str] | None:
    if functions is None:
        return None
    if isinstance(functions, Mapping):
        return dict(functions)
    return {name: name for name in ([functions] if isinstance(functions, str) else functions)}


def _file(path: str | os.PathLike[str]) -> str:
    absolute = Path(path).absolute()
    if not absolute.is_file():
        message = f"{path}: there is no such file"
        raise FileNotFoundError(message)
    return str(absolute)


def _built(extension: Mapping[str, Any], verbose: bool) -> str:
    answer = _place.asked(extension=extension)
    if "error" in answer:
        shown = f"\n{answer['shown']}" if answer["shown"] else ""
        message = f"Error building extension '{extension['name']}': {answer['error']}{shown}"
        raise RuntimeError(message)
    if verbose:
        sys.stdout.write("".join(f"{command}\n" for command in answer["commands"]) + answer["said"])
    return str(answer["path"])


def _loaded(extension: Mapping[str, Any], verbose: bool, module: bool) -> ModuleType | str:
    path = _built(extension, verbose)
    if not module:
        _place.torch().ops.load_library(path)
        return path
    try:
        loaded = _place.extension(path)
    except ImportError as error:
        raise RuntimeError(_unloadable(extension, str(error))) from None
    loaded.__name__ = str(extension["name"])
    return loaded


def _unloadable(extension: Mapping[str, Any], why: str) -> str:
    missing = _UNDEFINED.search(why)
    name = extension["name"]
    if "PyInit_" in why:
        return (
            f"extension '{name}' has no module: write PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) in one of its sources, "
            "or give load_inline functions=[...]"
        )
    if missing is None:
        return f"extension '{name}' cannot be loaded: {why}"
    from torch_mlu import _C  # noqa: PLC0415 - only for an error message

    function = _C.demangle(missing[1])
    return (
        f"extension '{name}' uses {function}, which none of its sources defines; "
        "write the same parameters where it is declared (cpp_sources) and where it is defined, or name its library in extra_ldflags"
    )


# -- setup.py --------------------------------------------------------------------------------------


def include_paths(*args: object) -> list[str]:  # noqa: ARG001 - which devices
    """Return the folders of headers for extensions."""
    return [*_place.include_paths(), str(_place.home() / "include")]


def library_paths(*args: object) -> list[str]:  # noqa: ARG001 - which devices
    """Return the folders of the libraries of PyTorch and the toolkit."""
    return [str(Path(str(_place.torch().__file__)).parent / "lib"), str(_place.home() / "lib64")]


def MLUExtension(name: str, sources: Sequence[str], *args: object, **kwargs: object) -> Extension:
    """Return an extension with C++ and BANG C for ``setup.py``; ``extra_compile_args`` may be a dictionary with ``cxx`` and ``cncc``.

    The arguments ``verbose`` and ``extra_cflags`` of `load`, which the vendor's examples pass here, are accepted.
    """
    kwargs.setdefault("language", "c++")
    kwargs.pop("verbose", None)
    more = kwargs.pop("extra_cflags", None)
    extension = Extension(name, list(sources), *args, **kwargs)
    if more:
        extra = extension.extra_compile_args
        by_language = extra if isinstance(extra, dict) else {"cxx": extra or [], "cncc": extra or []}
        extension.extra_compile_args = by_language | {"cxx": [*by_language.get("cxx", ()), *more]}
    return extension


BangExtension = MLUExtension


class BuildExtension(build_ext):
    """Builds extensions with ``cncc``."""

    @classmethod
    def with_options(cls, **options: object) -> "type[BuildExtension]":  # noqa: ARG003 - no option has an effect
        """Return the class itself, since options such as ninja have no effect."""
        return cls

    def build_extension(self, ext: Extension) -> None:
        """Make the library of *ext*.  Raises `RuntimeError` with the compiler's output if it does not compile."""
        extra = ext.extra_compile_args
        flags = extra if isinstance(extra, dict) else {"cxx": extra or [], "cncc": extra or []}
        macros = [f"-D{n}" if v is None else f"-D{n}={v}" for n, v in ext.define_macros or ()]
        macros += [f"-U{n}" for n in ext.undef_macros or ()]
        folders = [
            str(Path(folder).absolute()) for folder in (*(ext.include_dirs or ()), *(self.include_dirs or ()))
        ]
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        link = [
            *(f"-L{folder}" for folder in ext.library_dirs or ()),
            *(f"-l{library}" for library in ext.libraries or ()),
            *(ext.extra_objects or ()),
            *(ext.extra_link_args or ()),
        ]
        bang: Iterable[str] = next((flags[name] for name in ("cncc", "bang", "mlu") if name in flags), ())
        pythons = {Path(sysconfig.get_paths()[name]) for name in ("include", "platinclude")}
        extension = {
            "name": ext.name,
            "files": [_file(source) for source in ext.sources],
            "include": [folder for folder in folders if Path(folder) not in pythons],
            "cxx_flags": [*macros, *flags.get("cxx", ())],
            "bang_flags": [*macros, *bang],
            "link_flags": link,
            "output": str(path.absolute()),
        }
        _built(extension, bool(self.verbose))
