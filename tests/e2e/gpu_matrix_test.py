# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs, through the whole program, on GPUs that are not there."""

import os
import pathlib
import signal
import unittest

from gdr import BenchTest, process_stat, until

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
        settings = {"memory": pairs(gpus), "stop": {"iterations": 8}, **settings}
        return self.measure(transports, patterns, env={"GDRBENCH_TEST_GPUS": machine}, **settings)

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
        document = self.matrix("gpus=3 corrupt=0-1:17", 3, code=1, memory=self.between(3))
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
        errors = self.cell(document, "cuda:0 -> cuda:1")["outcome"]["errors"]
        self.assertEqual(errors[0]["error"]["native_code"], 719)
        self.assertIn("0000:10:00.0", errors[0]["error"]["tried"])
        self.assertIn("0000:11:00.0", errors[0]["error"]["tried"])
        # The other side is a thread of the same process: it hears of it, and is not called stuck.
        self.assertEqual([(each["side"], each["error"]["code"]) for each in errors],
                         [("initiator", "transport"), ("responder", "peer_lost")])

    # --- pairs at the same time --------------------------------------------------------------------

    def between(self, gpus):
        return [pair for pair in pairs(gpus) if "pinned" not in pair["src"] + pair["dst"]]

    def together(self, machine, memory, code=0, **settings):
        uni = {"stream": {"sizes": ["4KiB"], "window": 4, "direction": "uni"}}
        settings = {"pairs_at_once": ["one", "disjoint"], "stop": {"iterations": 16},
                    "witness": "off", "timeout": "60s", **settings}
        return self.measure([COPIES], [uni], env={"GDRBENCH_TEST_GPUS": machine}, memory=memory,
                            code=code, **settings)

    def test_eight_gpus_meet_in_rounds_of_four_pairs(self):
        document = self.together("gpus=8", self.between(8), pairs_at_once="disjoint")
        self.assertEqual(len(document.data["rows"]), 56)
        rounds = {}
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual(row["check"]["messages"], row["check"]["received"])
            self.assertEqual(row["pairs_beside"], 3)
            self.assertLessEqual(0, row["runs"][0]["company"])
            self.assertLessEqual(row["runs"][0]["company"], 1)
            rounds.setdefault(row["runs"][0]["started_s"], []).append(row["memory"])
        self.assertEqual(len(rounds), 14)
        for memories in rounds.values():
            ends = [end for memory in memories for end in memory.split(" -> ")]
            self.assertEqual(len(set(ends)), 8, memories)
        self.assertIn("in rounds of disjoint pairs at the same time", self.ended.out)

    def test_alone_and_in_rounds_stand_side_by_side(self):
        # Which cell is slow is told from figures that are given: tests/harness/report/matrix_test.
        document = self.together("gpus=4", self.between(4))
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual("to_alone" in row["headline"], "pairs_beside" in row, row["id"])
        self.assertRegex(self.ended.out, r"beside 1 other pair: \d+\.\d\d of what the same pair")
        self.assertEqual(self.ended.out.count("from \\ to"), 2)

    def test_three_gpus_have_no_disjoint_pairs(self):
        document = self.together("gpus=3", self.between(3), code=4)
        for row in document.data["rows"]:
            expected = "skipped" if row["id"].endswith("/disjoint") else "ok"
            self.assertEqual(row["outcome"]["kind"], expected, row["id"])
        self.assertIn("no other pair without a GPU in common", self.ended.out)

    def test_a_pair_that_fails_leaves_the_others_of_its_round(self):
        document = self.together("gpus=4 fail=0-1:719", self.between(4), code=1)
        rows = {row["id"].split("/", 1)[1]: row for row in document.data["rows"]}
        failed = [key for key, row in rows.items() if row["outcome"]["kind"] == "failed"]
        self.assertEqual(sorted(failed), sorted(key for key in rows if key.startswith("cuda:0-cuda:1/")))
        other = next(row for key, row in rows.items()
                     if key.startswith("cuda:2-cuda:3/") and key.endswith("/disjoint"))
        self.assertEqual(other["outcome"]["kind"], "ok")
        self.assertEqual(other["check"]["messages"], other["check"]["received"])

    def test_host_memory_to_all_gpus_at_once_and_back(self):
        memory = [pair for pair in pairs(3) if "pinned" in pair["src"] + pair["dst"]]
        document = self.together("gpus=3", memory, pairs_at_once="disjoint")
        beside = [row for row in document.data["rows"] if row.get("pairs_beside") == 2]
        self.assertEqual(len(beside), 6)
        started = {row["runs"][0]["started_s"] for row in beside}
        self.assertEqual(len(started), 2)

    def start_a_round(self, phase="measure", timeout="30s"):
        """Two pairs at the same time; both initiators stand still where they begin this phase."""
        memory = [{"src": "cuda:0", "dst": "cuda:1"}, {"src": "cuda:2", "dst": "cuda:3"}]
        held = {"cuda_copy": {"env": {"GDRBENCH_TEST_HOLD": f"initiator:{phase}"}}}
        running = self.start([held], [{"ping-pong": {"sizes": ["8B"]}}], memory=memory,
                             env={"GDRBENCH_TEST_GPUS": "gpus=4"}, pairs_at_once="disjoint",
                             witness="off", rounds=1, timeout=timeout, stop={"iterations": 64})

        def stopped():
            states = {pid: process_stat(pid) for pid in running.workers()}
            found = [pid for pid, stat in states.items() if stat and stat[0] == "T"]
            return found if len(found) == 2 else None

        return running, until(stopped, 30, f"two initiators that stand still: {running.lines}")

    def test_a_worker_killed_in_a_round_is_one_failed_row(self):
        running, initiators = self.start_a_round()
        os.kill(initiators[0], signal.SIGKILL)
        os.kill(initiators[1], signal.SIGCONT)
        ended = running.wait()
        self.assertEqual(ended.code, 1, str(ended))
        rows = {row["memory"]: row for row in self.document().data["rows"]}
        self.assert_outcome(rows["cuda:0 -> cuda:1"], "failed", "signal 9")
        self.assert_outcome(rows["cuda:2 -> cuda:3"], "ok")

    def test_a_side_that_stands_still_is_one_failed_row(self):
        running, initiators = self.start_a_round(timeout="8s")
        os.kill(initiators[1], signal.SIGCONT)
        ended = running.wait(30)
        self.assertEqual(ended.code, 1, str(ended))
        rows = {row["memory"]: row for row in self.document().data["rows"]}
        self.assert_outcome(rows["cuda:0 -> cuda:1"], "failed", "measure")
        self.assertEqual(rows["cuda:0 -> cuda:1"]["outcome"]["errors"][0]["error"]["code"], "timeout")
        self.assert_outcome(rows["cuda:2 -> cuda:3"], "ok")

    def test_who_is_not_ready_for_long_is_not_awaited(self):
        running, initiators = self.start_a_round(phase="connect", timeout="10s")
        os.kill(initiators[1], signal.SIGCONT)
        ended = running.wait(40)
        self.assertEqual(ended.code, 1, str(ended))
        rows = {row["memory"]: row for row in self.document().data["rows"]}
        self.assert_outcome(rows["cuda:0 -> cuda:1"], "failed", "connect")
        self.assert_outcome(rows["cuda:2 -> cuda:3"], "ok")
        notes = rows["cuda:2 -> cuda:3"]["runs"][0]["notes"]
        late = rows["cuda:0 -> cuda:1"]["id"]
        self.assertTrue(any("began without" in note and late in note for note in notes), notes)

    def test_an_interrupt_ends_all_of_a_round(self):
        running, initiators = self.start_a_round()
        running.signal(signal.SIGINT)
        for pid in initiators:
            os.kill(pid, signal.SIGCONT)
        ended = running.wait(20)
        self.assertEqual(ended.code, 130, str(ended))
        for row in self.document().data["rows"]:
            self.assert_outcome(row, "skipped", "interrupted")

    def test_the_shipped_configuration_says_that_there_is_no_gpu(self):
        ended = self.command("run", SOURCE / "configs/gpu-matrix.yaml", "--out", self.folder / "out")
        self.assertEqual(ended.code, 77, str(ended))
        self.assertIn("no NVIDIA GPU", ended.out)


if __name__ == "__main__":
    unittest.main()
