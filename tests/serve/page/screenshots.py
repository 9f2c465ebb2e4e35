"""Take the README's pictures of the page: `python -m tests.serve.page.screenshots`.

Writes `docs/images/page-desktop.png` (light) and `docs/images/page-mobile.png` (dark).
"""

import base64
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .browsing import browsing, click, find, missing, serving_page, show_as

_FOLDER = Path(__file__).parents[3] / "docs" / "images"
_LARGEST = 150_000  # bytes
_EXAMPLE = "Kettle warranty"


def main() -> None:
    if why := missing():
        sys.exit(why)
    _FOLDER.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        serving_page() as (_, address),
        browsing(Path(folder)) as browser,
    ):
        show_as(browser, 1280, 860)
        _judge(browser, address)
        _write(browser, "page-desktop.png")
        show_as(browser, 360, 740, dark=True, mobile=True)
        _judge(browser, address)
        browser.execute_script("document.querySelector('.mx-result').scrollIntoView()")
        _write(browser, "page-mobile.png")


def _judge(browser, address):
    browser.get(address)
    click(browser, ".mx-examples button", _EXAMPLE)
    find(browser, ".mx-result")
    show = "document.querySelector('.mx-sentence').focus({preventScroll: true}); scrollTo(0, 0)"
    browser.execute_script(show)


def _write(browser, name):
    shot = base64.b64decode(browser.get_screenshot_as_base64())
    assert len(shot) < _LARGEST, f"{name} holds {len(shot):,} bytes"
    (_FOLDER / name).write_bytes(shot)


if __name__ == "__main__":
    main()
