#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tests are where a reader looks for them, and that all of them are built.

    check_tests.py [ROOT]

tests/MODULE/NAME_test.cc, or NAME_property_test.cc, is of src/MODULE/NAME.cc or .h, of a header NAME.h, or of a plugin's source. One with
files of its own may be in a folder of its name. What several files do together is in tests/MODULE/behaviour/, and in tests/plugins/ itself
what all plugins do. Other folders of tests/, such as scenarios/, are of no module.
"""
import os
import re
import sys

ENDINGS = (".cc", ".h", ".proto")
# The public headers whose sources are in these modules.
HEADERS = {module: ("framework", "columns", "incremental", "handle", "extensions") for module in ("framework", "table", "values")}


def names(root, *folder):
    """Of the sources in a folder, without their endings."""
    path = os.path.join(root, *folder)
    return {os.path.splitext(name)[0] for name in os.listdir(path) if name.endswith(ENDINGS)} if os.path.isdir(path) else set()


def tests(root):
    for folder, _, found in os.walk(os.path.join(root, "tests")):
        for name in sorted(found):
            if name.endswith("_test.cc"):
                yield os.path.relpath(os.path.join(folder, name), root)


def is_module(root, module):
    return module == "plugins" or os.path.isdir(os.path.join(root, "src", module))


def has_source(root, path):
    folder = os.path.dirname(path)[len("tests/"):]
    module = folder.split("/")[0]
    name = re.sub(r"(_property)?_test\.cc$", "", os.path.basename(path))
    if os.path.basename(folder) == "behaviour" or folder == "plugins":
        return True
    places = [folder]
    if os.path.basename(folder) == name:
        places.append(os.path.dirname(folder))
    sources = set()
    for place in places:
        sources |= names(root, place) if module == "plugins" else names(root, "src", place)
    for place in HEADERS.get(module, (module,)):
        sources |= names(root, "include", "berth", place)
    return name in sources


def is_built(root, path):
    """Whether the nearest CMakeLists.txt names it, or takes what there is."""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(os.path.join(root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    if not folder:
        return False
    with open(os.path.join(root, folder, "CMakeLists.txt"), encoding="utf-8") as f:
        text = f.read()
    takes_all = "GLOB" in text or any("SOURCES" not in call for call in re.findall(r"berth_test\(([^)]*)\)", text))
    return takes_all or re.search(r"[\s(]" + re.escape(os.path.relpath(path, folder)) + r"[\s)]", text) is not None


def check(root):
    problems = []
    for path in tests(root):
        if is_module(root, path.split("/")[1]) and not has_source(root, path):
            problems.append("%s: no source of that name; what several files do together is in a folder behaviour/" % path)
        if not is_built(root, path):
            problems.append("%s: is in no target" % path)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) or "each test is beside the files that it covers")
    sys.exit(1 if found else 0)
