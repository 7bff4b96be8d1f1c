"""A history drawn: on a terminal or in a pipe, as a JSON document, as a page for a browser."""

from kafka_groups.rendering.history.document import history_document
from kafka_groups.rendering.history.page import check_charts, write_page
from kafka_groups.rendering.history.schema import history_schema
from kafka_groups.rendering.history.table import draw_history

__all__ = ["check_charts", "draw_history", "history_document", "history_schema", "write_page"]
