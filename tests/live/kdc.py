"""A Kerberos server (Debian's krb5-kdc) of the realm KAFKA.TEST, with principals, keytabs and settings of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_groups.sandbox.ports import HOST, free_ports

REALM: Final = "KAFKA.TEST"
_MASTER_KEY: Final = "a master key of tests"
_START_S: Final = 20.0
# Debian has servers in a directory that users do not have on PATH.
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_KRB5: Final = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = {canonicalize}
 rdns = {canonicalize}
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = {kdc}
 }}
[domain_realm]
 localhost = {realm}
"""
_KDC: Final = """\
[kdcdefaults]
 kdc_listen = {port}
 kdc_tcp_listen = {port}
[realms]
 {realm} = {{
  database_name = {directory}/principal
  key_stash_file = {directory}/stash
  acl_file = {directory}/acl
  max_life = 10h
 }}
[logging]
 kdc = FILE:{directory}/kdc.log
"""


@dataclass(frozen=True, kw_only=True)
class Kdc:
    """A running KDC. Each environment of `environment` has the settings, and a ticket cache of its own."""

    directory: Path
    port: int
    settings: Mapping[str, str] = field(repr=False)

    @property
    def krb5_config(self) -> Path:
        """The krb5.conf of clients and brokers, which look names up canonically."""
        return self.directory / "krb5.conf"

    def environment(self, cache: Path, config: Path | None = None) -> dict[str, str]:
        """Return the variables of a client whose tickets are in the file `cache`."""
        return {"KRB5_CONFIG": str(config or self.krb5_config), "KRB5CCNAME": f"FILE:{cache}"}

    def write_config(self, name: str, *, kdc: str | None = None, canonicalize: bool = True) -> Path:
        """Write another krb5.conf, with the address of another KDC, or with host names as given."""
        path = self.directory / name
        address = kdc or f"{HOST}:{self.port}"
        text = _KRB5.format(realm=REALM, kdc=address, canonicalize=str(canonicalize).lower())
        path.write_text(text)
        return path

    def keytab_of(self, principal: str) -> Path:
        """Return the path of the keytab that `create_keytab` wrote."""
        return self.directory / f"{principal.replace('/', '_')}.keytab"

    def create_keytab(self, *principals: str) -> Path:
        """Return a keytab with new keys of principals, which are created."""
        keytab = self.keytab_of(principals[0])
        for principal in principals:
            self.run("kadmin.local", "-q", f"addprinc -randkey {principal}")
            self.run("kadmin.local", "-q", f"ktadd -k {keytab} {principal}")
        return keytab

    def kinit(self, keytab: Path, principal: str, cache: Path, *arguments: str) -> None:
        """Get a ticket for the ticket-granting service."""
        self.run("kinit", *arguments, "-k", "-t", str(keytab), principal, **self.environment(cache))

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """Run one of Kerberos's programs, and return what it prints."""
        environment = {**os.environ, **self.settings, **variables}
        completed = subprocess.run(
            [find(program), *arguments], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        return completed.stdout


def find(program: str) -> str:
    """Return the path of a program, the name if it is not installed."""
    return shutil.which(program, path=_PATH) or program


@contextmanager
def run_kdc(directory: Path) -> Iterator[Kdc]:
    """Run a KDC without principals of users."""
    (port,) = free_ports(1)
    settings = {
        "KRB5_CONFIG": str(directory / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
        "KRB5RCACHENAME": "none:",
    }
    kdc = Kdc(directory=directory, port=port, settings=settings)
    kdc.write_config("krb5.conf")
    (directory / "kdc.conf").write_text(_KDC.format(realm=REALM, port=port, directory=directory))
    kdc.run("kdb5_util", "create", "-s", "-W", "-P", _MASTER_KEY)
    with (directory / "kdc.output").open("w") as output:
        process = subprocess.Popen(
            [find("krb5kdc"), "-n"], env={**os.environ, **settings}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_it_listens(process, port)
        yield kdc
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "the KDC has ended"
            assert time.monotonic() < deadline, "the KDC does not listen"
            time.sleep(0.05)
        else:
            return
