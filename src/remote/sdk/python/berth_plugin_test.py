# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest

from berth.v1 import plugin_pb2 as v1
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


class Raising(Plugin):
    name, version = "example.com/raising", "1.0"
    raises = "score"

    def filter(self, asked, of_node):
        if self.raises == "filter":
            raise RuntimeError("no verdict")
        return unschedulable("full") if of_node.name == "full" else None

    def score(self, asked, of_node):
        if of_node.name == "full":
            raise AssertionError("the score of a node that is rejected does not count")
        return {"score": None, "high": 1 << 70}.get(self.raises, 7)

    def bind(self, asked, node_name):
        raise RuntimeError("no node")


class RaisingTest(unittest.TestCase):
    """What a plugin raises is an ERROR of that call, and other calls go on."""

    def evaluate(self, raises):
        Raising.raises = raises
        scheduler = Scheduler(Raising)
        scheduler.set_nodes(node("red"), node("full"))
        question = v1.Evaluate(id=1, revision=1, pod=pod("p"), points=scheduler.description.points)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            answer = scheduler.session.handle(v1.ToPlugin(evaluate=question)).evaluation
        return answer, errors.getvalue()

    def test_nothing(self):
        answer, errors = self.evaluate("")
        self.assertEqual((answer.status.code, answer.score_status.code, list(answer.scores), errors),
                         (v1.SUCCESS, v1.SUCCESS, [7, 0], ""))

    def test_in_filter(self):
        answer, errors = self.evaluate("filter")
        self.assertEqual((answer.status.code, answer.rejected), (v1.ERROR, b""))
        self.assertIn("no verdict", answer.status.reasons[0])
        self.assertIn("Traceback", errors)

    def test_in_score(self):
        for raises in "score", "high":
            answer, _ = self.evaluate(raises)
            self.assertEqual((answer.status.code, answer.score_status.code), (v1.SUCCESS, v1.ERROR), raises)
            self.assertEqual((answer.rejected, answer.scores), (bytes([2]), b""))

    def test_in_a_call(self):
        session = Scheduler(Raising).session
        with contextlib.redirect_stderr(io.StringIO()):
            result = session.handle(v1.ToPlugin(call=v1.PodCall(id=2, point=v1.CALL_BIND, pod=pod("p"), node="red"))).call
        self.assertEqual((result.id, result.status.code), (2, v1.ERROR))


if __name__ == "__main__":
    unittest.main()
