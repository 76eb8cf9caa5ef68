"""The device code of a file: translated for each architecture, as a record or as text."""

from mlusim.arch.board import Board
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.errors import diagnostic_of
from mlusim.frontend.bangc.ir import text
from mlusim.frontend.bangc.making import made, prepare
from mlusim.frontend.bangc.parse import trial
from mlusim.frontend.bangc.parse.sources import Options
from mlusim.frontend.bangc.translate import translate
from mlusim.toolkit import embedded, record
from mlusim.toolkit.embedded import EmbeddedRecord, RecordSource


def form_of(source: RecordSource, board: Board) -> ir.TranslationUnit:
    """Return the device's side of *source* for *board*.  Raises `SourceError` where it does not parse, `UsageError` where it cannot be read."""
    return record.device_side(translate(source.path, _options(source, board)).form)


def _options(source: RecordSource, board: Board) -> Options:
    return Options(
        source.include, source.define, board, vouched=True, before=source.before, standard=source.standard
    )


def embedded_of(source: RecordSource) -> EmbeddedRecord:
    """Return the record to embed of *source*, with a warning for each function that does not translate: launched, it is a fault.

    Raises as `form_of`.
    """
    prepare(source.boards, source.standard)
    content = trial.in_child(source.path, lambda: embedded.pack(_embedded(source)))
    return _embedded(source) if content is None else embedded.unpack(content)


def _embedded(source: RecordSource) -> EmbeddedRecord:
    forms = [record.device_side(made(source.path, _options(source, board)).form) for board in source.boards]
    every = [f for form in forms for f in form.functions.values()]
    warnings = dict.fromkeys(diagnostic_of(f) for f in every if f.problem is not None)
    kinds = {f.kind for f in every if not f.external}
    read = dict.fromkeys(path for form in forms for path in form.includes)
    return EmbeddedRecord(
        record.write(source, forms),
        tuple(warnings),
        kinds == {"device"},
        tuple(dict.fromkeys(one for form in forms for one in record.offered(form, source.path))),
        tuple(dict.fromkeys(one for form in forms for one in record.wanted(form, source.path))),
        {path: embedded.digest(path) for path in read},
        tuple(record.launched(forms[0], source.path)),  # whose architecture the host is compiled for
    )


def text_of(source: RecordSource) -> str:
    """Return the typed form of *source* for each architecture, to be read by people.  Raises as `form_of`."""
    return "".join(
        f"// {board.arch.name}\n{text.module_text(form_of(source, board))}\n" for board in source.boards
    )
