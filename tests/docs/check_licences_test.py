#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_licences.py on a small folder."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_licences


class CheckLicences(unittest.TestCase):
    def problems(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
            return [problem.split(":")[0] for problem in check_licences.check(root)]

    def test_named(self):
        self.assertEqual([], self.problems("src/a.cc", "// SPDX-License-Identifier: Apache-2.0\n"))

    def test_missing(self):
        self.assertEqual(["src/a.cc"], self.problems("src/a.cc", "int a;\n"))
        self.assertEqual(["src/CMakeLists.txt"], self.problems("src/CMakeLists.txt", ""))

    def test_too_far_down(self):
        self.assertEqual(["a.py"], self.problems("a.py", "#\n" * 400 + "# SPDX-License-Identifier: Apache-2.0\n"))

    def test_left_out(self):
        for path in ("docs/a.md", "tests/conformance/cases/a/config.yaml", "examples/manifests/a/pod.yaml"):
            self.assertEqual([], self.problems(path, "kind: Pod\n"))


if __name__ == "__main__":
    unittest.main()
