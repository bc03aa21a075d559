#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of the container image are enough for the command: what config/deploy/image_root lays out becomes the root of a
process that is nobody, as in the image.

    image_test.py BERTH

As root it runs there with the image's user; as somebody else, in a user namespace, with that user's own number.
"""
import os
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BERTH = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else os.path.join(TREE, "build/release/berth")
DEPLOY = os.path.join(TREE, "config", "deploy")
NOBODY = 65532  # of config/deploy/Dockerfile


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="berth-image-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = os.path.join(folder.name, "image")
        os.makedirs(cls.root)
        subprocess.run([os.path.join(DEPLOY, "image_root"), BERTH, cls.root], check=True)
        os.chmod(folder.name, 0o755)

    def run_there(self, *arguments, text=""):
        chroot = ["/usr/sbin/chroot", "--userspec=%d:%d" % (NOBODY, NOBODY), self.root]
        if os.geteuid() != 0:
            chroot = ["unshare", "--user", "--map-root-user", "/usr/sbin/chroot", self.root]
        return subprocess.run([*chroot, "/usr/bin/berth", *arguments], input=text, capture_output=True, text=True, env={})

    def expect(self, wanted, *arguments, text=""):
        done = self.run_there(*arguments, text=text)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, wanted)

    def test_the_command_runs_and_says_the_same(self):
        here = subprocess.run([BERTH, "version"], check=True, capture_output=True, text=True)
        self.expect(here.stdout, "version")

    def test_it_reads_the_configurations_that_are_shipped(self):
        for base in ("second-scheduler", "replacement"):
            path = os.path.join(DEPLOY, "kustomize", base, "scheduler.yaml")
            here = subprocess.run([BERTH, "validate", path], check=True, capture_output=True, text=True)
            with open(path) as f, open(os.path.join(self.root, "etc", "berth", "scheduler.yaml"), "w") as there:
                there.write(f.read())
            self.expect(here.stdout.replace(path, "/etc/berth/scheduler.yaml"), "validate", "/etc/berth/scheduler.yaml")

    def test_a_wrong_configuration_is_refused_with_its_line(self):
        done = self.run_there("validate", "-", text="apiVersion: kubescheduler.config.k8s.io/v1\n"
                                                    "kind: KubeSchedulerConfiguration\nprofile: []\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(":3:1:", done.stdout + done.stderr)

    def test_it_has_what_tls_needs_and_says_what_is_missing(self):
        self.assertTrue(os.path.getsize(os.path.join(self.root, "etc/ssl/certs/ca-certificates.crt")) > 0)
        done = self.run_there("run")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no kubeconfig is named", done.stdout + done.stderr)

    def test_nothing_there_is_the_user_s_but_tmp(self):
        writable = [path for path, _, _ in os.walk(self.root)
                    if os.stat(path).st_mode & 0o002 or os.stat(path).st_uid == NOBODY]
        self.assertEqual(writable, [os.path.join(self.root, "tmp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
