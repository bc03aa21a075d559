#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_log_lines.py on a small tree."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_log_lines

CODE = r"""
constexpr int kOfDecisions = 2;
// log_.Info("no message");
void f() {
  log_.Info("It begins", {{"port", 1}});
  log_.Verbose(kOfDecisions, "Pod (\"p\") is "
               "placed", {{"pod", p}});
  log_.Error(failed, status);
  options_.warn(absl::StrCat(kind, " is left out: ", status.message()));
  return absl::NotFoundError("no such thing");
}
"""
ROWS = ['| 0 | `It begins` | a | b |', '| 2 | `Pod ("p") is placed` | a | b |', '| W | `… is left out: …` | a | b |']


class CheckLogLines(unittest.TestCase):
    def problems(self, page_rows, code=CODE):
        page = "# A\n### Log lines\n\n| level | text |\n|---|---|\n%s\n\n## B\n| W | `other` |\n" % "\n".join(page_rows)
        with tempfile.TemporaryDirectory() as root:
            for path, content in {"docs/operations.md": page, "src/process/a.cc": code}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(content)
            return check_log_lines.check(root)

    def test_all_are_there(self):
        self.assertEqual([], self.problems(ROWS))

    def test_a_message_without_a_row(self):
        self.assertEqual(["src/process/a.cc: no row 0 for `It begins` in docs/operations.md"], self.problems(ROWS[1:]))

    def test_another_level(self):
        self.assertEqual(["src/process/a.cc: no row 0 for `It begins` in docs/operations.md"],
                         self.problems(["| 4 | `It begins` | a | b |"] + ROWS[1:]))

    def test_a_row_that_nothing_logs(self):
        self.assertEqual(["docs/operations.md: nothing logs `It ends`"], self.problems(ROWS + ["| E | `It ends` | a | b |"]))

    def test_a_row_for_a_status_that_is_logged(self):
        self.assertEqual([], self.problems(ROWS + ["| W | `…: no such thing` | a | b |"]))

    def test_no_table(self):
        self.assertIn("docs/operations.md: no table below ### Log lines", self.problems([]))


if __name__ == "__main__":
    unittest.main()
