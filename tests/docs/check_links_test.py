#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_links.py on a small tree."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_links


class CheckLinks(unittest.TestCase):
    def problems(self, text, page="docs/page.md"):
        with tempfile.TemporaryDirectory() as root:
            files = {"src/queue/queue.h": "", "src/queue/queue.cc": "",
                     "docs/other.md": "# A first (small) one\n", "docs/decisions/0001-a.md": ""}
            for path, content in {**files, page: text}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(content)
            return check_links.check(root)

    def test_what_exists(self):
        self.assertEqual([], self.problems(
            "[a](other.md), [b](other.md#a-first-small-one), [c](https://example.com/x), [d](#here)\n"
            "# Here\n`src/queue/queue.h` `src/queue/` `src/queue/queue.{h,cc}` `src/queue/*.cc`\n"
            "`cd src/queue/` `queue.h` `a/src/none.h`\n"))

    def test_links(self):
        self.assertEqual(["docs/page.md:2: none.md: no such file"], self.problems("\n[a](none.md)\n"))
        self.assertEqual(["docs/page.md:1: other.md#none: no such heading"],
                         self.problems("[a](other.md#none)\n"))
        self.assertEqual(["docs/page.md:1: other.m: no such file"],
                         self.problems("[over\ntwo lines](other.m)\n"))

    def test_paths(self):
        self.assertEqual(["docs/page.md:2: src/queue/none.h: no such file"],
                         self.problems("\nread `src/queue/none.h`\n"))
        self.assertEqual(["docs/page.md:1: src/queue/queue.py: no such file"],
                         self.problems("`src/queue/queue.{h,py}`\n"))
        self.assertEqual(["docs/page.md:1: tests/none: no such file"],
                         self.problems("`python3 tests/none --all`\n"))

    def test_code_blocks_are_left_out(self):
        self.assertEqual(["docs/page.md:4: src/none.h: no such file"],
                         self.problems("```sh\ncat src/none.h `src/none.h`\n```\n`src/none.h`\n"))

    def test_records_keep_what_held_at_their_date(self):
        self.assertEqual(["docs/decisions/0002-b.md:1: none.md: no such file"],
                         self.problems("`src/none.h` [a](none.md) [b](0001-a.md) [c](../other.md#none)\n",
                                       "docs/decisions/0002-b.md"))


if __name__ == "__main__":
    unittest.main()
