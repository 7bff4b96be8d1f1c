"""The table of property keys: names, aliases, secrets, and the clients that use them."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from kafka_groups.suggestions import did_you_mean

# "passed": passed on to librdkafka from every source. "converted": read here, and never passed on itself.
# "reserved": set by the pipeline alone, so that -X is refused; a file may have it for other programs.
LibrdkafkaUse = Literal["passed", "converted", "reserved"]


class Property(NamedTuple):
    """One property of Kafka's clients.

    `name` is Java's name, or librdkafka's where Java has no such property; `aliases` are librdkafka's spellings of it.
    `network` is true if the network layer uses the property, `librdkafka` says how the pipeline's client uses it.
    """

    name: str
    aliases: tuple[str, ...] = ()
    is_secret: bool = False
    network: bool = False
    librdkafka: LibrdkafkaUse = "passed"


PROPERTIES: Final = (
    Property("bootstrap.servers", aliases=("metadata.broker.list",), network=True),
    Property("broker.address.family"),
    Property("client.id", network=True),
    Property("client.dns.lookup", network=True),
    Property("client.rack"),
    # Ours: how the user calls the cluster. Brokers without a cluster id are known by it.
    Property("cluster.name", network=True, librdkafka="converted"),
    Property("connections.max.idle.ms"),
    Property("reconnect.backoff.max.ms"),
    Property("reconnect.backoff.ms"),
    Property("security.protocol", network=True),
    Property("socket.connection.setup.timeout.ms", network=True),
    Property("socket.keepalive.enable"),
    Property("socket.nagle.disable"),
    Property("socket.timeout.ms"),
    # SASL
    Property("enable.sasl.oauthbearer.unsecure.jwt"),
    Property("sasl.jaas.config", is_secret=True, network=True, librdkafka="converted"),
    Property("sasl.kerberos.keytab"),
    # A shell command may have a password among its arguments.
    Property("sasl.kerberos.kinit.cmd", is_secret=True),
    Property("sasl.kerberos.min.time.before.relogin"),
    Property("sasl.kerberos.principal"),
    Property("sasl.kerberos.service.name"),
    Property("sasl.mechanism", aliases=("sasl.mechanisms",), network=True),
    Property("sasl.oauthbearer.client.id"),
    Property("sasl.oauthbearer.client.secret", is_secret=True),
    # Free text for the token callback.
    Property("sasl.oauthbearer.config", is_secret=True),
    Property("sasl.oauthbearer.extensions"),
    Property("sasl.oauthbearer.method"),
    Property("sasl.oauthbearer.scope"),
    Property("sasl.oauthbearer.token.endpoint.url"),
    Property("sasl.password", is_secret=True, network=True),
    Property("sasl.username", network=True),
    # TLS
    Property("ssl.ca.certificate.stores"),
    Property("ssl.crl.location", network=True),
    Property("ssl.curves.list"),
    Property("ssl.endpoint.identification.algorithm", network=True),
    Property("ssl.key.location", network=True),
    Property("ssl.key.password", is_secret=True, network=True),
    # PEM text (KIP-651). Kafka's own clients treat certificates as secrets, too.
    Property(
        "ssl.keystore.certificate.chain",
        aliases=("ssl.certificate.pem",),
        is_secret=True,
        network=True,
        librdkafka="converted",
    ),
    Property("ssl.keystore.key", aliases=("ssl.key.pem",), is_secret=True, network=True, librdkafka="converted"),
    Property("ssl.keystore.location", aliases=("ssl.certificate.location",), network=True),
    Property("ssl.keystore.password", is_secret=True),
    Property("ssl.keystore.type", network=True, librdkafka="converted"),
    Property("ssl.providers"),
    Property("ssl.sigalgs.list"),
    Property(
        "ssl.truststore.certificates", aliases=("ssl.ca.pem",), is_secret=True, network=True, librdkafka="converted"
    ),
    Property("ssl.truststore.location", aliases=("ssl.ca.location",), network=True),
    Property("ssl.truststore.type", network=True, librdkafka="converted"),
    # The pipeline joins no group and commits nothing; these properties would change that.
    Property("enable.auto.commit", librdkafka="reserved"),
    Property("enable.partition.eof", librdkafka="reserved"),
    Property("group.id", librdkafka="reserved"),
    Property("group.instance.id", librdkafka="reserved"),
    Property("group.protocol", librdkafka="reserved"),
    Property("isolation.level", librdkafka="reserved"),
)

# In the order of the table, for errors that list them.
SUPPORTED_KEYS: Final = tuple(each.name for each in PROPERTIES if each.network)
NETWORK_KEYS: Final = frozenset(SUPPORTED_KEYS)
PASSED_KEYS: Final = frozenset(each.name for each in PROPERTIES if each.librdkafka == "passed")
CONVERTED_KEYS: Final = frozenset(each.name for each in PROPERTIES if each.librdkafka == "converted")
RESERVED_KEYS: Final = frozenset(each.name for each in PROPERTIES if each.librdkafka == "reserved")
_NAMES: Final = {key: each.name for each in PROPERTIES for key in (each.name, *each.aliases)}
_PUBLIC_KEYS: Final = frozenset(each.name for each in PROPERTIES if not each.is_secret)


def canonical_name(key: str) -> str:
    """Return the name of a property in the table; an unknown key is its own name."""
    return _NAMES.get(key, key)


def is_known(key: str) -> bool:
    """Return whether the table has a property of this name or alias."""
    return key in _NAMES


def may_be_secret(key: str) -> bool:
    """Return whether a property may have a secret value: the table marks it, or does not have it."""
    return canonical_name(key) not in _PUBLIC_KEYS


def is_provider_key(name: str) -> bool:
    """Return whether a property declares config providers: `config.providers` and those of each one."""
    return name == "config.providers" or name.startswith("config.providers.")


def suggest_property(key: str, *, network: bool = False) -> str:
    """Return the end of the error for an unknown key: the nearest name or alias, of `network` properties alone.

    A key of the table has no typing error.
    """
    known = [name for each in PROPERTIES if each.network or not network for name in (each.name, *each.aliases)]
    return "" if is_known(key) else did_you_mean(key, known)
