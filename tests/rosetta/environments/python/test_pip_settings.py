"""What is read of pip's configuration, and what uv is told of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rosetta.environments.python import pip_settings
from rosetta.environments.python.pip_settings import PipSettings


def configured(tmp_path: Path, text: str, **variables: str) -> PipSettings:
    """The settings where `text` is pip's only file that matters."""
    file = tmp_path / "pip.conf"
    file.write_text(text)
    return pip_settings.read({"PIP_CONFIG_FILE": str(file), "HOME": str(tmp_path), **variables})


def test_variables_are_read() -> None:
    settings = pip_settings.read(
        {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": "/a /b",
            "PIP_INDEX_URL": "https://i/simple",
            "PIP_EXTRA_INDEX_URL": "https://x/simple https://y/simple",
            "PIP_NO_INDEX": "1",
            "PIP_CERT": "/c.pem",
        }
    )
    assert settings.find_links == ("/a", "/b")
    assert settings.index_url == "https://i/simple"
    assert settings.extra_index_urls == ("https://x/simple", "https://y/simple")
    assert settings.no_index
    assert settings.cert == "/c.pem"


def test_nothing_is_configured() -> None:
    settings = pip_settings.read({"PIP_CONFIG_FILE": os.devnull})
    assert settings == PipSettings()
    assert not settings.names_sources


def test_a_file_is_read_lines_and_all(tmp_path: Path) -> None:
    settings = configured(tmp_path, "[global]\nfind-links =\n    /a\n    /b\nno_index = true\n")
    assert settings.find_links == ("/a", "/b")
    assert settings.no_index


def test_install_wins_over_global_and_variables_over_files(tmp_path: Path) -> None:
    text = "[install]\nindex-url = https://install\n[global]\nindex-url = https://global\n"
    assert configured(tmp_path, text).index_url == "https://install"
    assert configured(tmp_path, text, PIP_INDEX_URL="https://v").index_url == "https://v"
    assert configured(tmp_path, text, PIP_INDEX_URL="").index_url == "https://install"


def test_a_file_that_is_not_a_configuration_is_passed_over(tmp_path: Path) -> None:
    assert configured(tmp_path, "find-links = /a").find_links == ()


def test_pip_itself_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nextra-index-url =\n  https://a/simple\n  https://b/simple\n")
    environment = {**os.environ, "PIP_CONFIG_FILE": str(file)}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    for url in pip_settings.read(environment).extra_index_urls:
        assert url in listed
    links = [line for line in listed.splitlines() if "find-links" in line]
    assert bool(links) == bool(pip_settings.read(environment).find_links)


def test_uv_is_told_in_its_own_terms(tmp_path: Path) -> None:
    wheels, odd = tmp_path / "wheels", tmp_path / "with, comma"
    wheels.mkdir()
    odd.mkdir()
    settings = PipSettings(
        find_links=(str(wheels), str(odd), "https://w/list"),
        index_url="https://i/simple",
        extra_index_urls=("https://x/simple", "https://y/simple"),
        no_index=True,
        cert="/c.pem",
    )
    variables, options = settings.for_uv({})
    assert variables["UV_FIND_LINKS"] == f"{wheels},{odd.as_uri()},https://w/list"
    assert variables["UV_INDEX_URL"] == "https://i/simple"
    assert variables["UV_EXTRA_INDEX_URL"] == "https://x/simple https://y/simple"
    assert variables["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert variables["SSL_CERT_FILE"] == "/c.pem"
    assert options == ["--no-index"]


@pytest.mark.parametrize("name", ["UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_what_the_user_told_uv_wins(name: str) -> None:
    settings = PipSettings(index_url="https://pip", cert="/c.pem")
    variables, _ = settings.for_uv({name: "https://uv", "SSL_CERT_FILE": "/own.pem"})
    assert variables == {}


def test_a_folder_that_is_missing_is_left_out(tmp_path: Path) -> None:
    settings = PipSettings(find_links=(str(tmp_path / "gone"),))
    assert settings.for_uv({}) == ({}, [])
    assert settings.missing_folders() == (str(tmp_path / "gone"),)


def test_passwords_are_not_shown() -> None:
    settings = PipSettings(index_url="https://me:secret@host:8080/simple?a=b")
    assert settings.described() == ["index https://…@host:8080/simple?a=b"]
