# SPDX-License-Identifier: Apache-2.0
import unittest

from berth_plugin import Plugin, unschedulable
from berth_plugin_test_kit import Scheduler, node, pod


class OfTeam(Plugin):
    """Pods of a team on the node that is called so; others anywhere but there."""

    name, version = "example.com/of-team", "1.0"
    filtered = []

    def pre_filter(self, asked, nodes):
        team = asked.metadata.labels.get("team")
        return {team, "elsewhere"} if team else None

    def filter(self, asked, of_node):
        self.filtered.append(of_node.name)
        return unschedulable("full") if of_node.name == "full" else None


class PreFilterTest(unittest.TestCase):
    def setUp(self):
        OfTeam.filtered.clear()
        self.scheduler = Scheduler(OfTeam)
        self.scheduler.set_nodes(node("red"), node("blue"), node("full"))

    def test_names_nodes(self):
        rejections, _ = self.scheduler.evaluate(pod("p", labels={"team": "red"}))
        self.assertEqual(rejections, {"red": "", "blue": "not eligible", "full": "not eligible"})
        self.assertEqual(OfTeam.filtered, ["red"])
        rejections, _ = self.scheduler.evaluate(pod("p", labels={"team": "full"}))
        self.assertEqual(rejections, {"red": "not eligible", "blue": "not eligible", "full": "full"})

    def test_names_none(self):
        rejections, _ = self.scheduler.evaluate(pod("p"))
        self.assertEqual(rejections, {"red": "", "blue": "", "full": "full"})


if __name__ == "__main__":
    unittest.main()
