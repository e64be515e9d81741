"""What pip is configured with on this machine, in the terms that uv understands.

uv does not read pip's configuration. A machine behind a company's index, or with a folder of
wheels of its own, is nearly always described to pip, so we read that and pass it on.

The files are parsed here, not with ``pip config list``: pip may be missing from this environment,
and starting it costs a third of a second.
"""

from __future__ import annotations

import configparser
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_SECTIONS = ("global", "install")


@dataclass(frozen=True)
class PipSettings:
    """The part of pip's configuration that says where packages come from."""

    find_links: tuple[str, ...] = ()
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    no_index: bool = False
    cert: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    proxy: str | None = None
    timeout_s: str | None = None

    @property
    def names_sources(self) -> bool:
        """Whether packages come from anywhere else than the public index."""
        return bool(self.find_links or self.index_url or self.extra_index_urls or self.no_index)

    def without_extra_indexes(self) -> PipSettings:
        return replace(self, extra_index_urls=())

    def missing_folders(self) -> tuple[str, ...]:
        """The find-links that are local folders and are not there."""
        return tuple(link for link in self.find_links if _is_missing(link))

    def for_uv(self, environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """These settings as variables and as options of ``uv pip install``.

        What `environment` already says to uv wins, setting by setting. Folders that do not exist
        are left out: pip passes over them with a warning, uv would stop.
        """
        links = [_uv_link(link) for link in self.find_links if not _is_missing(link)]
        wanted = {
            "UV_FIND_LINKS": ",".join(links),
            "UV_INDEX_URL": self.index_url or "",
            "UV_EXTRA_INDEX_URL": " ".join(self.extra_index_urls),
            # pip takes the best version from all indexes; uv by default only looks at the first
            # index that has the name at all.
            "UV_INDEX_STRATEGY": "unsafe-best-match" if self.extra_index_urls else "",
            "SSL_CERT_FILE": self.cert or "",
            "UV_INSECURE_HOST": " ".join(self.trusted_hosts),
            "HTTPS_PROXY": self.proxy or "",
            "HTTP_PROXY": self.proxy or "",
            "UV_HTTP_TIMEOUT": self.timeout_s or "",
        }
        newer_names = {"UV_INDEX_URL": "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL": "UV_INDEX"}
        variables = {
            name: value
            for name, value in wanted.items()
            if value and not ({name, name.lower(), newer_names.get(name)} & set(environment))
        }
        return variables, ["--no-index"] if self.no_index else []

    def described(self) -> list[str]:
        """One phrase a setting, with passwords struck out."""
        phrases = [f"find-links {redacted(link)}" for link in self.find_links]
        if self.index_url:
            phrases.append(f"index {redacted(self.index_url)}")
        phrases += [f"extra index {redacted(url)}" for url in self.extra_index_urls]
        if self.no_index:
            phrases.append("no index")
        if self.cert:
            phrases.append(f"certificates {self.cert}")
        phrases += [f"trusted host {host}" for host in self.trusted_hosts]
        if self.proxy:
            phrases.append(f"proxy {redacted(self.proxy)}")
        return phrases


def read(environment: Mapping[str, str] | None = None) -> PipSettings:
    """pip's settings from its files and from ``PIP_*`` variables, which win.

    A file that cannot be read or parsed is passed over: pip itself will complain about it.
    """
    environment = os.environ if environment is None else environment
    values = _from_files(configuration_files(environment)) | _from_variables(environment)
    return PipSettings(
        find_links=tuple(values.get("find-links", "").split()),
        index_url=values.get("index-url") or None,
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        no_index=values.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"},
        cert=values.get("cert") or None,
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        proxy=values.get("proxy") or None,
        timeout_s=values.get("timeout") or values.get("default-timeout") or None,
    )


def configuration_files(environment: Mapping[str, str]) -> list[Path]:
    """Where pip looks, the weakest first (pip's documentation, "Configuration files")."""
    extra = environment.get("PIP_CONFIG_FILE")
    if extra == os.devnull:
        return []
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        shared = [Path("/Library/Application Support/pip/pip.conf")]
        own = [home / "Library/Application Support/pip/pip.conf", home / ".config/pip/pip.conf"]
    else:
        folders = environment.get("XDG_CONFIG_DIRS") or "/etc/xdg"
        shared = [Path(folder) / "pip/pip.conf" for folder in folders.split(":") if folder]
        own = [Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"]
    files = [*shared, Path("/etc/pip.conf"), home / ".pip/pip.conf", *own]
    files.append(Path(sys.prefix) / "pip.conf")
    return [*files, Path(extra)] if extra else files


def redacted(text: str) -> str:
    """`text`, when it is a URL with a password in it, without the password and the user."""
    parts = urlsplit(text)
    if "@" not in parts.netloc:
        return text
    return urlunsplit(parts._replace(netloc="…@" + parts.netloc.rpartition("@")[2]))


def _from_files(files: list[Path]) -> dict[str, str]:
    """Later files win over earlier ones, and ``[install]`` anywhere over ``[global]`` anywhere."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for file in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        for section in _SECTIONS:
            if parser.has_section(section):
                by_section[section] |= {_key(key): text for key, text in parser.items(section)}
    return by_section["global"] | by_section["install"]


def _from_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """``PIP_FIND_LINKS`` is ``find-links``; an empty variable counts as unset, as for pip."""
    return {
        _key(name.removeprefix("PIP_")): value
        for name, value in environment.items()
        if name.startswith("PIP_") and value
    }


def _key(name: str) -> str:
    return re.sub(r"_", "-", name).lower().removeprefix("--")


def _is_missing(link: str) -> bool:
    return "://" not in link and not Path(link).expanduser().exists()


def _uv_link(link: str) -> str:
    """A local path made absolute; as a URL where it holds a comma, which uv would split at."""
    if "://" in link:
        return link.replace(",", "%2C")
    path = Path(link).expanduser().absolute()
    return path.as_uri() if "," in str(path) else str(path)
