"""A survey of a source: its kernels with memory and intrinsics, functions, templates, and functions that do not translate."""

from collections.abc import Iterator

from attrs import frozen

from mlusim.arch.board import Arch
from mlusim.bangc import ir
from mlusim.bangc.link import DeclaredMemory, File, LinkPlan, declared_memory, link
from mlusim.bangc.module import BangKernel, Module, named_kernels
from mlusim.bangc.prelude import INCLUDE
from mlusim.isa.table import ISA


@frozen
class Untranslated:
    """A function that does not translate or has no definition: the construct, and its location."""

    function: str
    construct: str
    file: str
    line: int
    column: int
    message: str
    excerpt: str = ""


@frozen
class KernelFacts:
    """A kernel: ``parameters`` are (name, type), ``declared`` is its declared on-chip memory."""

    name: str
    file: str
    line: int
    parameters: tuple[tuple[str, str], ...]
    translated: bool
    declared: DeclaredMemory
    intrinsics: tuple[str, ...]
    missing: tuple[str, ...] = ()  # called functions without a definition
    interpreted: str | None = None  # the construct without C form, so that the Python engine runs the kernel

    def too_large(self, arch: Arch) -> Iterator[str]:
        """Yield a sentence for each memory of which the kernel declares more than *arch* has; the vendor's compiler refuses that."""
        return self.declared.too_large(self.name, arch)


@frozen
class FileFacts:
    """The survey of one file of a module."""

    file: str
    functions: tuple[str, ...]
    templates: tuple[str, ...]
    kernels: tuple[KernelFacts, ...]
    untranslated: tuple[Untranslated, ...]


def survey(module: Module) -> tuple[FileFacts, ...]:
    """Survey each file of *module*."""
    return tuple(_file(module, file, number) for number, file in enumerate(module.files))


def _file(module: Module, file: File, number: int) -> FileFacts:
    defined = [f for f in file.form.functions.values() if not f.external]
    named = named_kernels(f for f in defined if f.kind == "kernel")
    kernels = tuple(_kernel(module, file, f, name) for name, several in named.items() for f in several)
    return FileFacts(
        module.paths[number],
        tuple(f.name for f in defined if f.kind != "kernel" and not f.span.file.startswith(str(INCLUDE))),
        tuple(dict.fromkeys(d.name for d in module.units[number].templates)),
        kernels,
        (*_problems(defined), *_absent(module, file, defined)),
    )


def _problems(functions: list[ir.Function]) -> Iterator[Untranslated]:
    for function in functions:
        problem = function.problem
        if problem is not None:
            at = problem.span.file, problem.span.line, problem.span.column
            yield Untranslated(function.name, problem.construct, *at, problem.message, problem.excerpt)


def _absent(module: Module, file: File, functions: list[ir.Function]) -> Iterator[Untranslated]:
    """Yield the device functions that a kernel reaches but no file defines."""
    listed: set[str] = set()
    for function in functions:
        if function.kind != "kernel" or function.problem is not None:
            continue
        for symbol in link(module.files, file, function.symbol).absent:
            declared = file.form.functions.get(symbol)
            if declared is not None and declared.external and symbol not in listed:
                listed.add(symbol)
                span = declared.span
                text = f"{declared.name} is declared here and defined in no file that was given"
                yield Untranslated(declared.name, "no definition", span.file, span.line, span.column, text)


def _kernel(module: Module, file: File, function: ir.Function, name: str) -> KernelFacts:
    plan = LinkPlan(function.symbol) if function.problem else link(module.files, file, function.symbol)
    spellings = {ISA[row].spelling for row in plan.rows}
    parameters = tuple((p.source_name, p.spelling) for p in function.parameters)
    translated = function.problem is None and not plan.absent
    return KernelFacts(
        name,
        function.span.file,
        function.span.line,
        parameters,
        translated,
        declared_memory(plan),
        tuple(sorted(spellings)),
        tuple(plan.absent),
        _without_c(function, plan, module.options.board.arch) if translated else None,
    )


def _without_c(function: ir.Function, plan: LinkPlan, arch: Arch) -> str | None:
    native = BangKernel(function, plan, arch.bang_arch).native
    native.program(arch)
    why: str | None = native.problem
    return why
