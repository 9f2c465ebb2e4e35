from pathlib import Path

import httpx
import pytest

from moonlynx import load_judge
from moonlynx.judge.metrics.encoder import heads_in
from moonlynx.serve.app import create_app
from moonlynx.serve.guardrails import GuardPolicyError, load_guard_policy
from moonlynx.serve.server import load_served

from ..cases import cases
from ..command import moonlynx
from .loopback import command, running

pytestmark = pytest.mark.heavy

POLICIES = Path(__file__).parents[2] / "examples" / "policies"
CARD = "My card is 4111 1111 1111 1111."
KEY = "The key is AKIAIOSFODNN7EXAMPLE."
TOOL = {"name": "get_weather", "parameters": {"properties": {"city": {}}, "required": ["city"]}}


@pytest.fixture(scope="module")
def guards():
    """Return each policy's server, by name, in this process behind real HTTP."""
    found = {}
    for path in POLICIES.glob("*.yaml"):
        policy = load_guard_policy(path)
        served = load_served(dict(zip(policy.metrics, policy.metrics, strict=True)))
        found[path.stem] = create_app(load_judge("token-similarity"), metrics=served, policy=policy)
    assert len(found) == 3
    return found


def ask(app, *bodies):
    with running(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        replies = [client.post("/v1/guardrails", json=body) for body in bodies]
        assert [reply.status_code for reply in replies] == [200] * len(bodies)
        return [reply.json() for reply in replies]


def test_a_support_bot_masks_accounts_and_blocks_attacks(guards):
    plain, card = ask(
        guards["support-bot"],
        {"id": 7, "input": "When are you open?", "output": "From nine to five."},
        {"input": CARD, "output": "Thank you, 4111 1111 1111 1111 it is."},
    )
    assert (plain["id"], plain["action"], plain["hits"]) == (7, "pass", [])
    assert (card["input"], card["action"]) == ("My card is [CREDIT_CARD].", "mask")
    assert card["output"] == "Thank you, [CREDIT_CARD] it is."
    hit = {"metric": "luna2:pii", "label": "credit_card", "probability": 1.0, "do": "mask"}
    assert hit in card["hits"]


def test_search_flags_what_has_no_support_and_what_could_not_be_judged(guards):
    context = ["The library is open from 10:00 to 16:00 on Saturdays."]
    asked = {"input": "When is the library open on Saturdays?", "context": context}
    good, bad, key, bare = ask(
        guards["internal-search"],
        asked | {"output": "The library is open from 10:00 to 16:00 on Saturdays."},
        asked | {"output": "Elephants swim in its cellar."},
        asked | {"output": KEY},
        {"input": "When?", "output": "At ten."},
    )
    assert (good["action"], bad["action"], key["action"]) == ("pass", "flag", "block")
    assert [hit["metric"] for hit in bad["hits"]] == ["luna2:context_adherence"]
    assert bare["action"] == "flag"
    assert bare["errors"]["luna2:context_adherence"]["code"] == "empty_context"


def test_an_agents_call_that_cannot_be_judged_does_not_go_out(guards):
    call = '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
    asked = {"input": "How is the weather in Oslo?", "output": call}
    without, with_tools, key = ask(
        guards["agent-with-tools"],
        asked,
        asked | {"tools": [TOOL]},
        asked | {"tools": [TOOL], "input": f"{KEY} How is the weather in Oslo?"},
    )
    assert without["action"] == "block"
    assert list(without["errors"]) == ["luna2:tool_selection_quality"]
    assert with_tools["errors"] == {}
    assert key["action"] == "block"


@pytest.mark.parametrize(("text", "message"), cases(__file__, "bad_policies"))
def test_a_bad_policy_is_refused_with_its_field_before_anything_is_served(tmp_path, text, message):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    found = moonlynx("serve", "--judge", "token-similarity", "--port", "0", "--policy", path)
    assert isinstance(found.exception, GuardPolicyError)
    assert message in str(found.exception)
    with pytest.raises(GuardPolicyError, match="cannot read"):
        load_guard_policy(tmp_path / "none.yaml")


def test_the_command_serves_all_metrics_and_a_policy_in_one_request():
    options = ("--judge", "token-similarity", "--metric", "all")
    with command(*options, "--policy", str(POLICIES / "support-bot.yaml")) as (_, address):
        asked = {"input": "Hello", "output": CARD}
        with httpx.Client(base_url=address, timeout=60) as client:
            served = client.get("/v1/metrics").json()
            assert served == sorted([*heads_in(), "context_adherence"])
            (found,) = client.post("/v1/metrics", json={"inputs": asked}).json()
            assert [one["metric"] for one in found] == served
            body = {"inputs": [asked, 3], "metrics": ["pii", "luna2:tone"]}
            both, wrong = client.post("/v1/metrics", json=body).json()
            assert [one["metric"] for one in both] == ["pii", "tone"]
            assert both[0]["spans"][0]["text"] == "4111 1111 1111 1111"
            assert {one["error"]["code"] for one in wrong} == {"bad_input"}
            unknown = client.post("/v1/metrics", json=body | {"metrics": ["shoe"]})
            assert unknown.status_code == 404
            assert client.get("/v1/guardrails").json()["name"] == "support-bot"
            assert client.post("/v1/guardrails", json=asked).json()["action"] == "mask"
