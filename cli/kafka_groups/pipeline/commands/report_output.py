"""The output of `pipeline report`: the history in each format, the page, notes, and the failures."""

from __future__ import annotations

from kafka_groups.errors import IncompleteResultError, PipelineError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.model import Failure, status_of
from kafka_groups.pipeline.commands.command_run import Run
from kafka_groups.pipeline.commands.documents import error_document
from kafka_groups.pipeline.commands.page_file import write_page_to
from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.report.notation import describe_omitted_groups
from kafka_groups.pipeline.report.text.lines import write_history_lines
from kafka_groups.pipeline.report.text.table import draw_history
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers.whole_result import write_document
from kafka_groups.suggestions import suggest


def write_report(
    run: Run, history: History, *, page_path: str | None, page_limit: GroupLimit, has_pattern: bool
) -> IncompleteResultError | None:
    """Write the page, if a path is given, and the report; return IncompleteResultError if anything failed.

    Requested groups without data, and a page that cannot be written, are failures. The report is written nevertheless.
    A page without any group does not replace an earlier one.
    """
    page_error = None
    if page_path is not None and (history.groups or not history.unknown):
        page_error = _write_page(run, history.limited_to(page_limit), len(history.groups), page_path)
    failures = [_make_failure(group, history.nearest.get(group)) for group in history.unknown]
    status = status_of(
        anything_failed=bool(failures or page_error), anything_succeeded=bool(history.groups or page_error)
    )
    if run.output_format == "json":
        _write_document(run, history, failures, page_error, status)
    elif history.groups or not failures:
        _write_rows(run, history)
    if has_pattern and not history.groups and not failures:
        run.print_note("No group matches.")
    print_failures(run.screen, failures)
    if page_error is not None:
        run.print_note(f"Error: {page_error}")
    return None if status is ResultStatus.COMPLETE else IncompleteResultError(status)


def _write_page(run: Run, page_history: History, groups_in_report: int, page_path: str) -> PipelineError | None:
    """Write the page of this history; return the error if that fails."""
    try:
        write_page_to(page_path, page_history, max_groups=len(page_history.groups))
    except PipelineError as error:
        return error
    # The note on groups that the report itself omits is printed with the report.
    omits_more_groups = len(page_history.groups) < groups_in_report
    run.print_note(
        f"The page is {page_path}.{f' On it, {describe_omitted_groups(page_history)}' if omits_more_groups else ''}"
    )
    return None


def _write_document(
    run: Run, history: History, failures: list[Failure], page_error: PipelineError | None, status: ResultStatus
) -> None:
    """Write the history as a JSON document, with the failures and the page's error among its errors."""
    run.is_written = True
    document = history_document(history, failures)
    page_errors = [] if page_error is None else [error_document(page_error)]
    status_and_errors = {"status": status, "errors": [*document["errors"], *page_errors]}
    write_document(run.screen, document | status_and_errors)
    _note_omitted_groups(run, history)


def _write_rows(run: Run, history: History) -> None:
    if run.output_format == "table":
        draw_history(run.screen, history)
    else:
        write_history_lines(run.screen, history, run.output_format)
        _note_omitted_groups(run, history)


def _note_omitted_groups(run: Run, history: History) -> None:
    """Print how many groups the output omits, except for a table, whose heading has this."""
    if note := describe_omitted_groups(history):
        run.print_note(note)


def _make_failure(group: str, nearest_id: str | None) -> Failure:
    """Return the failure of a requested group without data, with a suggestion if a known id is near."""
    message = "the tables have no data on this group in this period; check the id, or give a longer --since"
    hint = suggest(group, nearest_id)
    return Failure(group=group, code=GROUP_ID_NOT_FOUND, name="GROUP_ID_NOT_FOUND", message=message + hint)
