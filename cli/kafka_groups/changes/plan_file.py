"""Plans as JSON documents of the schema `kafka-groups/plan/1`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from kafka_groups.changes.change import Action, Change, Plan
from kafka_groups.errors import PlanFileError
from kafka_groups.kinds import SHARE, has_start_offsets
from kafka_groups.protocol.topic_ids import parse_topic_id
from kafka_groups.surrogates import escape_in_json

SCHEMA: Final = "kafka-groups/plan/1"
_BYTE_ORDER_MARK: Final = "\ufeff"
# The start of an object, and not of CSV whose first group id starts with a brace.
_START: Final = re.compile(r"\{\s*(\"|\}?\Z)")
_MAX_SHOWN: Final = 40
_INT32: Final = 2**31 - 1
_INT64: Final = 2**63 - 1


class PlanKey(NamedTuple):
    """A key of a change: `most` is the largest number of an integer, None for a text."""

    description: str
    most: int | None = None


# The keys in the order in which they are written. `action` and `group` are required, the others may be null.
KEYS: Final[Mapping[str, PlanKey]] = {
    "action": PlanKey(f"What the change does: {', '.join(Action)}."),
    "group": PlanKey("The group id."),
    "group_type": PlanKey("The type of a group with start offsets, such as Share; null for committed offsets."),
    "topic": PlanKey("The topic; null if the change has no partition."),
    "topic_id": PlanKey("The id of the topic, as Kafka's tools print it; null if it is unknown."),
    "partition": PlanKey("The partition; null if the change has none.", _INT32),
    "committed_offset": PlanKey(
        "The committed offset, or start offset, before the change; null if there was none.", _INT64
    ),
    "leader_epoch": PlanKey(
        "The leader epoch of the commit before the change; null if it had none; start offsets have none.", _INT32
    ),
    "metadata": PlanKey(
        "The metadata of the commit before the change; null if there was none; start offsets have none."
    ),
    "new_offset": PlanKey(
        "The offset to commit, or the start offset to set; null for other actions, and if share_offset leaves none.",
        _INT64,
    ),
    "new_leader_epoch": PlanKey("The leader epoch to commit; null for none.", _INT32),
    "new_metadata": PlanKey("The metadata to commit; null for none."),
    "member_id": PlanKey("The member to remove; null if the action is not remove_member."),
    "group_instance_id": PlanKey("The group instance id of the member to remove; null for a dynamic member."),
}
# The journal writes the first ones once for the changes of a topic of a group, and the others in rows.
_SHARED_KEYS: Final = ("action", "group", "group_type", "topic", "topic_id")
_ROW_KEYS: Final = tuple(key for key in KEYS if key not in _SHARED_KEYS)
_shared_values: Final = attrgetter(*_SHARED_KEYS)
_row_values: Final = attrgetter(*_ROW_KEYS)


def is_plan(name: str, text: str) -> bool:
    """Return whether a file is a plan and not CSV: by its content, or by its name if it is blank."""
    content = text.removeprefix(_BYTE_ORDER_MARK).strip()
    return _START.match(content) is not None if content else name.lower().endswith(".json")


def format_plan(plan: Plan) -> str:
    """Return the text of a plan's file, with one change on each line, so that two plans can be compared."""
    head = {"schema": SCHEMA, "cluster_id": plan.cluster_id, "created_at": format_time(plan.created_at)}
    keys = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in head.items()]
    changes = [f"\n  {json.dumps(change_document(each), ensure_ascii=False)}" for each in plan.changes]
    end = "\n " if changes else ""
    return escape_in_json(f'{{\n{"".join(keys)} "changes": [{",".join(changes)}{end}]\n}}\n')


def read_plan(text: str, *, name: str) -> Plan:
    """Return the plan of a file with this name; keys that are not of the schema are ignored.

    Raises PlanFileError if the file is not a plan, if a change is malformed, or if two changes are for one partition.
    """
    document = _parse(text, name)
    schema = document.get("schema")
    if schema != SCHEMA:
        raise PlanFileError(_other_schema(schema, name))
    cluster_id = document.get("cluster_id")
    if not isinstance(cluster_id, str):
        msg = f"{name}: cluster_id is {_show(cluster_id)}; it must be the id of the cluster"
        raise PlanFileError(msg)
    created_at = read_time(document.get("created_at"), f"{name}: created_at")
    listed = document.get("changes")
    if not isinstance(listed, list):
        msg = f"{name}: changes is {_show(listed)}; it must be an array"
        raise PlanFileError(msg)
    changes = tuple(read_change(each, f"{name}: changes[{index}]") for index, each in enumerate(listed))
    _refuse_duplicates(changes, name)
    return Plan(cluster_id, created_at, changes)


def change_document(change: Change) -> dict[str, Any]:
    """Return a change as a JSON object with every key."""
    return {key: getattr(change, key) for key in KEYS}


def change_documents(changes: Iterable[Change]) -> Iterator[dict[str, Any]]:
    """Yield an object for the changes of a topic of a group that follow each other.

    Keys that the changes share are written once, and `rows` has the other values of each change, in the order of the
    keys. An object for each change takes four times as long to write.
    """
    for shared, alike in groupby(changes, key=_shared_values):
        yield {**dict(zip(_SHARED_KEYS, shared, strict=True)), "rows": [_row_values(change) for change in alike]}


def read_changes(document: object, where: str, *, row_keys: Sequence[str] = _ROW_KEYS) -> list[Change]:
    """Return the changes of an object of `change_documents`. Raises PlanFileError as `read_change` does."""
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(rows, list):
        msg = f"{where} is {_show(document)}; it must be an object with rows"
        raise PlanFileError(msg)
    shared = {key: document.get(key) for key in _SHARED_KEYS}
    return [read_change({**shared, **dict(zip(row_keys, row, strict=True))}, where) for row in rows]


def read_change(document: object, where: str) -> Change:
    """Return the change of a JSON object; a missing key is null.

    Raises PlanFileError, whose text starts with `where` and the key, if the object is not a change.
    """
    if not isinstance(document, dict):
        msg = f"{where} is {_show(document)}; it must be an object"
        raise PlanFileError(msg)
    values = {key: _read_value(document.get(key), key, where) for key in KEYS if document.get(key) is not None}
    action = values.pop("action", None)
    group = values.pop("group", None)
    if action not in {*Action}:
        msg = f"{where}.action is {_show(action)}; it must be one of {', '.join(Action)}"
        raise PlanFileError(msg)
    if group is None:
        msg = f"{where}.group is missing; name the group"
        raise PlanFileError(msg)
    if action == Action.SHARE_OFFSET:
        values.setdefault("group_type", SHARE.group_type)
    change = Change(Action(action), group, **values)
    _require_keys(change, where)
    _require_topic_id(change.topic_id, where)
    return change


def format_time(moment: datetime) -> str:
    """Return a time with a zone as ISO-8601 text in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_time(value: object, where: str) -> datetime:
    """Return the time of ISO-8601 text; raise PlanFileError if it is none, or has no time zone."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    msg = f"{where} is {_show(value)}; it must be a time such as 2026-11-23T11:45:02Z"
    raise PlanFileError(msg)


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        document = json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except json.JSONDecodeError as error:
        msg = f"{name}, line {error.lineno}, column {error.colno}: it is not JSON: {error.msg}"
        raise PlanFileError(msg) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or thousands of brackets
        msg = f"{name} is not a plan: a number is too long, or values are nested too deeply"
        raise PlanFileError(msg) from error
    if not isinstance(document, dict):
        msg = f"{name} is not a plan: it is {_show(document)}, not an object"
        raise PlanFileError(msg)
    return document


def _other_schema(schema: object, name: str) -> str:
    kind, _, number = SCHEMA.rpartition("/")
    if isinstance(schema, str) and re.fullmatch(rf"{kind}/[0-9]{{1,9}}", schema):
        newer = int(schema.rpartition("/")[2]) > int(number)
        return f"{name} has the schema {schema}, not {SCHEMA}" + ("; update kafka-groups" if newer else "")
    return f"{name} is not a plan: its schema is {_show(schema)}; expected {SCHEMA}"


def _read_value(value: object, key: str, where: str) -> Any:
    most = KEYS[key].most
    if most is None:
        if not isinstance(value, str):
            msg = f"{where}.{key} is {_show(value)}; it must be a text"
            raise PlanFileError(msg)
    elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        msg = f"{where}.{key} is {_show(value)}; it must be a whole number from 0 to {most}"
        raise PlanFileError(msg)
    return value


def _require_keys(change: Change, where: str) -> None:
    """Raise PlanFileError if keys are missing that the action needs."""
    required: tuple[str, ...] = ()
    reason = f"the action {change.action} needs it"
    if change.action is Action.COMMIT:
        required = ("topic", "partition", "new_offset")
    elif change.action in {Action.SHARE_OFFSET, Action.DELETE_OFFSETS}:
        required = ("topic", "partition")
    elif (change.topic, change.partition) != (None, None):
        required = ("topic", "partition")
        reason = "topic and partition belong together"
    for key in required:
        if getattr(change, key) in {None, ""}:
            msg = f"{where}.{key} is missing; {reason}"
            raise PlanFileError(msg)
    if change.action is Action.SHARE_OFFSET and not has_start_offsets(change.group_type):
        msg = f"{where}.group_type is {_show(change.group_type)}; groups of that type have no start offsets"
        raise PlanFileError(msg)
    if change.action is Action.SHARE_OFFSET and (change.new_leader_epoch is not None or change.new_metadata):
        key = "new_metadata" if change.new_leader_epoch is None else "new_leader_epoch"
        msg = f"{where}.{key} is given; Kafka stores neither leader epoch nor metadata with a start offset: remove it"
        raise PlanFileError(msg)
    if change.action is Action.REMOVE_MEMBER and not (change.member_id or change.group_instance_id):
        msg = f"{where} names no member; the action {change.action} needs member_id or group_instance_id"
        raise PlanFileError(msg)


def _require_topic_id(topic_id: str | None, where: str) -> None:
    if topic_id is None:
        return
    try:
        parse_topic_id(topic_id)
    except ValueError as error:
        msg = f"{where}.topic_id: {error}; it must be as Kafka's tools print it, or null"
        raise PlanFileError(msg) from error


def _refuse_duplicates(changes: tuple[Change, ...], name: str) -> None:
    first: dict[tuple[object, ...], int] = {}
    for index, each in enumerate(changes):
        rest = () if each.key is not None else (each.action, each.member_id, each.group_instance_id)
        before = first.setdefault((each.group, each.key, *rest), index)
        if before != index:
            what = f"partition {each.partition} of topic '{each.topic}'" if each.key is not None else each.action
            msg = (
                f"{name}: changes[{before}] and changes[{index}] are both for group '{each.group}', {what}; remove one"
            )
            raise PlanFileError(msg)


def _show(value: object) -> str:
    """Return a value of JSON, as an error names it."""
    if value is None:
        return "missing or null"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
