#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each file of the project names its licence near its top.

    check_licences.py [ROOT]

Left out: pages, data, lists of modules that caches go by, what was recorded, and manifests that stand for a user's, whose lines tests count.
"""
import os
import re
import sys

ENDINGS = (".h", ".cc", ".go", ".py", ".sh", ".proto", ".cmake", ".in", ".mod", ".yaml", ".yml", ".tpl", ".toml")
NAMES = ("CMakeLists.txt", "Dockerfile", "run", "setup", ".clang-format", ".clang-tidy", ".dockerignore", ".gitignore")
USERS_FILES = re.compile(r"(^|/)(build|corpus|cases|recorded|testdata|problems|validate|modules)/|^examples/manifests/|"
                         r"^tests/(api|engine|app/convert/files|import/[a-z]+)/[^/]*\.yaml$|(^|/)\.git/")
LICENCE = b"SPDX-License-Identifier: Apache-2.0"


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not os.path.exists(os.path.join(folder, name, "CMakeCache.txt"))]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if USERS_FILES.search(path) or os.path.islink(os.path.join(root, path)):
                continue
            if name.endswith(ENDINGS) or name in NAMES:
                yield path


def check(root):
    problems = []
    for path in sorted(files(root)):
        with open(os.path.join(root, path), "rb") as f:
            if LICENCE not in f.read(600):
                problems.append("%s: its first lines do not say \"%s\"" % (path, LICENCE.decode()))
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) or "each file names its licence")
    sys.exit(1 if found else 0)
