# SPDX-License-Identifier: Apache-2.0
import unittest

from berth.v1 import plugin_pb2 as v1
from berth_plugin_test_kit import Scheduler, node, pod
from spare import LABEL, Spare


class SpareTest(unittest.TestCase):
    def setUp(self):
        self.scheduler = Scheduler(Spare)
        self.scheduler.set_nodes(node("tainted"), node("full"), node("busy"))
        self.scheduler.set_pods("tainted", pod("a", labels={LABEL: "true"}))
        self.scheduler.set_pods("full", pod("b"), pod("c", labels={LABEL: "true"}))
        self.codes = {"tainted": v1.UNSCHEDULABLE_AND_UNRESOLVABLE, "full": v1.UNSCHEDULABLE, "busy": v1.UNSCHEDULABLE}

    def test_a_spare_pod_makes_room(self):
        self.assertEqual(self.scheduler.post_filter(pod("p"), self.codes), ("full", ["Pod/default/c"]))

    def test_there_is_none(self):
        self.scheduler.set_pods("full", pod("b"))
        self.assertEqual(self.scheduler.post_filter(pod("p"), self.codes), "no pod is spare")

    def test_a_spare_pod_makes_no_other_go(self):
        self.assertEqual(self.scheduler.post_filter(pod("p", labels={LABEL: "true"}), self.codes), "")


if __name__ == "__main__":
    unittest.main()
