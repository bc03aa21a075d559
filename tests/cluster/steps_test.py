#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison of records, and the short forms of objects. Needs no cluster."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import steps  # noqa: E402


def record(placements, events=()):
    return [{"step": "s", "pods": {pod: {"node": node} for pod, node in placements.items()}, "nominations": {},
             "events": list(events)}]


class CompareTest(unittest.TestCase):
    def test_the_same_is_the_same(self):
        self.assertEqual(steps.compare(record({"p": "a"}), record({"p": "a"})), [])

    def test_another_node_is_a_difference(self):
        differences = steps.compare(record({"p": "a"}), record({"p": "b"}))
        self.assertIn("-s: pod p node a", differences)
        self.assertIn("+s: pod p node b", differences)

    def test_alike_nodes_may_change_places(self):
        wanted = record({"p": "a", "q": "b"}, ["Pod p Normal Scheduled Binding: Successfully assigned p to a"])
        found = record({"p": "b", "q": "a"}, ["Pod p Normal Scheduled Binding: Successfully assigned p to b"])
        self.assertEqual(steps.compare(wanted, found, [["a", "b"]]), [])

    def test_alike_nodes_change_places_everywhere_or_nowhere(self):
        wanted = record({"p": "a", "q": "b"})
        self.assertNotEqual(steps.compare(wanted, record({"p": "a", "q": "a"}), [["a", "b"]]), [])

    def test_pods_of_one_owner_may_change_places(self):
        wanted = record({"web.0": "a", "web.1": "b", "web.2": "a"})
        found = record({"web.0": "a", "web.1": "a", "web.2": "b"})
        self.assertEqual(steps.compare(wanted, found), [])
        self.assertNotEqual(steps.compare(wanted, record({"web.0": "a", "web.1": "a", "web.2": "a"})), [])

    def test_names_are_whole_words(self):
        self.assertEqual(steps.rename("a aa web.1 web.10 a-a", {"a": "b", "web.1": "web.2"}), "b aa web.2 web.10 a-a")

    def test_too_many_ways_are_an_error(self):
        found = record({"web.%d" % i: "a" for i in range(10)})
        with self.assertRaisesRegex(steps.ClusterError, "too many"):
            steps.compare(found, found)

    def test_a_state_that_was_not_reached_is_a_difference(self):
        missed = record({"p": "a"})
        missed[0]["never"] = ["p: placed"]
        self.assertIn("+s: p: placed is missed", steps.compare(record({"p": "a"}), missed))


class ShortFormTest(unittest.TestCase):
    def test_of_a_pod(self):
        pod = steps.make_pod(pod="p", cpu="1", requests={"example.com/gpu": "2"}, terminatesIn="3s", nodeName="a")
        self.assertEqual(pod["spec"]["containers"][0]["resources"],
                         {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}})
        self.assertEqual(pod["spec"]["nodeName"], "a")
        self.assertEqual(pod["metadata"]["annotations"], {"pod-delete.stage.kwok.x-k8s.io/delay": "3s"})

    def test_a_part_of_an_object(self):
        self.assertTrue(steps.contains({"status": {"phase": "Bound", "x": 1}}, {"status": {"phase": "Bound"}}))
        self.assertFalse(steps.contains({"status": {}}, {"status": {"phase": "Bound"}}))
        self.assertTrue(steps.contains({"status": {}}, {"status": {"phase": None}}))


if __name__ == "__main__":
    unittest.main()
