"""Releases on the Hub: pushed in one commit, pulled and compared with their manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from moonlynx._version import __version__
from moonlynx.judge.backends.hub import HubError, hub_errors
from moonlynx.judge.files.stored import RELEASE, Release, check_release, load_record

from .release import Plan, check_names

_DATASETS = "datasets/"
_HUBS_OWN = ".gitattributes"


class Repository(NamedTuple):
    """A repository of the Hub; `kind` is the Hub's word, "model" or "dataset"."""

    id: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> Repository:
        """Read ORG/NAME, or datasets/ORG/NAME as in the Hub's addresses."""
        name = text.removeprefix(_DATASETS)
        if name.count("/") != 1 or not all(name.split("/")):
            raise HubError(f"{text}: a repository is ORG/NAME, or datasets/ORG/NAME")
        return cls(name, "model" if name == text else "dataset")


class Pulled(NamedTuple):
    """A release on this machine whose files are what its manifest says."""

    folder: Path
    release: Release
    commit: str


def push(
    plan: Plan, repository: str, *, private: bool = False, revision: str | None = None,
    tag: str | None = None,
) -> str:  # fmt: skip
    """Push a release in one commit, and return that: others see all of it or nothing.

    What was transferred before an interruption is not sent again. Files of an earlier release that
    this one does not have are deleted.

    Raises:
        HubError: the Hub refuses, cannot be reached, or has something else under that name.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    files = plan.release.files
    manifest = plan.release.model_dump_json(indent=2) + "\n"
    added = [CommitOperationAdd(name, plan.folder / name) for name in files]
    added.append(CommitOperationAdd(RELEASE, manifest.encode()))
    api = HfApi(library_name="moonlynx", library_version=__version__)
    place: dict[str, Any] = {"repo_id": repository, "repo_type": plan.repo_type}
    with hub_errors(repository):
        api.create_repo(**place, private=private, exist_ok=True)
        if private and not api.repo_info(**place).private:
            raise HubError(f"{repository} is there and public; make it private, or leave --private")
        if revision is not None:
            api.create_branch(**place, branch=revision, exist_ok=True)
        there = set(api.list_repo_files(**place, revision=revision))
        gone = sorted(there - files.keys() - {RELEASE, _HUBS_OWN})
        done = api.create_commit(
            **place,
            revision=revision,
            operations=[*added, *(CommitOperationDelete(name, is_folder=False) for name in gone)],
            commit_message=f"Release {plan.release.kind} by moonlynx {plan.release.moonlynx}",
        )
        if tag is not None:
            tags = {each.name: each.target_commit for each in api.list_repo_refs(**place).tags}
            if tags.setdefault(tag, done.oid) != done.oid:
                raise HubError(
                    f"{repository} has a tag {tag} of another commit; choose another tag"
                )
            api.create_tag(**place, tag=tag, revision=done.oid, exist_ok=True)
    return str(done.oid)


def read_remote(repository: Repository, revision: str | None, **options: Any) -> Pulled:
    """Fetch a release's manifest alone.

    Raises:
        HubError: it is not there, or the Hub cannot be reached.
        ReleaseError: the release is not of data alone.
    """
    folder = _download(repository, revision, [RELEASE], options)
    if not (folder / RELEASE).is_file():
        raise HubError(
            f"{repository.id} has no {RELEASE}; get it with `hf download {repository.id}`"
        )
    release = load_record(folder / RELEASE, Release, HubError)
    check_names(release)
    return Pulled(folder, release, folder.name)


def pull(
    repository: Repository, revision: str | None, output: Path | None, *, force: bool = False
) -> Pulled:
    """Download a release, all of it, and compare every byte with its manifest.

    What was transferred before an interruption is not fetched again, but with `force`. Without an
    output it goes to the Hub's cache, where judges find it.

    Raises:
        HubError: a file is missing, changed or not listed; names it. Else as `read_remote`.
    """
    remote = read_remote(repository, revision, force_download=force)
    options: dict[str, Any] = {"force_download": force}
    if output is not None:
        options["local_dir"] = output
    wanted = [RELEASE, *remote.release.files]
    folder = _download(repository, remote.commit, wanted, options)
    check_release(folder, HubError, whole=True)
    return remote._replace(folder=folder)


def _download(
    repository: Repository, revision: str | None, wanted: list[str], options: dict[str, Any]
) -> Path:
    from huggingface_hub import snapshot_download

    with hub_errors(repository.id):
        return Path(
            snapshot_download(
                repository.id,
                repo_type=repository.kind,
                revision=revision,
                allow_patterns=wanted,
                **options,
            )
        )
