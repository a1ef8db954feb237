"""What ``--params`` and ``--model`` may name, and in which order. Never touches the network."""

from __future__ import annotations

import builtins
import json
import logging
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zplan.errors import ExitCode, ZplanError
from zplan.inputs import hub
from zplan.inputs.model import resolve_model
from zplan.spec import ModelSpec

TINY = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current folder, and a hub that nobody reaches."""
    import huggingface_hub

    def unreachable(**_: object) -> str:
        raise AssertionError("the hub was asked")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", unreachable)
    monkeypatch.setattr(hub, "_reachable", lambda: True)


def named(model: str) -> ModelSpec:
    return resolve_model(params=None, model=model)


def refused(call: Callable[[], object], code: ExitCode = ExitCode.USAGE) -> ZplanError:
    with pytest.raises(ZplanError) as caught:
        call()
    assert caught.value.exit_code is code
    assert "\n" not in caught.value.message and caught.value.hint
    return caught.value


def write(folder: Path, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**TINY, **changes}))
    return folder


# --- the order ---


def test_preset_path_and_count(tmp_path: Path) -> None:
    assert named("llama-2-7b").params == 6_738_415_616
    assert named("Llama-2-7b-hf").name == "llama-2-7b"
    write(tmp_path / "mine")
    for name in ("mine", "./mine", "mine/config.json", str(tmp_path / "mine")):
        assert (named(name).name, named(name).hidden_size) == ("mine", 16)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    assert named("config.json").hidden_size == 16
    assert resolve_model(params="7B", model=None).params == 7_000_000_000


def test_preset_wins_over_a_folder_of_its_name_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "gpt2")
    spec = named("gpt2")
    assert spec.params == 124_439_808
    assert spec.notes == ("gpt2 is read as the preset; for the path of that name: ./gpt2",)
    assert named("./gpt2").hidden_size == 16
    assert named(str(tmp_path / "gpt2")).hidden_size == 16


def test_path_wins_over_a_hub_id_of_its_name(tmp_path: Path) -> None:
    write(tmp_path / "meta-llama" / "Llama-2-7b-hf")
    assert named("meta-llama/Llama-2-7b-hf").hidden_size == 16


def test_hub_id_of_a_preset_needs_no_network() -> None:
    spec = named("meta-llama/Llama-2-7b-hf")
    assert spec.params == 6_738_415_616
    assert spec.notes == ("meta-llama/Llama-2-7b-hf is read as the preset llama-2-7b, without the hub",)


@pytest.mark.parametrize(
    ("model", "message", "hint"),
    [
        ("", "no model is named", "--params 7B"),
        ("   ", "no model is named", "--params 7B"),
        ("llama-2-7", "'llama-2-7'", "llama-2-7b"),
        ("7B", "is a size, not a name", "--params 7B"),
        ("13b", "is a size, not a name", "--params 13b"),
        ("./nowhere", "no such file or folder", "zplan presets ls"),
        ("/no/where/config.json", "no such file or folder", "zplan presets ls"),
        ("config.json", "no such file or folder", "zplan presets ls"),
        ("~nobody-of-that-name/x", "no such file or folder", "zplan presets ls"),
        ("C:\\models\\x", "no such file or folder", "zplan presets ls"),
        ("a/b/c", "no such file or folder", "zplan presets ls"),
        ("a\x00b", "no model preset", "zplan presets ls"),
        ("x" * 5000, "no model preset", "zplan presets ls"),
        ("https://huggingface.co/org/name", "no such file or folder", "zplan presets ls"),
    ],
)
def test_refused_names(model: str, message: str, hint: str) -> None:
    error = refused(lambda: named(model))
    assert message in error.message and hint in error.hint
    assert len(error.message) < 300 and error.message.isprintable()


def test_both_or_neither() -> None:
    assert "--params and --model" in refused(lambda: resolve_model(params="7B", model="gpt2")).message
    assert "no model is named" in refused(lambda: resolve_model(params=None, model=None)).message


def test_empty_folder_of_a_hub_cache_is_an_error_about_the_folder(tmp_path: Path) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert "without a config.json" in refused(lambda: named("org/name")).message


# --- the hub ---


def test_hub_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[dict[str, object]] = []

    def download(**arguments: object) -> str:
        asked.append(arguments)
        return str(write(tmp_path / "models--org--tiny" / "snapshots" / "0a1b") / "config.json")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    spec = named("org/tiny")
    assert asked == [{"repo_id": "org/tiny", "filename": "config.json"}]
    assert (spec.name, spec.source, spec.hidden_size) == ("org/tiny", "org/tiny (hub)", 16)


def test_unsupported_model_of_the_hub_is_named_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    path = write(tmp_path / "cache", model_type="t5") / "config.json"
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **_: str(path))
    error = refused(lambda: named("org/tiny"))
    assert error.message.startswith("org/tiny (hub): model_type 't5' is not supported")
    assert "zplan presets ls models" in error.hint


def http_error(kind: type[Exception]) -> Exception:
    """An error of the hub's client, which wants a response that no test has."""
    error = kind.__new__(kind)
    error.args = ("line one\nline two",)
    return error


FAILURES = [
    ("GatedRepoError", "gated", "HF_TOKEN", ExitCode.MISSING),
    ("RepositoryNotFoundError", "there is no model org/tiny", "zplan presets ls", ExitCode.USAGE),
    ("HFValidationError", "there is no model org/tiny", "zplan presets ls", ExitCode.USAGE),
    ("RemoteEntryNotFoundError", "has no config.json", "--params", ExitCode.USAGE),
    ("LocalEntryNotFoundError", "cannot be reached", "HF_ENDPOINT", ExitCode.MISSING),
    ("OfflineModeIsEnabled", "cannot be reached", "HF_HUB_OFFLINE", ExitCode.MISSING),
    ("HfHubHTTPError", "cannot be downloaded (HfHubHTTPError)", "HF_TOKEN", ExitCode.MISSING),
]


@pytest.mark.parametrize(("kind", "message", "hint", "code"), FAILURES)
def test_hub_failures(monkeypatch: pytest.MonkeyPatch, kind: str, message: str, hint: str, code: ExitCode) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    def fail(**_: object) -> str:
        raise http_error(getattr(errors, kind))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    error = refused(lambda: named("org/tiny"), code)
    assert message in error.message and hint in error.hint


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError(), OSError(28, "No space left on device")])
def test_other_failures(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    import huggingface_hub

    def fail(**_: object) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    assert type(error).__name__ in refused(lambda: named("org/tiny"), ExitCode.MISSING).message


REALLY_REACHABLE = hub._reachable


def test_without_a_network_only_the_cache_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    asked: list[dict[str, object]] = []

    def download(**arguments: object) -> str:
        asked.append(arguments)
        raise http_error(errors.LocalEntryNotFoundError)

    monkeypatch.setattr(hub, "_reachable", lambda: False)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert "cannot be reached" in refused(lambda: named("org/tiny"), ExitCode.MISSING).message
    assert asked == [{"repo_id": "org/tiny", "filename": "config.json", "local_files_only": True}]


def test_one_connection_tells_whether_there_is_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
        assert not REALLY_REACHABLE()  # bound, but nobody listens
        listening.listen()
        assert REALLY_REACHABLE()
        monkeypatch.setattr(constants, "ENDPOINT", "http://hub.invalid")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        assert REALLY_REACHABLE()  # a proxy is connected to instead
    assert not REALLY_REACHABLE()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert REALLY_REACHABLE()  # the client refuses by itself, at once


def test_a_hub_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    monkeypatch.setattr(hub, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **_: time.sleep(0.5))
    assert "TimeoutError" in refused(lambda: named("org/tiny"), ExitCode.MISSING).message


def test_the_clients_log_is_kept_quiet(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    import huggingface_hub

    log = logging.getLogger("huggingface_hub.utils._http")

    def download(**_: object) -> str:
        log.warning("Retrying in 1s [Retry 1/5].")
        raise TimeoutError

    monkeypatch.delenv("HF_HUB_VERBOSITY", raising=False)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    refused(lambda: named("org/tiny"), ExitCode.MISSING)
    assert not caplog.records
    monkeypatch.setenv("HF_HUB_VERBOSITY", "warning")
    refused(lambda: named("org/tiny"), ExitCode.MISSING)
    assert len(caplog.records) == 1


def test_hub_extra_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_hub(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "huggingface_hub":
            raise ImportError(name)
        return original(name, *arguments, **keywords)

    monkeypatch.delitem(sys.modules, "huggingface_hub", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_hub)
    error = refused(lambda: named("org/tiny"), ExitCode.MISSING)
    assert "pip install 'zplan[hub]'" in error.hint
    assert named("meta-llama/Llama-2-7b-hf").name == "llama-2-7b"
