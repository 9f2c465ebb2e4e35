"""The loopback Hub against the Hub's own client: what is tested with it elsewhere rests on this."""

from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

# The client's way to upload is deprecated by its own HTTP library.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")

WEIGHTS = bytes(range(256)) * 400


@pytest.fixture
def api(hub):
    api = HfApi(endpoint=hub.url)
    api.create_repo("org/name")
    return api


def upload(api, content=WEIGHTS, path="model.onnx", **options):
    return api.upload_file(
        path_or_fileobj=content, path_in_repo=path, repo_id="org/name", **options
    ).oid


def test_a_commit_an_upload_and_a_download(hub, api):
    first = upload(api, b"{}", "config.json")
    second = upload(api)
    assert api.list_repo_files("org/name") == ["config.json", "model.onnx"]
    assert api.list_repo_files("org/name", revision=first) == ["config.json"]
    path = hf_hub_download("org/name", "model.onnx")
    assert Path(path).read_bytes() == WEIGHTS
    assert second in path
    info = api.repo_info("org/name")
    assert (info.sha, info.private) == (second, False)


def test_what_is_there_is_not_uploaded_again(hub, api):
    upload(api)
    upload(api, path="copy.onnx")
    assert [method for method, path, _ in hub.seen if path.startswith("/lfs/")] == ["PUT", "POST"]
    before = api.repo_info("org/name").sha
    assert upload(api) == before


def test_a_file_that_is_there_is_not_downloaded_again(hub, api):
    upload(api)
    for _ in range(2):
        hf_hub_download("org/name", "model.onnx")
    assert sum((m, "resolve" in p) == ("GET", True) for m, p, _ in hub.seen) == 1


def test_a_connection_that_is_cut_is_resumed_by_range(hub, api, monkeypatch):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 4096)  # what is less is not kept
    upload(api)
    cuts = iter(["cut"])
    hub.fault = lambda method, path: (
        next(cuts, None) if method == "GET" and "onnx" in path else None
    )
    path = hf_hub_download("org/name", "model.onnx")
    assert Path(path).read_bytes() == WEIGHTS
    assert [r for m, p, r in hub.seen if m == "GET" and "onnx" in p][-1].startswith("bytes=")


def test_branches_and_tags(api):
    first = upload(api)
    api.create_branch("org/name", branch="next")
    other = upload(api, b"other", revision="next")
    api.create_tag("org/name", tag="v1", revision=first)
    refs = api.list_repo_refs("org/name")
    assert {ref.name: ref.target_commit for ref in refs.branches} == {"main": first, "next": other}
    assert {ref.name: ref.target_commit for ref in refs.tags} == {"v1": first}
    folder = snapshot_download("org/name", revision="next")
    assert folder.endswith(other)
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_tag("org/name", tag="v1", revision=other)


def test_what_is_not_there(api):
    upload(api)
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info("org/none")
    with pytest.raises(RevisionNotFoundError):
        api.repo_info("org/name", revision="none")
    with pytest.raises(EntryNotFoundError):
        hf_hub_download("org/name", "none.json")


def test_tokens(hub, api, monkeypatch):
    HfApi(endpoint=hub.url).create_repo("org/hidden", private=True)
    monkeypatch.setenv("HF_TOKEN", "hf_other")
    with pytest.raises(HfHubHTTPError, match="401"):
        api.repo_info("org/name")
    monkeypatch.delenv("HF_TOKEN")
    assert api.repo_info("org/name").id == "org/name"
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info("org/hidden")
    with pytest.raises(HfHubHTTPError, match="401"):
        upload(api)


def test_too_many_requests(hub, api):
    upload(api)
    statuses = iter([429, 429])
    hub.fault = lambda method, path: next(statuses, None) if "/resolve/" in path else None
    assert Path(hf_hub_download("org/name", "model.onnx")).read_bytes() == WEIGHTS
    hub.fault = lambda method, path: 429
    with pytest.raises(HfHubHTTPError, match="429"):
        api.repo_info("org/name")
