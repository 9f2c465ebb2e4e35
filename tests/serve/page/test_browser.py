import json
from pathlib import Path

import pytest

from moonlynx import Verdict

from ..loopback import EXAMPLE, WRONG, until
from .browsing import PATIENCE, click, find, requested, show_as
from .conftest import MAX_BODY

pytestmark = pytest.mark.heavy

DOCUMENTS = "The tower is 80 metres high.\n---\nThe bridge was built in 1849 by Anna Weiss."
ANSWER = "The bridge was built in 1849. Peter Smith tore it down near Glasgow."
ATTACK = (
    "The bridge was built in 1849. <script>document.title = 'ran'</script>"
    "<img src=x onerror=\"document.title = 'ran'\"> ${document.title = 'ran'} {{7*7}} 😀"
)
# The page draws after a key is taken or a text is set: a look too early would see what was before.
DRAWN = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


def fill(browser, *, documents=DOCUMENTS, answer=ANSWER):
    for name, text in (("documents", documents), ("answer", answer)):
        field = find(browser, f"#{name} textarea")
        field.clear()
        field.send_keys(text)


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def step_to(browser, selector):
    from selenium.webdriver.common.keys import Keys

    for _ in range(40):
        press(browser, Keys.TAB)
        if browser.execute_script("return document.activeElement.matches(arguments[0])", selector):
            return
    pytest.fail(f"Tab does not lead to {selector}")


def choose(browser, selector, option):
    from selenium.webdriver.common.keys import Keys

    step_to(browser, selector)
    field = find(browser, selector)
    options = field.get_attribute("aria-controls")
    for _ in range(10):
        press(browser, Keys.ARROW_DOWN)
        browser.execute_async_script(DRAWN)
        if find(browser, f"#{options} .active").get_attribute("aria-label") == option:
            press(browser, Keys.ENTER)
            until(lambda: field.get_property("value") == option)
            return
    pytest.fail(f"the list has no {option}")


def lit(browser):
    found = browser.find_elements("css selector", ".mx-evidence.mx-on")
    return "".join(one.text for one in found)


def complaints(browser):
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE" and "favicon" not in entry["message"]
    ]


def fetched(browser):
    sent = (one for one in requested(browser) if one["documentURL"].startswith("http"))
    urls = [one["request"]["url"] for one in sent]
    return [url for url in urls if not url.startswith(("data:", "blob:"))]


def scrolls_sideways(browser):
    script = "return document.documentElement.scrollWidth > innerWidth"
    return browser.execute_script(script)


def open_files(browser):
    click(browser, "button[role=tab]", "A file of answers")
    find(browser, "#ask-file")


def upload(browser, path):
    find(browser, "#file").send_keys(str(path))


def test_an_answer_is_judged_and_nothing_is_asked_of_others(browser, address):
    fetched(browser)
    browser.refresh()
    fill(browser)
    click(browser, "#ask")
    result = find(browser, ".mx-result")
    assert find(browser, ".mx-score").text == "FAIL"
    assert "P(hallucinated) 0." in result.text
    assert "Peter Smith" in " ".join(one.text for one in result.find_elements("tag name", "mark"))
    assert find(browser, ".mx-result footer").text.startswith("luna 1")
    assert find(browser, ".mx-time").text.endswith(" ms")
    assert "UNSUPPORTED:" in find(browser, ".mx-result ul").text
    urls = fetched(browser)
    assert len(urls) > 10
    assert [url for url in urls if not url.startswith(f"{address}/")] == []
    assert complaints(browser) == []  # of the policy that forbids it either


def test_nothing_in_an_answer_runs(browser):
    from selenium.webdriver.common.keys import Keys

    # Chromedriver types no signs beyond U+FFFF.
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    for name, text in (("documents", f"{DOCUMENTS}\n---\n{ATTACK}"), ("answer", ATTACK)):
        browser.execute_script(script, find(browser, f"#{name} textarea"), text)
    find(browser, "#answer textarea").send_keys(Keys.SHIFT, Keys.ENTER)
    texts = [one.text for one in find(browser, ".mx-result").find_elements("class name", "mx-text")]
    assert texts[0] == texts[-1] == ATTACK
    browser.execute_async_script(DRAWN)
    assert browser.title == "moonlynx"
    assert not browser.find_elements("css selector", ".mx-result :is(script, img)")


def test_a_sentence_pointed_at_shows_its_evidence(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    fill(browser)
    click(browser, "#ask")
    first = find(browser, ".mx-sentence")
    assert lit(browser) == ""
    ActionChains(browser).move_to_element(first).perform()
    assert "built in 1849" in lit(browser)
    assert find(browser, ".mx-said").text.startswith("Sentence 1: supported")
    assert "evidence in document 2" in find(browser, ".mx-said").text
    ActionChains(browser).move_to_element(find(browser, ".mx-sentence", "Glasgow")).perform()
    assert find(browser, ".mx-said").text.startswith("Sentence 2: not mentioned")
    assert len(browser.find_elements("css selector", ".mx-sentence.mx-on")) == 1


def test_the_page_is_used_by_keys_alone(browser):
    from selenium.webdriver.common.keys import Keys

    step_to(browser, "#question textarea")
    press(browser, "When was it built?", Keys.TAB, EXAMPLE["context"][0], Keys.TAB, ANSWER)
    choose(browser, "#compare input", "token-similarity")
    step_to(browser, "#ask")
    press(browser, Keys.ENTER)
    find(browser, ".mx-result + .mx-result", "token-similarity")
    step_to(browser, ".mx-sentence")
    assert "built in 1849" in lit(browser)
    press(browser, Keys.TAB)
    assert find(browser, ".mx-said").text.startswith("Sentence 2: not mentioned")
    names = [one.text for one in browser.find_elements("css selector", ".mx-result footer")]
    assert names[0].startswith("luna ")
    assert names[1].startswith("token-similarity ")


def test_an_example_is_judged_at_a_click(browser):
    script = "return getComputedStyle(arguments[0]).backgroundColor"
    shown = {"Library hours": ("PASS", "22, 101, 52"), "Library café": ("FAIL", "185, 28, 28")}
    for title, (score, colour) in shown.items():
        click(browser, ".mx-examples button", title)
        find(browser, ".mx-score", score)
        assert colour in browser.execute_script(script, find(browser, ".mx-bar span"))
        until(lambda title=title: find(browser, "[aria-pressed=true]").text == title, PATIENCE)


def test_texts_that_are_too_large_are_refused(browser):
    fill(browser)
    script = (
        "arguments[0].value = 'word '.repeat(arguments[1]);"
        "arguments[0].dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, find(browser, "#documents textarea"), MAX_BODY // 4)
    click(browser, "#ask")
    message = f"bytes, over the limit of {MAX_BODY:,}; shorten them"
    assert message in find(browser, "#verdicts [role=alert]").text


def test_a_file_is_judged_and_its_verdicts_fetched(browser, chromium, tmp_path):
    lines = [json.dumps(row) for row in (EXAMPLE, WRONG, EXAMPLE | {"id": "<i>"})]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([*lines[:2], "{broken", lines[2]]) + "\n", encoding="utf-8")
    open_files(browser)
    upload(browser, path)
    click(browser, "#ask-file")
    find(browser, "#overview", "4 of 4 rows")
    assert find(browser, "#overview [role=alert]").text.startswith("line 3, row: is not a JSON")
    cells = [
        row.text.split() for row in browser.find_elements("css selector", "#overview tbody tr")
    ]
    assert cells[0][:3] == ["1", "bridge", "PASS"]
    assert cells[3][1] == "<i>"
    folder = Path(chromium.capabilities["chrome"]["userDataDir"]).parent / "got"
    click(browser, "#download")
    (got,) = until(lambda: list(folder.glob("*.jsonl")), PATIENCE)
    verdicts = [Verdict.model_validate_json(line) for line in got.read_text().splitlines()]
    assert [verdict.score for verdict in verdicts] == ["PASS", "FAIL", None, "PASS"]


def test_no_file_and_too_large_files_are_said(browser, tmp_path):
    open_files(browser)
    click(browser, "#ask-file")
    find(browser, "#overview [role=alert]", "Choose a file first.")
    path = tmp_path / "large.jsonl"
    path.write_text(json.dumps(EXAMPLE | {"answer": "x" * MAX_BODY}), encoding="utf-8")
    upload(browser, path)
    click(browser, "#ask-file")
    find(browser, "#overview [role=alert]", f"the body is over {MAX_BODY:,} bytes")
    assert not browser.find_element("id", "download").is_displayed()


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_without_scrolling_sideways(browser, dark):
    show_as(browser, 360, 740, dark=dark, mobile=True)
    browser.refresh()
    find(browser, "#ask")
    assert not scrolls_sideways(browser)
    fill(browser, documents=f"{'x' * 300}\n---\n{DOCUMENTS}", answer=f"{ANSWER} {'y' * 200}")
    click(browser, "#ask")
    find(browser, ".mx-result")
    assert not scrolls_sideways(browser)
    script = "return getComputedStyle(document.body).backgroundColor"
    red = int(browser.execute_script(script).partition("(")[2].partition(",")[0])
    assert red < 64 if dark else red > 192
    open_files(browser)
    assert not scrolls_sideways(browser)


def in_view(browser, selector):
    """Return whether the top of an element is within the window, and nothing lies over it."""
    script = """
        const element = document.querySelector(arguments[0]);
        const { left, top, width } = element.getBoundingClientRect();
        const [x, y] = [left + width / 2, top + 5];
        return top >= 0 && y < innerHeight && element.contains(document.elementFromPoint(x, y));
        """
    return browser.execute_script(script, selector)


@pytest.fixture
def phone(browser):
    show_as(browser, 360, 740, mobile=True)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    browser.refresh()
    find(browser, "#ask")
    yield browser
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def tap(browser, selector, text=""):
    element = find(browser, selector, text)
    box = browser.execute_script("return arguments[0].getBoundingClientRect()", element)
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + min(box["height"], 20) / 2}
    for kind, points in (("touchStart", [point]), ("touchEnd", [])):
        touch = {"type": kind, "touchPoints": points}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", touch)


def test_on_a_phone_an_example_fills_the_form_and_then_its_verdict_comes_into_view(phone):
    # The form is seen for a second, so it is the page that notes what was in view then.
    phone.execute_script(
        """
        new MutationObserver((_, observer) => {
          const field = document.querySelector("#question textarea");
          if (!document.querySelector(".mx-result")) return;
          const { top, bottom } = field.getBoundingClientRect();
          window.formSeen = top >= 0 && bottom <= innerHeight && field.value;
          window.flashed = document.querySelector(".mx-filled #question") !== null;
          observer.disconnect();
        }).observe(document, { childList: true, subtree: true });
        """
    )
    tap(phone, ".mx-examples button", "Library café")
    find(phone, ".mx-result")
    until(lambda: in_view(phone, ".mx-score"), PATIENCE)
    question = "What are the library's opening hours on Saturdays?"
    assert phone.execute_script("return window.formSeen") == question


def test_on_a_phone_judge_stays_in_reach_and_its_verdict_comes_into_view(phone):
    assert in_view(phone, "#ask")
    fill(phone, documents="\n".join(DOCUMENTS for _ in range(20)), answer=ANSWER * 8)
    phone.execute_script("scrollTo(0, 0)")
    until(lambda: in_view(phone, "#ask"))
    assert not in_view(phone, "#verdicts")
    tap(phone, "#ask")
    find(phone, ".mx-result")
    until(lambda: in_view(phone, ".mx-score"), PATIENCE)


def test_on_a_phone_an_error_comes_into_view(phone):
    tap(phone, "#ask")
    find(phone, "#verdicts [role=alert]")
    until(lambda: in_view(phone, "#verdicts [role=alert]"), PATIENCE)


def test_a_tapped_sentence_shows_its_evidence(phone):
    tap(phone, ".mx-examples button", "Library hours")
    find(phone, ".mx-result")
    until(lambda: in_view(phone, ".mx-sentence"), PATIENCE)
    said = find(phone, ".mx-said").text
    assert said == "Choose a sentence to see its evidence."
    # A tap on what still scrolls only stops it.
    until(lambda: tap(phone, ".mx-sentence") or "closed on Sundays" in lit(phone), PATIENCE)
    assert find(phone, ".mx-said").text.startswith("Sentence 1: supported")


def test_on_a_desktop_the_page_does_not_move(browser):
    click(browser, ".mx-examples button", "Library hours")
    find(browser, ".mx-result")
    assert in_view(browser, ".mx-score")
    assert browser.execute_script("return scrollY") == 0
