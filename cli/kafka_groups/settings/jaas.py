"""Java's `sasl.jaas.config`: text that names a login module and its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.settings.properties import KEYTAB, PRINCIPAL, SERVICE_NAME

# The login modules that take a user and a password.
_MODULES: Final = {"PlainLoginModule", "ScramLoginModule"}
_NAMES: Final = ("username", "password")
_CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
_CLIENT_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 # The name of a property.
# Options of aws-msk-iam-auth, which Java's clients have in the JAAS text alone.
_AWS_OPTIONS: Final[Mapping[str, str]] = {
    "awsProfileName": "sasl.aws.profile.name",
    "awsRoleArn": "sasl.aws.role.arn",
    "awsRoleExternalId": "sasl.aws.role.external.id",
    "awsRoleSessionName": "sasl.aws.role.session.name",
    "awsStsRegion": "sasl.aws.sts.region",
}
# Options of other login modules, and the properties that say the same. Strimzi's login module has those with dots.
_TOKEN_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "OAuthBearerLoginModule": {
        "clientId": _CLIENT_ID,
        "clientSecret": _CLIENT_SECRET,
        "scope": "sasl.oauthbearer.scope",
        "oauth.client.id": _CLIENT_ID,
        "oauth.client.assertion.location": "sasl.oauthbearer.assertion.file",
        "oauth.client.secret": _CLIENT_SECRET,
        "oauth.scope": "sasl.oauthbearer.scope",
        "oauth.ssl.truststore.certificates": "https.ca.pem",
        "oauth.ssl.truststore.location": "https.ca.location",
        "oauth.token.endpoint.uri": "sasl.oauthbearer.token.endpoint.url",
        # For IAMOAuthBearerLoginCallbackHandler.
        **_AWS_OPTIONS,
    },
    "IAMLoginModule": _AWS_OPTIONS,
}
_OAUTHBEARER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_KERBEROS: Final = "Krb5LoginModule"
_KERBEROS_OPTIONS: Final[Mapping[str, str]] = {"serviceName": SERVICE_NAME, "principal": PRINCIPAL}
_EXTENSION: Final = "extension_"
# Stands for a comma of a value in `sasl.oauthbearer.extensions`, whose commas are between pairs. It is a noncharacter
# of Unicode, and no extension may have it.
EXTENSION_COMMA: Final = "\ufdd0"
_UNSECURED_SUBJECT: Final = "unsecuredLoginStringClaim_sub"
# Kafka reads the text with java.io.StreamTokenizer: comments may stand between two tokens, and a text in quotes ends
# in its line. The lines that begin with # are comments of people's own, which Java refuses.
_JAVA_GAP: Final = r"(?:\s|//[^\r\n]*|/\*.*?\*/)*+"
_GAP: Final = r"(?:\s|//[^\r\n]*|/\*.*?\*/|\#[^\r\n]*)*+"
_QUOTED: Final = r"""(?:"(?:\\.|[^"\\\r\n])*+"|'(?:\\.|[^'\\\r\n])*+')"""
# Java reads no words with characters such as @ and +. Passwords have them, so this tool does.
_WORD: Final = r"""(?:(?!//|/\*)[^\s;"'])++"""
_ENTRY: Final = re.compile(
    rf"{_GAP}(?P<module>[\w.$-]+){_GAP}(?i:required|requisite|sufficient|optional)(?![\w.$-])", re.DOTALL
)
_OPTION: Final = re.compile(
    rf"{_GAP}(?P<key>[\w.$-]+|{_QUOTED}){_GAP}={_JAVA_GAP}(?P<value>{_QUOTED}|{_WORD})", re.DOTALL
)
_END: Final = re.compile(rf"{_GAP};{_GAP}", re.DOTALL)
_COMMENT: Final = re.compile(r"//|/\*|\#")
# Escapes in quotes, as StreamTokenizer reads them.
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Jaas(NamedTuple):
    """A login module, by the last part of its name (empty if there is none), and its options.

    `options` is None if they are not in Java's format. An option may be a password, so the repr does not show them.
    """

    module: str
    options: Mapping[str, str] | None

    def __repr__(self) -> str:
        return f"Jaas(module={self.module!r})"

    def to_properties(self) -> dict[str, str]:
        """Return the options that are set as properties by their canonical names; none for an unknown login module."""
        options = self.options or {}
        if self.module in _MODULES:
            return {f"sasl.{name}": options[name] for name in _NAMES if name in options}
        if self.module == _KERBEROS:
            return _kerberos_properties(options)
        known = _TOKEN_OPTIONS.get(self.module, {})
        properties = {known[name]: value for name, value in options.items() if name in known}
        if self.module == "OAuthBearerLoginModule":
            properties |= _bearer_properties(options)
        return properties

    def is_delegation_token(self) -> bool:
        """Return whether user and password are the ID and the HMAC of a delegation token."""
        return self.module == "ScramLoginModule" and (self.options or {}).get("tokenauth", "").lower() == "true"

    def find_problem(self) -> str | None:
        """Return why there is no user and password in it, or None. The text has secrets, so it is not repeated."""
        if self.module not in _MODULES:
            problem = f"the login module {self.module} is not supported" if self.module else "it names no login module"
            return f"{problem}; set librdkafka's properties instead (sasl.mechanism, sasl.username, sasl.password, …)"
        if self.options is None:
            return f"""the options of {self.module} cannot be parsed; write them as username="…" password="…";"""
        missing = [name for name in _NAMES if name not in self.options]
        return f"it has no option {missing[0]}; add the option, or set sasl.{missing[0]}" if missing else None

    def find_token_problem(self) -> str | None:
        """Return why Java would not read it for a token, or None. The text has secrets, so it is not repeated."""
        if not self.module:
            return f"it names no login module; write {_OAUTHBEARER} required and the options"
        if self.options is None:
            return f"""the options of {self.module} cannot be parsed; write them as clientId="…" clientSecret="…";"""
        return None

    def find_kerberos_problem(self, *, has_keytab: bool) -> str | None:
        """Return why its options do not describe a Kerberos user, or None.

        `has_keytab` is whether a property names a keytab, or both of its options do.
        """
        if self.module != _KERBEROS:
            module = f"has the login module {self.module}" if self.module else "names no login module"
            return f"it {module}; GSSAPI needs com.sun.security.auth.module.{_KERBEROS}, or no sasl.jaas.config"
        if self.options is None:
            return f"""the options of {_KERBEROS} cannot be parsed; write them as useKeyTab=true keyTab="…";"""
        if "ticketCache" in self.options:
            return "ticketCache is not supported; remove the option, and set the variable KRB5CCNAME to its value"
        is_named = "keyTab" in self.options
        if not has_keytab and is_named != _is_true(self.options, "useKeyTab"):
            # Java refuses the first, and looks for a keytab of the system with the second.
            present, missing = ("keyTab", "useKeyTab=true") if is_named else ("useKeyTab", 'keyTab="…"')
            return f"it has the option {present} without {missing}; add the other one, or remove {present}"
        return None


def parse_jaas(text: str) -> Jaas:
    """Return the login module and its options; the module is empty if the text is not in Java's format."""
    entry = _ENTRY.match(text)
    if entry is None:
        return Jaas("", {})
    return Jaas(entry["module"].rpartition(".")[2], _parse_options(text, entry.end()))


def _kerberos_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the user, the service, and the keytab if the user logs in with one, as librdkafka's properties."""
    properties = {_KERBEROS_OPTIONS[name]: value for name, value in options.items() if name in _KERBEROS_OPTIONS}
    if _is_true(options, "useKeyTab") and "keyTab" in options:
        properties[KEYTAB] = options["keyTab"]
    return properties


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _bearer_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the extensions of a token, and an unsecured token for tests, as librdkafka's properties spell them."""
    properties: dict[str, str] = {}
    extensions = {
        name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
    }
    if extensions:
        pairs = (f"{key}={value.replace(',', EXTENSION_COMMA)}" for key, value in extensions.items())
        properties["sasl.oauthbearer.extensions"] = ",".join(pairs)
    if _UNSECURED_SUBJECT in options:
        properties["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        properties["sasl.oauthbearer.config"] = f"principal={options[_UNSECURED_SUBJECT]}"
    return properties


def _parse_options(text: str, position: int) -> dict[str, str] | None:
    """Return the options; None if there is other text between them, such as the rest of a password with a quote."""
    options: dict[str, str] = {}
    while match := _OPTION.match(text, position):
        options[_unquote(match["key"])] = _unquote(match["value"])
        position = match.end()
    end = _END.match(text, position)
    if end is not None:
        return options if end.end() == len(text) else None
    # Without a semicolon, the end of a value may be hidden in a comment, as in password=a//b;
    return options if not text[position:].strip() and not _COMMENT.search(text) else None


def _unquote(text: str) -> str:
    return _ESCAPE.sub(_unescape, text[1:-1]) if text[:1] in {'"', "'"} else text


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
