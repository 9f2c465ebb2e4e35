"""`__all__` is each package's contents page: true, whole and in order."""

import importlib
import inspect
from pathlib import Path

import pytest

import moonlynx


def packages(package=moonlynx):
    """Give every package of moonlynx, by following its folders (pkgutil hides broken ones)."""
    yield package
    for folder in package.__path__:
        for child in sorted(Path(folder).glob("*/__init__.py")):
            yield from packages(importlib.import_module(f"{package.__name__}.{child.parent.name}"))


PACKAGES = {package.__name__: package for package in packages()}
WITH_CONTENTS = {name: package for name, package in PACKAGES.items() if hasattr(package, "__all__")}


def order(name):
    """Constants, then classes, then the rest: the order in which ruff's RUF022 puts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_packages_are_found():
    assert {"moonlynx", "moonlynx.judge.text"} <= WITH_CONTENTS.keys()
    assert {"moonlynx.judge", "moonlynx.judge.backends", "moonlynx.eval"} <= PACKAGES.keys()


def public_names(package):
    """Give what the package defines itself; of one that only gathers, all that it gathers."""
    named = {
        name: value
        for name, value in vars(package).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    own = {
        name
        for name, value in named.items()
        if getattr(value, "__module__", None) == package.__name__
    }
    return own or named.keys()


@pytest.mark.parametrize("name", WITH_CONTENTS)
def test_all_is_what_there_is(name):
    package = WITH_CONTENTS[name]
    listed = package.__all__
    assert listed == sorted(set(listed), key=order)
    assert [one for one in listed if not hasattr(package, one)] == []
    assert [one for one in listed if one.startswith("_") and one != "__version__"] == []
    assert sorted(public_names(package) - set(listed)) == []


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_says_what_it_is(name):
    assert PACKAGES[name].__doc__
