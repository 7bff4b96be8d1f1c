"""The table of property keys: names, aliases, secrets, and the clients that use them."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from kafka_groups.suggestions import did_you_mean

# "passed": passed on to librdkafka from every source. "converted": read here, and never passed on itself.
# "reserved": set by the pipeline alone, so that -X is refused; a file may have it for other programs. "token": passed
# to the process that has the client, which fetches the tokens for librdkafka.
LibrdkafkaUse = Literal["passed", "converted", "reserved", "token"]


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


def _token(name: str, *aliases: str, is_secret: bool = False) -> Property:
    return Property(name, aliases=aliases, is_secret=is_secret, network=True, librdkafka="token")


# OAUTHBEARER and AWS_MSK_IAM: where tokens come from.
_TOKEN_PROPERTIES: Final = (
    _token("enable.sasl.oauthbearer.unsecure.jwt"),
    _token("https.ca.location"),
    _token("https.ca.pem", is_secret=True),
    # Java has the class of Amazon MSK in this property, too.
    _token("sasl.client.callback.handler.class"),
    _token("sasl.login.callback.handler.class"),
    _token("sasl.login.connect.timeout.ms"),
    _token("sasl.login.read.timeout.ms"),
    _token("sasl.login.retry.backoff.max.ms"),
    _token("sasl.login.retry.backoff.ms"),
    _token("sasl.oauthbearer.assertion.algorithm"),
    _token("sasl.oauthbearer.assertion.claim.aud"),
    _token("sasl.oauthbearer.assertion.claim.exp.seconds"),
    _token("sasl.oauthbearer.assertion.claim.iss"),
    _token("sasl.oauthbearer.assertion.claim.jti.include"),
    _token("sasl.oauthbearer.assertion.claim.nbf.seconds"),
    _token("sasl.oauthbearer.assertion.claim.sub"),
    _token("sasl.oauthbearer.assertion.file"),
    _token("sasl.oauthbearer.assertion.private.key.file"),
    _token("sasl.oauthbearer.assertion.private.key.passphrase", is_secret=True),
    _token("sasl.oauthbearer.assertion.private.key.pem", is_secret=True),
    _token("sasl.oauthbearer.assertion.template.file", "sasl.oauthbearer.assertion.jwt.template.file"),
    _token("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"),
    _token("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret", is_secret=True),
    # Free text of librdkafka's own kinds of token.
    _token("sasl.oauthbearer.config", is_secret=True),
    _token("sasl.oauthbearer.extensions"),
    _token("sasl.oauthbearer.grant.type"),
    _token("sasl.oauthbearer.header.urlencode"),
    _token("sasl.oauthbearer.jwt.retriever.class"),
    _token("sasl.oauthbearer.metadata.authentication.type"),
    _token("sasl.oauthbearer.method"),
    _token("sasl.oauthbearer.scope"),
    # Ours: its arguments may have a password.
    _token("sasl.oauthbearer.token.command", is_secret=True),
    _token("sasl.oauthbearer.token.endpoint.url"),
    # Ours: the options of IAMLoginModule, which Java's clients have in the JAAS text alone, and the region.
    _token("sasl.aws.profile.name"),
    _token("sasl.aws.region"),
    _token("sasl.aws.role.arn"),
    _token("sasl.aws.role.external.id"),
    _token("sasl.aws.role.session.name"),
    _token("sasl.aws.sts.region"),
)

# Kerberos. Java's clients have the first two in the JAAS text alone.
KEYTAB: Final = "sasl.kerberos.keytab"
PRINCIPAL: Final = "sasl.kerberos.principal"
SERVICE_NAME: Final = "sasl.kerberos.service.name"

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
    Property("sasl.jaas.config", is_secret=True, network=True, librdkafka="converted"),
    Property(KEYTAB, network=True),
    # A shell command may have a password among its arguments.
    Property("sasl.kerberos.kinit.cmd", is_secret=True),
    Property("sasl.kerberos.min.time.before.relogin"),
    Property(PRINCIPAL, network=True),
    Property(SERVICE_NAME, network=True),
    Property("sasl.mechanism", aliases=("sasl.mechanisms",), network=True),
    Property("sasl.password", is_secret=True, network=True),
    Property("sasl.username", network=True),
    *_TOKEN_PROPERTIES,
    # TLS
    Property("ssl.ca.certificate.stores"),
    Property("ssl.crl.location", network=True),
    Property("ssl.cipher.suites", network=True, librdkafka="converted"),
    Property("ssl.curves.list"),
    Property("ssl.enabled.protocols", network=True, librdkafka="converted"),
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
    Property("ssl.keystore.password", is_secret=True, network=True, librdkafka="converted"),
    Property("ssl.keystore.type", network=True, librdkafka="converted"),
    Property("ssl.protocol", network=True, librdkafka="converted"),
    Property("ssl.providers"),
    Property("ssl.sigalgs.list"),
    Property(
        "ssl.truststore.certificates", aliases=("ssl.ca.pem",), is_secret=True, network=True, librdkafka="converted"
    ),
    Property("ssl.truststore.location", aliases=("ssl.ca.location",), network=True),
    Property("ssl.truststore.password", is_secret=True, network=True, librdkafka="converted"),
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
TOKEN_KEYS: Final = frozenset(each.name for each in PROPERTIES if each.librdkafka == "token")
# The command that prints a token.
TOKEN_COMMAND: Final = "sasl.oauthbearer.token.command"  # noqa: S105 # The name of a property.
# Each of these names another source of tokens.
TOKEN_SOURCE_KEYS: Final = (
    TOKEN_COMMAND,
    "sasl.oauthbearer.token.endpoint.url",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "sasl.oauthbearer.metadata.authentication.type",
)
# Ends the key of a command that prints the value of a secret property.
COMMAND_SUFFIX: Final = ".command"
CLIENT_HANDLER: Final = "sasl.client.callback.handler.class"
LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
# The class of aws-msk-iam-auth that fetches tokens, and that of its own mechanism, AWS_MSK_IAM.
IAM_HANDLERS: Final = (
    "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
)
# The class that fetches tokens of Google Cloud.
GCP_HANDLER: Final = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"
# Who signs a token of Amazon MSK: the options of IAMLoginModule.
AWS_KEYS: Final = tuple(name for name in sorted(TOKEN_KEYS) if name.startswith("sasl.aws."))
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


def is_secret(key: str) -> bool:
    """Return whether the table marks a property as secret."""
    return is_known(key) and may_be_secret(key)


def secret_of_command(key: str) -> str | None:
    """Return the canonical name of the secret property that a command prints, by a key such as `sasl.password.command`.

    None for another key. `sasl.oauthbearer.token.command` is a property itself, and no key of this kind.
    """
    name = key.removesuffix(COMMAND_SUFFIX)
    return canonical_name(name) if key.endswith(COMMAND_SUFFIX) and not is_known(key) and is_secret(name) else None


def is_provider_key(name: str) -> bool:
    """Return whether a property declares config providers: `config.providers` and those of each one."""
    return name == "config.providers" or name.startswith("config.providers.")


def suggest_property(key: str, *, network: bool = False) -> str:
    """Return the end of the error for an unknown key: the nearest name or alias, of `network` properties alone.

    A key of the table has no typing error.
    """
    known = [name for each in PROPERTIES if each.network or not network for name in (each.name, *each.aliases)]
    return "" if is_known(key) else did_you_mean(key, known)
