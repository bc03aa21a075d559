#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that "Log lines" in docs/operations.md has every message that `berth run` logs, with its level, and no other.

    check_log_lines.py [ROOT]

A row is `| LEVEL | `TEXT` | ... |`, with a `…` in TEXT for what differs from line to line. Every literal in the arguments of a
call that logs is in a row of its level. What a row says beside its `…` are literals of these sources: of a call, or of a status
that is logged with one. Calls that pass on a text from elsewhere have no literal.
"""
import glob
import os
import re
import sys

PAGE = "docs/operations.md"
HEADING = "### Log lines"
SOURCES = ["src/process/*.cc", "src/kubernetes/*.cc", "src/app/run_flags.cc"]
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')  # the compiler joins them
COMMENT = re.compile(r"^\s*//.*$", re.M)

# What stands before the arguments of a message, and its level; `verbosity` is that of the call. Try() and SaySoon() log what they
# are given, and so does a reader of `warnings`.
CALLS = [(re.compile(r"\blog_\.Error\("), "E"), (re.compile(r"\blog_\.Warning\("), "W"), (re.compile(r"\blog_\.Info\("), "0"),
         (re.compile(r"\blog_\.Verbose\(\s*(?P<verbosity>\w+)\s*,"), ""), (re.compile(r"\bTry\("), "E"),
         (re.compile(r"\bwarn_?\((?=\s*(?:absl::StrCat|\"))"), "W"), (re.compile(r"\bSaySoon\("), "W"),
         (re.compile(r"\bwarnings\.push_back\("), "W")]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def has_words(text):
    return re.search(r"[A-Za-z]{2}", text) is not None


def texts(code):
    """The literals in `code`, without those that are no words."""
    for found in LITERALS.finditer(code):
        text = re.sub(r"\\(.)", r"\1", "".join(LITERAL.findall(found.group())))
        if has_words(text):
            yield text


def arguments(code, begin):
    """What stands from `begin` to the parenthesis that closes the call. Fields of the line, in braces, are left out."""
    parentheses, braces, at, taken = 1, 0, begin, ""
    while True:
        literal = LITERAL.match(code, at)
        piece = literal.group() if literal else code[at]
        parentheses += (piece == "(") - (piece == ")")
        braces += (piece == "{") - (piece == "}")
        if parentheses == 0:
            return taken
        if braces == 0:
            taken += piece
        at += len(piece)


def messages(code):
    """(level, literals) of all calls that log."""
    numbers = dict(re.findall(r"constexpr int (k\w+) = (\d+);", code))
    for begins, level in CALLS:
        for call in begins.finditer(code):
            verbosity = call.groupdict().get("verbosity")
            yield level or numbers.get(verbosity, verbosity), list(texts(arguments(code, call.end())))


def rows(page):
    """(level, text) of the table below HEADING."""
    section = re.split(r"^#", page.partition(HEADING + "\n")[2], maxsplit=1, flags=re.M)[0]
    return re.findall(r"^\| ([EW\d]) \| `([^`]+)` \|", section, re.M)


def check(root):
    problems = []
    known = rows(read(os.path.join(root, PAGE)))
    said = set()
    for path in sorted(path for pattern in SOURCES for path in glob.glob(os.path.join(root, pattern))):
        code = COMMENT.sub("", read(path))
        said.update(texts(code))
        for level, literals in messages(code):
            said.add("".join(literals))
            for text in literals:
                if not any(of == level and text.strip() in row for of, row in known):
                    problems.append("%s: no row %s for `%s` in %s" % (os.path.relpath(path, root), level, text.strip(), PAGE))
    for level, row in known:
        for piece in (piece.strip(" :;,") for piece in row.split("…") if has_words(piece)):
            if not any(piece in text for text in said):
                problems.append("%s: nothing logs `%s`" % (PAGE, piece))
    if not known:
        problems.append("%s: no table below %s" % (PAGE, HEADING))
    return problems


def main():
    problems = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(problems) if problems else "every message has its row")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
