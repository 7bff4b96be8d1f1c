"""A real browser for tests of pages: headless, and without a network."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

PHONE: Final = (375, 800)
DESK: Final = (1440, 900)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No host name is resolved, so a request of a page cannot leave this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Browser:
    """A headless Chromium that the first test starts, once its programs are found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.driver: Chrome | None = None

    def started(self, program: Callable[[str], str]) -> Chrome:
        """Return the browser, or skip the test if a program is missing."""
        chromium, driver = program("chromium"), program("chromedriver")
        if self.driver is None:
            options = ChromeOptions()
            options.binary_location = chromium
            for flag in (*_FLAGS, f"--user-data-dir={self._folder / 'profile'}"):
                options.add_argument(flag)
            options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
            service = Service(executable_path=driver, log_output=subprocess.DEVNULL)
            self.driver = Chrome(options=options, service=service)
        return self.driver


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Yield one browser for all tests of a file."""
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    if browser.driver is not None:
        browser.driver.quit()


@pytest.fixture
def browser(program: Callable[[str], str], starter: Browser) -> Chrome:
    """Return the browser, with empty logs."""
    driver = starter.started(program)
    driver.get("about:blank")
    for log in ("performance", "browser"):
        entries_of(driver, log)
    return driver


def entries_of(browser: Chrome, log: str) -> list[dict[str, Any]]:
    """Return the entries of a log since they were last read."""
    entries: list[dict[str, Any]] = browser.get_log(log)
    return entries


def open_at(browser: Chrome, address: str, size: tuple[int, int], **media: str) -> None:
    """Open a page in a window of this size, and wait for its first chart."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(address)
    browser.execute_script("location.hash = '#charts'")
    wait_for(browser, "return document.querySelectorAll('figure[data-drawn]').length > 0")


def wait_for(browser: Chrome, condition: str) -> None:
    """Wait until this script returns true."""
    WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda driver: driver.execute_script(condition))
