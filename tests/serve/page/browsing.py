"""The server with its page, in a process of its own, and a real browser without a window."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

from ...waiting import until

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
PATIENCE = 240  # seconds, on a machine that has much else to do


def missing(*packages):
    for package in packages or ("gradio", "selenium"):
        if find_spec(package) is None:
            return f"needs {package}"
    if not (BROWSER and DRIVER):
        return "needs chromium and chromedriver (Debian: chromium, chromium-driver)"
    return None


@contextmanager
def serving_page(*options, storage=None):
    """Run `moonlynx serve` on any free port; once the page is there, yield process and address.

    Its temporary files lie in `storage`, where that is given.
    """
    line = [sys.executable, "-u", "-m", "moonlynx", "serve", "--port", "0", *options]
    env = os.environ | ({"TMPDIR": str(storage)} if storage else {})
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            address = server.stdout.readline().split(" at ")[1].partition("/v1")[0]
            until(lambda: httpx.get(address, timeout=PATIENCE).status_code != 503, PATIENCE)
            yield server, address
        finally:
            server.kill()


def send(client, method, target, **request):
    """Send a request whose path no client tidies up; the body of the response is still to read."""
    built = client.build_request(method, "/", **request)
    built.extensions["target"] = target.encode()
    return client.send(built, stream=True)


@contextmanager
def browsing(folder: Path):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "got")})
    # As root Chromium runs only without its sandbox; the pages are our own.
    for option in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1280,960"):
        options.add_argument(f"--{option}")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield browser
    finally:
        browser.quit()


def requested(browser):
    """Return what was asked for since the last look, as DevTools' `Network.requestWillBeSent`."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]


def show_as(browser, width, height, *, dark=False, mobile=False):
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)


def find(browser, selector, text=""):
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.wait import WebDriverWait

    def shown(browser):
        found = browser.find_elements("css selector", selector)
        return next((one for one in found if one.is_displayed() and text in one.text), None)

    wait = WebDriverWait(browser, PATIENCE, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(shown, f"no {selector} with {text!r}")


def click(browser, selector, text=""):
    element = find(browser, selector, text)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()
