#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""growth.py --count with a valgrind that makes up what it counts."""
import os
import subprocess
import sys
import tempfile
import unittest

GROWTH = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "growth", "growth.py")

# Says that the cluster's lines, to some power, are millions of instructions.
VALGRIND = """#!{python}
import sys
cluster = sys.argv[sys.argv.index("--cluster") + 1]
if {status}:
    sys.exit("the program ended")
with open(cluster) as lines:
    print("==1== Collected :", len(lines.readlines()) ** {power} * 1000000, file=sys.stderr)
"""


class Count(unittest.TestCase):
    def count(self, *arguments, power=1, status=0, valgrind=True):
        with tempfile.TemporaryDirectory() as folder:
            if valgrind:
                program = os.path.join(folder, "valgrind")
                with open(program, "w", encoding="utf-8") as out:
                    out.write(VALGRIND.format(python=sys.executable, power=power, status=status))
                os.chmod(program, 0o755)
            return subprocess.run([sys.executable, GROWTH, "--count", "--bin", folder, *arguments], check=False,
                                  env={**os.environ, "PATH": folder}, capture_output=True, text=True)

    def test_linear(self):
        done = self.count("unlike")
        # 20 nodes, 250 and 500 pods, less the one line of the least cluster.
        self.assertIn("| unlike | 250 | 269.0 | 519.0 | 1.93 |", done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_worse_than_linear(self):
        done = self.count("unlike", "gates", power=2)
        self.assertIn("| unlike | 250 | 72899.0 | 270399.0 | 3.71 |", done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertIn("more than 2.5 times for twice as many: unlike, gates", done.stderr)

    def test_other_limit(self):
        self.assertEqual(self.count("unlike", "--limit", "4", power=2).returncode, 0)

    def test_a_run_that_fails(self):
        done = self.count("unlike", status=1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("status 1\nthe program ended", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_without_valgrind(self):
        done = self.count("unlike", valgrind=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--count needs valgrind", done.stderr)


if __name__ == "__main__":
    unittest.main()
