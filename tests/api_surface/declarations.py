#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what the installed headers declare, and compares it with the list kept beside this file, so that no
declaration that plugins and programs compile against goes or changes by accident.

    declarations.py            exit 1 if include/ declares something else than declarations.txt says
    declarations.py --update   writes declarations.txt

A line is a header, the scope and a declaration without its body. Private members, comments and preprocessor
lines are left out. docs/stability.md says what each part of the API promises.
"""
import difflib
import os
import re
import sys

HEADERS = "include"
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "declarations.txt")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|::|->|<<|&&|\S')
LEADS_A_SCOPE = re.compile(r"^(?:template <.*> )?(namespace|class|struct|union)\b(?!.*\()")


def tokens(text):
    text = re.sub(r'R"\((.*?)\)"', '""', text, flags=re.S)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    return TOKEN.findall(text)


def spelled(words):
    """The declaration on one line, spaced alike however it was laid out."""
    line = " ".join(words)
    line = re.sub(r" ?(::|->|\.|<(?!<)|\[|\() ?", r"\1", line)
    line = re.sub(r" ([,;)>\]])", r"\1", line)
    return re.sub(r"(\w)<(?=[\w:])", r"\1<", line).strip()


def skip_block(words, at):
    """The position behind the block that begins with the { at `at`."""
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(words[at], 0)
        at += 1
        if depth == 0:
            return at


def declarations(words):
    """Yields "scope: declaration" for all that is not private."""
    scopes = []  # [name, whether private]
    current, at = [], 0
    while at < len(words):
        word = words[at]
        hidden = any(private for _, private in scopes)
        if word in ("public", "protected", "private") and at + 1 < len(words) and words[at + 1] == ":" and not current:
            scopes[-1][1] = word == "private"
            at += 2
            continue
        if word == ";":
            if current and not hidden:
                yield "::".join(name for name, _ in scopes) + ": " + spelled(current)
            current, at = [], at + 1
            continue
        if word == "}":
            scopes.pop()
            at += 1
            current = []
            if at < len(words) and words[at] == ";":
                at += 1
            continue
        if word == "{":
            line = spelled(current)
            lead = LEADS_A_SCOPE.match(line)
            if lead and "=" not in current:
                kind = lead.group(1)
                names = [w for w in re.split(r" final| :(?!:)", line)[0].split() if re.match(r"[\w:]+$", w)]
                if kind != "namespace" and not hidden:
                    yield "::".join(name for name, _ in scopes) + ": " + line
                scopes.append([names[-1] if len(names) > 1 else "", kind == "class"])
                current, at = [], at + 1
                continue
            end = skip_block(words, at)
            if current and current[0] == "enum" or "=" in current:  # the values are part of it
                current += words[at:end]
                at = end
                continue
            follows = words[end] if end < len(words) else ""
            initialiser = "(" not in current or follows in (",", "{")
            if initialiser and follows in (";", ",", "{"):
                at = end  # `int x{}`, `: member_{…}`
                continue
            if current and not hidden:  # a function with its body
                head = re.split(r"(?<=[\w)]) : (?=\w+[({])", spelled(current))[0]
                yield "::".join(name for name, _ in scopes) + ": " + head
            current, at = [], end
            if follows == ";":
                at += 1
            continue
        current.append(word)
        at += 1


def surface(root):
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            if not name.endswith(".h"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                for line in declarations(tokens(f.read())):
                    yield os.path.relpath(path, root) + ": " + line


def main():
    found = list(surface(HEADERS))
    if not found:
        sys.exit("no header under " + HEADERS)
    if sys.argv[1:] == ["--update"]:
        with open(LIST, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in found)
        return
    with open(LIST, encoding="utf-8") as f:
        kept = f.read().splitlines()
    if found == kept:
        return
    for line in difflib.unified_diff(kept, found, "declarations.txt", "include/", lineterm="", n=0):
        print(line)
    sys.exit("The public API changed. If that is meant: python3 tests/api_surface/declarations.py --update, and for what "
             "breaks callers a line in CHANGELOG.md.")


if __name__ == "__main__":
    main()
