import pytest

from moonlynx.halubench.annotate.store import Store

from ...serve.page.browsing import browsing, missing

pytestmark = pytest.mark.heavy


@pytest.fixture
def browser(tmp_path):
    if why := missing("selenium"):
        pytest.skip(why)
    with browsing(tmp_path) as browser:
        yield browser


@pytest.fixture
def press(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()

    return press


@pytest.fixture
def arrive(browser):
    from selenium.webdriver.support.expected_conditions import url_matches
    from selenium.webdriver.support.wait import WebDriverWait

    def arrive(pattern):
        WebDriverWait(browser, 20).until(url_matches(pattern))

    return arrive


def checked(browser):
    found = browser.find_elements("css selector", "input:checked")
    return {one.get_attribute("name"): one.get_attribute("value") for one in found}


def wait_for(browser, name):
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 20).until(lambda page: page.find_elements("name", name))


def test_rows_are_labelled_by_keys_alone(address, browser, press, arrive, file, database):
    from selenium.webdriver.common.keys import Keys

    browser.get(address)
    press("Anna", Keys.ENTER)
    arrive("/rows/1$")
    press("s", "u", Keys.ARROW_UP, "s", "p")
    assert checked(browser) == {
        "sentence-1": "SUPPORTED",
        "sentence-2": "SUPPORTED",
        "label": "PASS",
    }
    press("e", "su", Keys.ESCAPE, Keys.ENTER)
    arrive("/rows/2$")
    store = Store(database, file)
    assert store.find("Anna", 1).label == "PASS"
    assert store.find("Anna", 1).note == "su"
    assert store.find("Anna", 2) is None

    press("u", Keys.ENTER)  # not whole: the browser itself asks for the rest
    assert browser.current_url.endswith("/rows/2")
    assert store.find("Anna", 2) is None
    press("n", "f", Keys.ENTER)
    wait_for(browser, "perturbation_holds")
    assert [one.label for one in store.find("Anna", 2).sentences] == ["UNSUPPORTED", "NO_INFO"]
    assert browser.find_element("css selector", "form ins").text == "1849"
    press("y", "n", Keys.ENTER)
    arrive("/rows/3$")
    said = store.find("Anna", 2)
    assert (said.perturbation_holds, said.reasoning_right) == (True, False)
    press(",")
    arrive("/rows/2$")
    press(".")
    arrive("/rows/3$")
    assert [
        entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]
    ] == []
