import importlib
import inspect
from pathlib import Path

import pytest

import moonlynx


def packages(package=moonlynx):
    """Yield every package of moonlynx, by following its folders (pkgutil hides broken ones)."""
    yield package
    for folder in package.__path__:
        for child in sorted(Path(folder).glob("*/__init__.py")):
            yield from packages(importlib.import_module(f"{package.__name__}.{child.parent.name}"))


WITH_CONTENTS = {one.__name__: one for one in packages() if hasattr(one, "__all__")}


def public_names(package):
    named = {
        name: getattr(value, "__module__", None)
        for name, value in vars(package).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    own = {name for name, module in named.items() if module == package.__name__}
    return own or named.keys()


@pytest.mark.parametrize("name", WITH_CONTENTS)
def test_all_is_what_there_is(name):
    package = WITH_CONTENTS[name]
    assert [one for one in package.__all__ if not hasattr(package, one)] == []
    assert [one for one in package.__all__ if one.startswith("_") and one != "__version__"] == []
    assert public_names(package) <= set(package.__all__)
    assert {"moonlynx", "moonlynx.judge.text"} <= WITH_CONTENTS.keys()
