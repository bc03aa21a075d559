#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_definitions.py on small trees."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_definitions


class CheckDefinitions(unittest.TestCase):
    def problems(self, a, b):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"src/a/a.h": a, "src/b/b.cc": b}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)))
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            return check_definitions.check(root)[1]

    def test_two_classes_of_one_name(self):
        a = "namespace berth {\n\nclass Log {\n};\n\n}  // namespace berth\n"
        for b in ("namespace berth {\nstruct Log final : Base<int> {\n};\n}  // namespace berth\n",
                  "namespace berth {\ntemplate <class T>\nclass Log : public Base,\n            Other {\n};\n}  // namespace berth\n",
                  "namespace berth {\nnamespace cel {\nclass X {\n};\n}  // namespace cel\nclass ABSL_LOCKABLE Log {\n};\n"
                  "}  // namespace berth\n"):
            self.assertEqual(["berth::Log: defined in src/a/a.h and src/b/b.cc"], self.problems(a, b), b)

    def test_what_is_not_the_same_class(self):
        a = "namespace berth {\nclass Log {\n  class Line;\n};\n}  // namespace berth\n"
        for b in ("namespace berth {\nclass Log;\n}  // namespace berth\n",
                  "namespace berth {\nclass Log::Line final : Base {\n};\n}  // namespace berth\n",
                  "namespace berth {\nnamespace cel {\nclass Log {\n};\n}  // namespace cel\n}  // namespace berth\n",
                  "namespace berth {\nnamespace {\n\nclass Log {\n};\n\n}  // namespace\n}  // namespace berth\n",
                  "namespace berth::cel {\nclass Log {\n};\n}  // namespace berth::cel\n"):
            self.assertEqual([], self.problems(a, b), b)


if __name__ == "__main__":
    unittest.main()
