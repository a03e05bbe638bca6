# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs, through the whole program, on GPUs that are not there."""

import os
import pathlib
import unittest

from gdr import BenchTest

SOURCE = pathlib.Path(os.environ["GDRBENCH_SOURCE"])
STREAM = {"stream": {"sizes": ["4KiB"], "window": 4, "direction": ["uni", "bi"]}}
COPIES = {"cuda_copy": {"processes": 1}}


def pairs(gpus):
    """All ordered pairs, and pinned memory near each GPU to it and back."""
    between = [(f"cuda:{a}", f"cuda:{b}") for a in range(gpus) for b in range(gpus) if a != b]
    for gpu in range(gpus):
        between += [(f"pinned:{gpu}", f"cuda:{gpu}"), (f"cuda:{gpu}", f"pinned:{gpu}")]
    return [{"src": source, "dst": destination} for source, destination in between]


class Matrix(BenchTest):
    def matrix(self, machine, gpus, transports=(COPIES,), patterns=(STREAM,), **settings):
        return self.measure(transports, patterns, env={"GDRBENCH_TEST_GPUS": machine},
                            memory=pairs(gpus), stop={"iterations": 8}, **settings)

    def cell(self, document, memory, direction="uni"):
        return next(row for row in document.data["rows"]
                    if (row["memory"], row["direction"]) == (memory, direction))

    def test_every_cell_is_measured_and_checked(self):
        document = self.matrix("gpus=2", 2)
        self.assertEqual(len(document.data["rows"]), 12)
        for row in document.data["rows"]:
            self.assertEqual(row["outcome"]["kind"], "ok", row["id"])
            self.assertGreater(row["check"]["messages"], 0)
            self.assertEqual(row["check"]["messages"], row["check"]["received"])
        self.assertIn("cuda_copy:1-process: stream of 4 KiB, one way, GB/s", self.ended.out)
        self.assertIn("both ways at once, the sum in GB/s", self.ended.out)
        self.assertIn("checked byte by byte", self.ended.out)

    def test_a_corrupt_link_is_one_cell_and_the_others_go_on(self):
        document = self.matrix("gpus=3 corrupt=0-1:17", 3, code=1)
        for row in document.data["rows"]:
            bad = row["memory"] == "cuda:0 -> cuda:1" or (
                row["memory"] == "cuda:1 -> cuda:0" and row["direction"] == "bi")
            self.assertEqual(row["outcome"]["kind"], "failed" if bad else "ok", row["id"])
        error = self.cell(document, "cuda:0 -> cuda:1")["outcome"]["errors"][0]["error"]
        self.assertEqual(error["code"], "data")
        self.assertIn("17", error["tried"] + error["native_text"])
        self.assertRegex(self.ended.out, r"cuda:0 -> cuda:1: FAILED: ")

    def test_pairs_without_peer_access_are_cells_with_a_cause(self):
        document = self.matrix("gpus=2 nopeer=0-1 nopeer=1-0", 2, code=4)
        self.assertEqual(self.cell(document, "cuda:0 -> cuda:1")["outcome"]["kind"], "skipped")
        self.assertIn("peer_access: false", str(self.cell(document, "cuda:0 -> cuda:1")["outcome"]))
        self.assertEqual(self.cell(document, "pinned:0 -> cuda:0")["outcome"]["kind"], "ok")

    def test_a_machine_with_one_gpu_has_host_memory_only(self):
        document = self.matrix("gpus=1", 1)
        self.assertEqual(len(document.data["rows"]), 4)
        self.assertIn("from \\ to", self.ended.out)

    def test_two_processes_and_what_they_cannot(self):
        document = self.matrix("gpus=2", 2, transports=["cuda_copy"], code=4)
        for row in document.data["rows"]:
            host = "pinned" in row["memory"]
            self.assertEqual(row["outcome"]["kind"], "skipped" if host else "ok", row["id"])
            if host:
                self.assertIn("processes: 1", str(row["outcome"]))

    def test_a_failing_copy_names_both_gpus(self):
        document = self.matrix("gpus=2 fail=0-1:719", 2, code=1)
        error = self.cell(document, "cuda:0 -> cuda:1")["outcome"]["errors"][0]["error"]
        self.assertEqual(error["native_code"], 719)
        self.assertIn("0000:10:00.0", error["tried"])
        self.assertIn("0000:11:00.0", error["tried"])

    def test_the_shipped_configuration_says_that_there_is_no_gpu(self):
        ended = self.command("run", SOURCE / "configs/gpu-matrix.yaml", "--out", self.folder / "out")
        self.assertEqual(ended.code, 77, str(ended))
        self.assertIn("no NVIDIA GPU", ended.out)


if __name__ == "__main__":
    unittest.main()
