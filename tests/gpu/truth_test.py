# SPDX-License-Identifier: Apache-2.0
"""The comparison of known truth with verdicts, without GPUs and without the program."""

import unittest

import truth


def row(label, path, verdict=None, size=64, by="", kind="ok", observations=(), reason=""):
    found = {"label": label, "path": path, "size_bytes": size, "outcome": {"kind": kind, "reason": reason},
             "runs": [{"observations": list(observations)}]}
    if verdict:
        found["path_verdict"] = {"verdict": verdict, "by": by, "reasons": ["as it was seen"]}
    return found


def class_of(label, group=0):
    return next(kind for kind in truth.GROUPS[group].classes if kind.label == label)


def group_of(name):
    return next(group for group in truth.GROUPS if group.name == name)


def judged(label, verdict, by="", **more):
    kind = class_of(label)
    return truth.judge("g", kind, 64, row(label, kind.path, verdict, by=by, **more), True)


class States(unittest.TestCase):
    def test_each_pair_of_expected_and_found(self):
        for expected, found, state in [
            ("direct (nvlink)", "direct (nvlink)", truth.RIGHT), ("direct (nvlink)", "direct", truth.MISS),
            ("direct (nvlink)", "direct (same-gpu)", truth.WRONG), ("direct (nvlink)", "staged", truth.WRONG),
            ("direct (nvlink)", "unproved", truth.MISS), ("direct (nvlink)", "conflict", truth.WRONG),
            ("direct (nvlink)", "n/a", truth.WRONG),
            ("staged", "staged", truth.RIGHT), ("staged", "direct (nvlink)", truth.WRONG),
            ("staged", "direct", truth.WRONG), ("staged", "unproved", truth.MISS),
            ("staged", "conflict", truth.WRONG), ("staged", "n/a", truth.WRONG),
            ("n/a", "n/a", truth.RIGHT), ("n/a", "staged", truth.WRONG), ("n/a", "direct", truth.WRONG),
            ("n/a", "unproved", truth.MISS),
        ]:
            with self.subTest(expected=expected, found=found):
                self.assertEqual(truth.state_of(expected, found), state)


class Lines(unittest.TestCase):
    def test_a_right_row_needs_no_reasons(self):
        line = judged("nccl", "direct", by="nvlink")
        self.assertEqual((line.state, line.found, line.reasons), (truth.RIGHT, "direct (nvlink)", ()))

    def test_a_miss_has_the_reasons_of_the_verdict_and_what_is_known_of_the_class(self):
        line = judged("libfabric:shm", "unproved")
        self.assertEqual(line.state, truth.MISS)
        self.assertEqual(line.reasons, ("as it was seen", truth.NO_WORD, truth.FEW_BYTES))

    def test_a_wrong_row_has_its_reasons(self):
        self.assertEqual(judged("nccl-shm", "direct", by="nvlink").reasons, ("as it was seen",))

    def test_recorded_copies_contradict_the_class_that_stages_by_kernels(self):
        copies = [{"id": "copy.records", "outcome": "staged"}]
        self.assertEqual(judged("nccl-shm", "staged", observations=copies).state, truth.WRONG)
        none = [{"id": "copy.records", "outcome": "neutral"}]
        self.assertEqual(judged("nccl-shm", "staged", observations=none).state, truth.RIGHT)
        self.assertEqual(judged("tcp", "staged", observations=copies).state, truth.RIGHT)

    def test_what_did_not_run_is_no_miss_and_counts_unless_libfabric_was_not_given(self):
        group = truth.GROUPS[0]
        for label, given, counts in [("nccl", False, True), ("libfabric:shm", True, True),
                                     ("libfabric:shm", False, False)]:
            kind = class_of(label)
            failed = row(label, kind.path, kind="failed", reason="no such thing")
            for each in (failed, None):
                line = truth.judge(group.name, kind, 64, each, given)
                self.assertEqual((line.state, line.counts), (truth.NOT_RUN, counts))
                self.assertEqual(len(line.reasons), 1)

    def test_a_wrong_row_counts_even_where_it_was_not_asked_for(self):
        kind = class_of("libfabric:tcp/send")
        line = truth.judge("g", kind, 64, row(kind.label, kind.path, "direct"), False)
        self.assertEqual((line.state, line.counts), (truth.WRONG, True))
        self.assertFalse(truth.good([line]))


class OneGpu(unittest.TestCase):
    def test_groups_of_one_gpu_need_no_second(self):
        for group in truth.GROUPS:
            text = " ".join(group.sets)
            other = "cuda:1" in text or not any(each.startswith("memory=") for each in group.sets)
            self.assertEqual(group.gpus, 2 if other else 1, group.name)

    def test_there_are_enough_classes_on_one_gpu(self):
        classes = [kind for group in truth.GROUPS if group.gpus < 2 for kind in group.classes]
        self.assertGreaterEqual(len(classes), 12)
        for expected in (truth.SAME_GPU, truth.STAGED, truth.OWN_HOST, truth.NOT_APPLICABLE):
            self.assertGreaterEqual(sum(1 for kind in classes if kind.expected == expected), 2, expected)

    def test_the_base_is_one_of_the_group(self):
        for group in truth.GROUPS:
            bases = [each.removeprefix("base=") for each in group.sets if each.startswith("base=")]
            for base in bases:
                self.assertIn(base, [kind.label for kind in group.classes])

    def test_what_nothing_can_prove_is_open_when_missed_and_judged_otherwise(self):
        kind = next(each for each in group_of("one GPU").classes if each.open)
        for verdict, by, state in [("unproved", "", truth.OPEN), ("direct", "same-gpu", truth.RIGHT),
                                   ("staged", "", truth.WRONG), ("conflict", "", truth.WRONG),
                                   ("direct", "nvlink", truth.WRONG)]:
            line = truth.judge("g", kind, 64, row(kind.label, kind.path, verdict, by=by), True)
            self.assertEqual(line.state, state, verdict)
            self.assertEqual(truth.good([line]), state != truth.WRONG)
        line = truth.judge("g", kind, 64, row(kind.label, kind.path, "unproved"), True)
        self.assertEqual(line.reasons, ("as it was seen", truth.NO_LINK))
        self.assertIn("0 right, 0 missed, 0 wrong, 0 not run, 1 open, 0 left out", truth.table([line]))
        self.assertEqual(truth.judge("g", kind, 64, None, True).state, truth.NOT_RUN)

    def test_a_gpu_and_its_own_host(self):
        for name in ("GPU to host", "host to GPU"):
            kind, = group_of(name).classes
            for verdict, by, state in [("direct", "", truth.RIGHT), ("direct", "nvlink", truth.WRONG),
                                       ("staged", "", truth.WRONG), ("unproved", "", truth.MISS)]:
                line = truth.judge(name, kind, 64, row(kind.label, kind.path, verdict, by=by), False)
                self.assertEqual(line.state, state)


class Tables(unittest.TestCase):
    def all_lines(self, with_libfabric, change=lambda kind, row: row):
        lines = []
        for group in truth.GROUPS:
            rows = []
            for kind in group.classes:
                verdict, _, by = kind.expected.rstrip(")").partition(" (")
                rows += [change(kind, row(kind.label, kind.path, verdict, size, by)) for size in truth.SIZES]
            lines += truth.compare(group, rows, with_libfabric)
        return lines

    def test_the_truth_is_good(self):
        lines = self.all_lines(True)
        self.assertTrue(truth.good(lines), truth.table(lines))
        self.assertIn(f"{len(lines)} right, 0 missed, 0 wrong, 0 not run, 0 open, 0 left out", truth.table(lines))

    def test_one_unproved_row_is_not_good_and_its_reasons_are_printed(self):
        def unproved(kind, each):
            if (kind.label, each["size_bytes"]) == ("nccl:graph", 4 << 20):
                each["path_verdict"] = {"verdict": "unproved", "by": "", "reasons": ["no log line"]}
            return each

        lines = self.all_lines(True, unproved)
        self.assertFalse(truth.good(lines))
        self.assertIn("because no log line", truth.table(lines))
        self.assertIn("1 missed, 0 wrong", truth.table(lines))

    def test_every_class_is_there_at_every_size(self):
        lines = truth.compare(truth.GROUPS[0], [], True)
        self.assertEqual(len(lines), len(truth.GROUPS[0].classes) * len(truth.SIZES))
        self.assertEqual({line.state for line in lines}, {truth.NOT_RUN})
        self.assertFalse(truth.good(lines))

    def test_there_are_enough_classes_of_every_truth(self):
        classes = [kind for group in truth.GROUPS for kind in group.classes]
        self.assertGreaterEqual(len(classes), 12)
        for expected in (truth.DIRECT, truth.STAGED, truth.SAME_GPU, truth.NOT_APPLICABLE):
            self.assertGreaterEqual(sum(1 for kind in classes if kind.expected == expected), 2)


class Doctor(unittest.TestCase):
    GOOD = [("gpu 0", "possible", "the GPU's side is able: GPUDirect RDMA yes, dma-buf yes"),
            ("gpu 1", "possible", "the GPU's side is able: GPUDirect RDMA yes, dma-buf yes"),
            ("gpu 0 - gpu 1", "possible", ""),
            ("GPUDirect RDMA", "not possible here", "there is no RDMA device")]

    ONE = [GOOD[0], GOOD[3]]

    def problems(self, conclusions, code=0, gpus=2):
        words = ("subject", "verdict", "why")
        return truth.doctor_problems({"conclusions": [dict(zip(words, each)) for each in conclusions]}, code,
                                     gpus)

    def test_two_gpus_and_no_rdma_device(self):
        self.assertEqual(self.problems(self.GOOD), [])

    def test_each_conclusion_is_needed(self):
        for index in range(len(self.GOOD)):
            rest = [each for at, each in enumerate(self.GOOD) if at != index]
            self.assertEqual(len(self.problems(rest)), 1)
            other = (self.GOOD[index][0], "unknown", "something")
            self.assertEqual(len(self.problems([*rest, other])), 1)
        self.assertEqual(len(self.problems(self.GOOD, code=3)), 1)

    def test_one_gpu_is_able_and_makes_no_path(self):
        self.assertEqual(self.problems(self.ONE, code=3, gpus=1), [])
        self.assertEqual(len(self.problems(self.ONE, code=0, gpus=1)), 1)
        self.assertEqual(len(self.problems(self.ONE[:1], code=3, gpus=1)), 1)
        self.assertEqual(len(self.problems(self.ONE[1:], code=3, gpus=1)), 1)
        self.assertEqual(len(self.problems([*self.ONE, self.GOOD[2]], code=3, gpus=1)), 1)


if __name__ == "__main__":
    unittest.main()
