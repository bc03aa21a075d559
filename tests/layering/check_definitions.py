#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two files define a class of one name in one namespace: modules end up in one program, and the linker would take
the inline members of either for both. Classes of unnamed namespaces do not count.

    check_definitions.py [ROOT]
"""
import collections
import os
import re
import sys

FOLDERS = ("include", "src", "plugins")
UNNAMED = re.compile(r"^namespace \{\n.*?^\}  // namespace\n", re.M | re.S)
NAMESPACE = re.compile(r"^(?:namespace ([\w:]+) \{|\}  // namespace ([\w:]+))$", re.M)
CLASS = re.compile(r"^(?:template <.*>\n)?(?:class|struct) (?:ABSL_\w+(?:\(.*?\))? )?(\w+(?:::\w+)*)(?: final)?(?:\s*:(?!:)[^{;]*)?\s*\{", re.M)


def definitions(text):
    """The full names of the classes that stand at the level of a namespace."""
    text = UNNAMED.sub("", text)
    marks = [(m.start(), 0, m) for m in NAMESPACE.finditer(text)] + [(m.start(), 1, m) for m in CLASS.finditer(text)]
    scope = []
    for _, is_class, match in sorted(marks, key=lambda mark: mark[:2]):
        if is_class:
            yield "::".join(scope + [match.group(1)])
        elif match.group(1):
            scope.append(match.group(1))
        elif scope:
            scope.pop()


def check(root):
    files_of = collections.defaultdict(set)
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as f:
                        for full_name in definitions(f.read()):
                            files_of[full_name].add(os.path.relpath(path, root))
    return len(files_of), ["%s: defined in %s" % (name, " and ".join(sorted(files)))
                           for name, files in sorted(files_of.items()) if len(files) > 1]


def main():
    count, problems = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(problems) if problems else "%d classes have a name of their own" % count)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
