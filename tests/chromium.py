"""A headless Chromium, driven over its pipe with the standard library alone."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Path of a browser, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name)) is not None), None)


class Chromium:
    """One page of one browser: what it logs, what it asks the network for, and how it looks."""

    def __init__(self, program: str) -> None:
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # --remote-debugging-pipe reads from descriptor 3 and writes to 4; both ends are moved out of the way first.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        self._process = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={self._folder.name}"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, high[0], 3),
                (os.POSIX_SPAWN_DUP2, high[1], 4),
            ],
        )
        for end in (commands, answers, *high):
            os.close(end)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError, RuntimeError, TimeoutError):
            self._session = None
            self.call("Browser.close")
        end = monotonic() + 20
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            sleep(0.05)
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def call(self, method: str, **params: Any) -> Any:
        """One command of the DevTools protocol, and its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        end = monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - monotonic()))
            if not ready:
                raise TimeoutError("no answer from the browser")
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there; events of the page before are forgotten."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def resize(self, width: int, height: int) -> None:
        """Give the page a size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, value: str) -> None:
        """``light`` or ``dark``, as the system would say."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; run by the test, outside of the page's own policy."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def requests(self) -> list[str]:
        """Every address that the page asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """What the console shows: logs, exceptions, refused content."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in names]
