#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_decisions.py on a small folder."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_decisions

A = "# 0001: A\n\n2026-11-21. Status: accepted.\n"
B = "# 0003: B\n\n2026-11-22. Status: accepted; adds to 0001.\n"
ROW_A = "| 0001 | [A](0001-a.md) | 2026-11-21 | accepted |\n"
ROW_OF_A_PAGE = "| 0002 | [P](../page.md#p) | 2026-11-21 | superseded |\n"
ROW_B = "| 0003 | [B](0003-b.md) | 2026-11-22 | accepted |\n"


class CheckDecisions(unittest.TestCase):
    def problems(self, rows, a=A, b=B):
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, check_decisions.FOLDER)
            os.makedirs(folder)
            for name, text in {"README.md": rows, "0001-a.md": a, "0003-b.md": b}.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            return check_decisions.check(root)

    def test_in_order(self):
        self.assertEqual([], self.problems(ROW_A + ROW_OF_A_PAGE + ROW_B))

    def test_twice_or_out_of_order(self):
        self.assertEqual(["README.md: 0001 stands after 0001"], self.problems(ROW_A + ROW_A + ROW_B))
        self.assertEqual(["README.md: 0001 stands after 0003"], self.problems(ROW_B + ROW_A))

    def test_missing(self):
        self.assertEqual(["README.md: no row links to 0003-b.md"], self.problems(ROW_A))

    def test_another_date(self):
        self.assertEqual(["README.md: 0003 is of 2026-11-22"],
                         self.problems(ROW_A + ROW_B.replace("11-22", "11-23")))

    def test_form(self):
        self.assertEqual(['0003-b.md: not of the form "# NNNN: title", "YYYY-MM-DD. Status: "'],
                         self.problems(ROW_A + ROW_B, b="# 0003: B\n\n2026-11-22. Accepted.\n"))
        self.assertEqual(["0001-a.md: it calls itself 0002"],
                         self.problems(ROW_A + ROW_B, a=A.replace("0001", "0002")))


if __name__ == "__main__":
    unittest.main()
