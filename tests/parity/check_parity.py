#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every entry of docs/parity.md names tests, and that these exist.

    check_parity.py [ROOT]
"""
import glob
import os
import re
import sys


def entries(text):
    """The list items, each as one line, with the number of its first line."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("- "):
            found.append([number, line[2:]])
        elif line.startswith("  ") and found:
            found[-1][1] += " " + line.strip()
    return found


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def full_names(names):
    """A name without a file is of the file before it."""
    subject = ""
    for name in names:
        if ": " in name:
            subject = name.partition(": ")[0]
        elif "." not in name and "/" not in name and subject:
            name = "%s: %s" % (subject, name)
        yield name


def missing(root, name):
    """What is wrong with the name of a test; empty if it is there."""
    subject, colon, rest = name.partition(": ")
    if not colon:
        folders = ["tests/scenarios", "tests/cluster/steps"]
        found = any(os.path.exists(os.path.join(root, folder, name)) for folder in folders)
        return "" if found else "no such scenario or step file"
    if subject == "conformance":
        families = read(os.path.join(root, "tests/conformance/closed_families.txt")).split()
        return "" if rest in families else "no such family"
    if subject == "examples":
        listed = read(os.path.join(root, "examples/expected.yaml"))
        known = re.search(r"^- name: %s$|^  %s.yaml:" % (re.escape(rest), re.escape(rest)), listed, re.M)
        return "" if known else "no such example"
    if subject == "config problems":
        file = os.path.join(root, "tests/config/problems", rest + ".yaml")
        return "" if os.path.exists(file) else "no such file of problems"
    files = glob.glob(os.path.join(root, "tests/**", subject + ".cc"), recursive=True)
    if not files:
        return "no such test file"
    test = re.compile(r"^TEST(_F|_P)?\(\w+, %s\)" % re.escape(rest), re.M)
    return "" if any(test.search(read(file)) for file in files) else "no such test"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    page = os.path.join(root, "docs/parity.md")
    problems = []
    found = entries(read(page))
    for number, entry in found:
        _, marker, tests = entry.rpartition("Test: ") if "Test: " in entry else entry.rpartition("Tests: ")
        names = list(full_names(re.findall(r"`([^`]+)`", tests))) if marker else []
        if not names:
            problems.append((number, "names no test: " + entry[:60]))
        problems += [(number, "`%s`: %s" % (name, missing(root, name))) for name in names if missing(root, name)]
    for number, what in problems:
        print("docs/parity.md:%d: %s" % (number, what))
    if not found:
        sys.exit("docs/parity.md has no entries")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
