#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documentation points to exists: relative links with their anchors, and
paths of this tree between backticks. Code blocks are left out.

    check_links.py [ROOT]

Decision records state what held at their date, while pages change: of what they point to only the
linked files are checked.
"""
import glob
import os
import re
import sys

PAGES = ["docs/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
         "src/**/README.md", "plugins/**/README.md"]
RECORDS = ["docs/decisions/*.md"]
FOLDERS = ("src", "include", "plugins", "tests", "bench", "docs", "examples", "config", ".ci")
LINK = re.compile(r"\[[^]]*\]\(([^()\s]+)\)", re.S)
QUOTED = re.compile(r"`([^`]+)`")
PATH = re.compile(r"(?:%s)/[\w./{},*-]*" % "|".join(map(re.escape, FOLDERS)))
BLOCK = re.compile(r"^```.*?^```", re.M | re.S)
ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:


def pages(root, patterns):
    found = set()
    for pattern in patterns:
        found.update(glob.glob(os.path.join(root, pattern), recursive=True))
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def without_blocks(text):
    """The text with code blocks emptied; lines keep their numbers."""
    return BLOCK.sub(lambda block: "\n" * block.group().count("\n"), text)


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", without_blocks(text), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def spelled_out(path):
    """a.{h,cc} as a.h and a.cc."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if braces is None:
        return [path]
    return [name for choice in braces.group(1).split(",")
            for name in spelled_out(path[:braces.start()] + choice + path[braces.end():])]


def broken_link(page, target, with_anchor):
    """What is wrong with a link; empty if it leads somewhere."""
    path, _, anchor = target.partition("#")
    where = os.path.join(os.path.dirname(page), path) if path else page
    if not os.path.exists(where):
        return "no such file"
    if with_anchor and anchor and where.endswith(".md") and anchor not in anchors(read(where)):
        return "no such heading"
    return ""


def paths_in(quoted):
    """The paths of this tree in a piece of code: the first words of a command may be others."""
    for word in quoted.split():
        if PATH.fullmatch(word):
            yield word


def check(root):
    problems = []

    def add(page, text, position, what):
        number = text.count("\n", 0, position) + 1
        problems.append("%s:%d: %s" % (os.path.relpath(page, root), number, what))

    records = pages(root, RECORDS)
    for page in pages(root, PAGES) + records:
        text = without_blocks(read(page))
        for link in LINK.finditer(text):
            target = link.group(1)
            if ELSEWHERE.match(target):
                continue
            wrong = broken_link(page, target, with_anchor=page not in records)
            if wrong:
                add(page, text, link.start(), "%s: %s" % (target, wrong))
    for page in pages(root, PAGES):
        text = without_blocks(read(page))
        for quoted in QUOTED.finditer(text):
            for path in paths_in(quoted.group(1)):
                for name in spelled_out(path):
                    if not glob.glob(os.path.join(root, name)):
                        add(page, text, quoted.start(), "%s: no such file" % name)
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    problems = check(root)
    print("\n".join(problems) if problems else "%d pages" % len(pages(root, PAGES + RECORDS)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
