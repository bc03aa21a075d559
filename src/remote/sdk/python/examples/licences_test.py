# SPDX-License-Identifier: Apache-2.0
import unittest

from berth_plugin_test_kit import Scheduler, node, pod
from licences import ANNOTATION, LABEL, Licences


class LicencesTest(unittest.TestCase):
    def setUp(self):
        self.scheduler = Scheduler(Licences)
        self.scheduler.set_nodes(node("plain"), node("cad", {LABEL + "cad": "2"}))

    def test_a_pod_with_a_licence(self):
        rejections, _ = self.scheduler.evaluate(pod("p", {ANNOTATION: "cad"}))
        self.assertEqual(rejections, {"plain": "node(s) had no licence for cad", "cad": ""})

    def test_a_pod_without(self):
        rejections, scores = self.scheduler.evaluate(pod("p"))
        self.assertEqual(rejections, {"plain": "", "cad": ""})
        self.assertEqual(scores, {"plain": 100, "cad": 0})


if __name__ == "__main__":
    unittest.main()
