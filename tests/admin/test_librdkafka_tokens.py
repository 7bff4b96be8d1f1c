"""Tokens of librdkafka's clients: the sources of the network layer, selected again in the process of the client."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError

from kafka_groups.admin import librdkafka
from kafka_groups.admin.librdkafka import open_consumer
from kafka_groups.errors import TokenFailedError
from kafka_groups.settings import settings_from
from kafka_groups.settings.librdkafka import client_properties, resolve_client

pytestmark = pytest.mark.timeout(20)

SASL = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}


def file_properties(path: Path, text: str = "abc") -> dict[str, str]:
    path.write_text(text)
    return {**SASL, "sasl.oauthbearer.token.endpoint.url": path.as_uri()}


def opened(properties: dict[str, str], **options: Any) -> dict[str, Any]:
    """Return the properties that librdkafka's Consumer gets."""
    return open_consumer(dict, properties, {}, **options)


def test_librdkafka_gets_a_callback_and_none_of_our_properties(tmp_path: Path) -> None:
    given = opened({**file_properties(tmp_path / "t"), "sasl.oauthbearer.extensions": "logicalCluster=lkc-1"})
    assert [key for key in given if "oauthbearer" in key] == []
    text, expires_at, user, extensions = given["oauth_cb"]("")
    assert (text, user, extensions) == ("abc", "kafka-groups", {"logicalCluster": "lkc-1"})
    assert expires_at == pytest.approx(time.time() + 60, abs=5)


def test_the_callback_fetches_a_token_each_time_but_the_first(tmp_path: Path) -> None:
    file = tmp_path / "t"
    callback = opened(file_properties(file, "first"))["oauth_cb"]
    file.write_text("second")
    assert [callback("")[0] for _ in range(2)] == ["first", "second"]


def test_a_renewal_that_fails_keeps_the_token_and_is_tried_again_soon(tmp_path: Path) -> None:
    file = tmp_path / "t"
    callback = opened(file_properties(file, "first"))["oauth_cb"]
    callback("")
    file.unlink()
    text, expires_at, *_ = callback("")
    assert text == "first"
    assert expires_at == pytest.approx(time.time() + 10, abs=5)
    file.write_text("second")
    assert callback("")[0] == "second"


def test_a_first_token_that_cannot_be_fetched_is_an_error_before_there_is_a_client(tmp_path: Path) -> None:
    properties = {**SASL, "sasl.oauthbearer.token.endpoint.url": (tmp_path / "absent").as_uri()}
    with pytest.raises(TokenFailedError, match="absent cannot be read: No such file"):
        open_consumer(Consumer, properties, {})


def test_a_first_token_may_take_as_long_as_the_caller_says() -> None:
    command = f"{sys.executable} -c 'import time; time.sleep(30)'"
    started = time.monotonic()
    with pytest.raises(TokenFailedError, match="took too long"):
        opened({**SASL, "sasl.oauthbearer.token.command": command}, token_timeout_s=0.2)
    assert time.monotonic() - started < 10


def test_a_signal_while_a_token_is_fetched_ends_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if pid.exists() and pid.read_text().strip():
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr("kafka_groups.admin.librdkafka.threading.Event", Interrupted)
    command = f"sh -c 'echo $$ > {pid}; sleep 60 & wait'"
    with pytest.raises(KeyboardInterrupt):
        opened({**SASL, "sasl.oauthbearer.token.command": command})
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_token_that_has_expired_is_an_error_that_names_its_source(tmp_path: Path) -> None:
    # The claims are {"sub": "me", "exp": 1}.
    with pytest.raises(TokenFailedError, match=r"^the token of the token file .*/t has expired; get a new one$"):
        opened(file_properties(tmp_path / "t", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSIsImV4cCI6MX0."))


def test_the_properties_of_both_ways_to_a_client_select_the_same_source(tmp_path: Path) -> None:
    properties = file_properties(tmp_path / "t")
    of_network = client_properties(settings_from(properties))
    pairs = [f"{key}={value}" for key, value in properties.items()]
    of_pipeline = resolve_client(properties=pairs, environment={}).properties
    for each in (of_network, of_pipeline):
        assert opened(pickle.loads(pickle.dumps(dict(each))))["oauth_cb"]("")[0] == "abc"


@pytest.mark.slow
def test_librdkafka_accepts_the_token_and_its_name() -> None:
    errors: list[KafkaError] = []
    properties = {**SASL, "enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=me"}
    consumer = open_consumer(Consumer, properties, {}, on_error=errors.append)
    consumer.poll(0.2)
    consumer.close()
    assert [each.code() for each in errors if each.code() in librdkafka.CREDENTIAL_CODES] == []
