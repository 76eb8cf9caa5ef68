"""The formats in which ``mlusim report`` writes its records, and the studies that go with them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mlusim.report.compare import BaselineComparison, comparison_json, comparison_markdown
from mlusim.report.json_values import json_text
from mlusim.report.page.html import html_text
from mlusim.report.record import CallRecord
from mlusim.report.tables.files import csv_text, document, markdown_text
from mlusim.report.tables.whatif import WhatIfStudy, what_if_markdown


@frozen
class Extras:
    """Additions to the records: the comparison with a baseline, studies of other boards, and the words of the command line."""

    found: BaselineComparison | None
    studies: Sequence[WhatIfStudy]
    command: str = ""


def _document(records: Sequence[CallRecord], extras: Extras, version: str) -> dict[str, Any]:
    gated = {} if extras.found is None else {"comparison": comparison_json(extras.found)}
    asked = {"what_if": [study.to_json() for study in extras.studies]} if extras.studies else {}
    return document(records, version) | gated | asked


def _markdown(records: Sequence[CallRecord], extras: Extras, version: str) -> str:
    gated = "" if extras.found is None else comparison_markdown(extras.found, version)
    studies = "".join(f"\n{what_if_markdown(study)}" for study in extras.studies)
    return markdown_text(records, version) + gated + studies


FORMATS: Mapping[str, Callable[[Sequence[CallRecord], Extras, str], str]] = MappingProxyType(
    {
        "json": lambda records, extras, version: json_text(_document(records, extras, version)),
        "csv": lambda records, _, __: csv_text(records),
        "md": _markdown,
        "html": lambda records, extras, version: html_text(
            records, version, extras.studies, extras.found, extras.command
        ),
    }
)
GATED = ("json", "md", "html")  # formats that have room for a comparison
