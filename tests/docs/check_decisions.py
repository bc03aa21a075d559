#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/decisions/README.md lists each record once, in the order of the numbers, with the
date of the record, and that each record has the form

    # 0001: Title
    <empty>
    YYYY-MM-DD. Status: accepted.

    check_decisions.py [ROOT]
"""
import glob
import os
import re
import sys

FOLDER = "docs/decisions"
ROW = re.compile(r"^\| (\d{4}) \| \[(.*?)\]\(([^)]*)\) \| (\d{4}-\d\d-\d\d) \|", re.M)
RECORD = re.compile(r"# (\d{4}): (.*)\n\n(\d{4}-\d\d-\d\d)\. Status: [a-z]")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def check(root):
    problems = []
    rows = ROW.findall(read(os.path.join(root, FOLDER, "README.md")))
    numbers = [number for number, *_ in rows]
    for before, after in zip(numbers, numbers[1:]):
        if before >= after:
            problems.append("README.md: %s stands after %s" % (after, before))
    dates = {number: date for number, _, _, date in rows}
    files = {number: file for number, _, file, _ in rows}
    for path in sorted(glob.glob(os.path.join(root, FOLDER, "[0-9]*.md"))):
        name = os.path.basename(path)
        form = RECORD.match(read(path))
        if form is None:
            problems.append("%s: not of the form \"# NNNN: title\", \"YYYY-MM-DD. Status: \"" % name)
            continue
        number, _, date = form.groups()
        if not name.startswith(number):
            problems.append("%s: it calls itself %s" % (name, number))
        elif files.get(number) != name:
            problems.append("README.md: no row links to %s" % name)
        elif dates[number] != date:
            problems.append("README.md: %s is of %s" % (number, date))
    return problems


def main():
    problems = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(problems) if problems else "the decisions are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
