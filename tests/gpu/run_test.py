# SPDX-License-Identifier: Apache-2.0
"""What tests/gpu/run makes of the GPUs that there are, without any: counts, skips, exit status."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("gpu_run", str(HERE / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
loader.exec_module(run)


class Machine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def shows(self, gpus):
        """An nvidia-smi that lists so many."""
        smi = self.folder / "nvidia-smi"
        lines = "".join(f"echo 'GPU {each}: NVIDIA H200 (UUID: GPU-{each}{each}aa-bb)'\n"
                        "echo '  MIG 1g.18gb     Device  0: (UUID: MIG-77)'\n" for each in range(gpus))
        smi.write_text(f"#!/bin/sh\n{lines}")
        smi.chmod(0o755)

    def environment(self, visible):
        kept = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        kept["PATH"] = f"{self.folder}:/usr/bin:/bin"
        return mock.patch.dict(os.environ, kept | ({} if visible is None else
                                                   {"CUDA_VISIBLE_DEVICES": visible}), clear=True)

    def machine(self, gpus, visible=None):
        self.shows(gpus)
        words = types.SimpleNamespace(build=self.folder, out=self.folder / "out", libfabric="", set=[],
                                      fabtests="")
        with self.environment(visible):
            return run.Run(words)

    def printed(self, function, *words):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            function(*words)
        return text.getvalue()


class Count(Machine):
    def test_as_nvidia_smi_and_the_environment_say(self):
        self.shows(3)
        for visible, seen in [(None, "012"), ("", ""), ("-1", ""), ("0", "0"), ("2,0", "20"), ("0,-1,1", "0"),
                              ("0,7,1", "0"), ("GPU-11", "1"), ("GPU-11,GPU-00aa-bb", "10"), ("GPU-", ""),
                              ("1,1", "1"), ("0,1,2,3", "012")]:
            with self.subTest(visible=visible), self.environment(visible):
                self.assertEqual(run.gpus_of_this_host(), (3, list(seen)))

    def test_without_nvidia_smi_there_is_none(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            self.printed(lambda: self.assertEqual(run.gpus_of_this_host(), (0, [])))


class Skips(Machine):
    def test_a_skip_is_a_line_and_counted_apart(self):
        one = self.machine(1)
        self.assertEqual(self.printed(one.skip, "this"), "skipped  this: this host has one GPU\n")
        self.assertEqual(self.printed(one.skip, "that", "it takes two"),
                         "skipped  that: this host has one GPU, and it takes two\n")
        self.assertEqual(one.status(), 77)
        self.printed(one.check, True, "something")
        self.assertEqual(one.status(), 0)
        self.assertIn("0 failed, 2 skipped (one GPU);", one.summary())
        self.printed(one.check, False, "something else")
        self.assertEqual(one.status(), 1)

    def test_with_two_nothing_is_skipped_for_want_of_gpus(self):
        for gpus, visible in [(2, None), (8, "3,4")]:
            two = self.machine(gpus, visible)
            self.assertIn("FAILED this: skipped, though", self.printed(two.skip, "this"))
            self.assertEqual((two.status(), two.skips), (1, []))

    def test_one_of_many_is_one(self):
        self.assertEqual(self.machine(8, "5").gpus, 1)
        self.assertEqual(self.machine(8, "5").both, "cuda:0")
        self.assertEqual(self.machine(8).both, "{src: cuda:0, dst: cuda:1}")

    def test_with_two_only_what_takes_four_is_skipped(self):
        two = self.machine(2)
        self.assertEqual(self.printed(two.many), "skipped  pairs at the same time: this host has 2 GPUs, and "
                         "two pairs without a GPU in common take four\n")
        self.assertEqual(two.failures, [])
        self.assertIn("1 skipped (2 GPUs);", two.summary())

    def test_the_summary_tells_parts_that_held_from_those_that_were_skipped(self):
        one = self.machine(1)
        one.tests = lambda: one.check(True, "good")
        one.bench = lambda: one.skip("all of it")
        one.pair = lambda: (one.skip("a part of it"), one.check(False, "bad"))
        for part in ("tests", "bench", "pair"):
            self.printed(one.part, part)
        words = [line.split()[:2] for line in one.summary().splitlines()[2:5]]
        self.assertEqual(words, [["ok", "tests"], ["skipped", "bench"], ["FAILED", "pair"]])
        self.assertIn("1 failed, 1 skipped", one.summary())


class Groups(Machine):
    def test_truth_runs_what_one_gpu_can_show(self):
        for gpus in (1, 2):
            each = self.machine(gpus)
            seen = []
            each.truth_of = lambda group, seen=seen: seen.append(group.name) or []
            each.doctor = each.explain = lambda *words: None
            text = self.printed(each.truth)
            self.assertEqual(seen, [g.name for g in run.truth.GROUPS if g.gpus <= gpus])
            self.assertEqual(text.count("skipped  "), 2 if gpus == 1 else 0)


if __name__ == "__main__":
    unittest.main()
