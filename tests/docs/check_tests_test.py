#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_tests.py on a small folder."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_tests

ALL = "berth_test(NAME queue DEPS berth_queue)\n"


class CheckTests(unittest.TestCase):
    def problems(self, path, cmake=ALL, module="queue"):
        files = {"src/queue/backoff.cc": "", "src/app/convert.cc": "", "include/berth/columns/match_rows.h": "",
                 "src/table/node_table.cc": "", "plugins/gpu/gpu.h": "", path: "", "tests/%s/CMakeLists.txt" % module: cmake}
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                    f.write(text)
            return [problem.split(": ")[1].split(";")[0] for problem in check_tests.check(root)]

    def test_beside_its_source(self):
        for path in ("tests/queue/backoff_test.cc", "tests/queue/backoff_property_test.cc"):
            self.assertEqual([], self.problems(path))
        self.assertEqual([], self.problems("tests/plugins/gpu/gpu_test.cc", module="plugins"))
        self.assertEqual([], self.problems("tests/table/match_rows_test.cc", module="table"))
        self.assertEqual([], self.problems("tests/app/convert/convert_test.cc", module="app"))

    def test_in_another_place(self):
        missing = ["no source of that name"]
        self.assertEqual(missing, self.problems("tests/queue/groups_test.cc"))
        self.assertEqual(missing, self.problems("tests/queue/convert_test.cc"))
        self.assertEqual(missing, self.problems("tests/plugins/gpu/backoff_test.cc", module="plugins"))

    def test_of_several_files(self):
        self.assertEqual([], self.problems("tests/queue/behaviour/groups_test.cc"))
        self.assertEqual([], self.problems("tests/plugins/every_plugin_test.cc", module="plugins"))
        self.assertEqual([], self.problems("tests/scenarios/scenarios_test.cc", module="scenarios"))

    def test_in_no_target(self):
        some = "berth_test(NAME queue SOURCES other_test.cc DEPS berth_queue)\n"
        self.assertEqual(["is in no target"], self.problems("tests/queue/backoff_test.cc", some))
        self.assertEqual([], self.problems("tests/queue/backoff_test.cc", some.replace("other", "backoff")))
        self.assertEqual([], self.problems("tests/queue/backoff_test.cc", "file(GLOB sources *.cc)\n" + some))


if __name__ == "__main__":
    unittest.main()
