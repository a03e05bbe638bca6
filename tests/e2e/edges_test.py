# SPDX-License-Identifier: Apache-2.0
"""Where other tools broke: every combination finishes, nothing is rounded, lost or left unsaid."""

import os
import pathlib
import subprocess
import unittest

from gdr import FAULTY, GDRBENCH, PING_PONG, STREAM, BenchTest

SOURCE = pathlib.Path(os.environ["GDRBENCH_SOURCE"])


def ping_pong(*sizes):
    return {"ping-pong": {"sizes": list(sizes)}}


def stream(**options):
    return {"stream": {"sizes": ["64B"], **options}}


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


class Grid(BenchTest):
    def test_every_count_window_and_batch_finishes_with_exactly_that_count(self):
        patterns = [stream(window=[1, 2, 16, 64, 100, 1000]), stream(window=[16, 64, 100, 1000], batch=[7, 16])]
        for iterations in (2, 5, 99, 100, 101, 1000, 1001):
            document = self.measure(["loopback"], patterns, stop={"iterations": iterations},
                                    out=f"out-{iterations}", warmup={"max_time": "0s"}, timeout="10s")
            self.assertEqual(len(document.rows), 14)
            for row in document.data["rows"]:
                self.assertEqual(row["runs"][0]["messages"], iterations, row["id"])
                self.assertLessEqual(row["window"], max(iterations, 1), row["id"])

    def test_small_messages_in_small_windows_both_ways_are_all_checked(self):
        sizes = [f"{size}B" for size in (1, 2, 3, 8, 16)]
        patterns = [{"stream": {"sizes": sizes, "window": [1, 2, 3, 4], "direction": ["uni", "bi"]}}]
        document = self.measure(["tcp"], patterns, stop={"iterations": 50}, warmup={"max_time": "0s"})
        self.assertEqual(len(document.rows), 40)
        for row in document.data["rows"]:
            self.assertEqual(row["check"]["messages"], row["check"]["received"], row["id"])
            self.assertGreaterEqual(row["check"]["messages"], 50 * (2 if row["direction"] == "bi" else 1))

    def test_one_document_has_all_rows(self):
        sizes = [f"{1 << shift}B" for shift in range(10)]
        document = self.measure(["null", "loopback", "tcp"], [ping_pong(*sizes)], warmup={"max_time": "0s"})
        self.assertEqual(len(document.rows), 30)
        rows = self.csv_rows((self.folder / "out/results.csv").read_text())
        self.assertEqual(len(rows), 30)


class Stopping(BenchTest):
    def test_by_time_or_by_count_the_figures_are_the_same(self):
        by_count = self.measure(["loopback"], stop={"iterations": 5000}, out="count")
        by_time = self.measure(["loopback"], stop={"min_time": "30ms", "max_time": "60ms"}, out="time")
        runs = [document.row("loopback")["runs"][0] for document in (by_count, by_time)]
        self.assertEqual(runs[0]["stop_reason"], "iterations")
        self.assertIn(runs[1]["stop_reason"], ("precision", "max_time", "noise_floor"))
        for run in runs:
            given = {key for key, value in run["latency"].items() if value is not None}
            self.assertLessEqual({"n", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "mean_ns"}, given)

    def test_very_short_times(self):
        document = self.measure(["loopback"], [PING_PONG, STREAM], stop={"min_time": "0s", "max_time": "1ms"})
        for row in document.data["rows"]:
            self.assertGreater(row["runs"][0]["messages"], 0)


class Huge(BenchTest):
    def test_a_message_above_2_gib_is_moved_and_checked_whole(self):
        size = (1 << 31) + 1
        if available_memory() < 14 << 30:
            self.skipTest("less than 14 GiB of memory are available")
        document = self.measure(["loopback"], [ping_pong(f"{size}B")], stop={"iterations": 1},
                                warmup={"max_time": "0s"}, timeout="270s", seconds=290)
        row = document.row("loopback")
        self.assertEqual((row["size_bytes"], row["runs"][0]["messages"]), (size, 1))
        self.assertEqual(row["check"]["bytes"], 2 * size)


class Storage(BenchTest):
    def test_a_place_where_no_folder_can_be(self):
        ended = self.command("run", self.config(["null"]), "--out", "/proc/nowhere/out")
        self.assertIn(ended.code, (1, 2), str(ended))
        self.assertIn("/proc/nowhere/out", ended.err)

    def test_a_full_disk_loses_files_but_not_the_report(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or subprocess.call(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk]) != 0:
            self.skipTest("cannot mount a small file system")
        try:
            config = self.config(["loopback"], [PING_PONG, STREAM], rounds=3)
            ended = self.command("run", config, "--out", disk / "out")
        finally:
            subprocess.check_call(["umount", disk])
        self.assertEqual(ended.code, 1, str(ended))
        self.assertIn("No space left on device", ended.err)
        self.assertIn("loopback", ended.out)

    def test_a_worker_that_crashes_at_row_3_of_5_leaves_the_other_four(self):
        transports = ["loopback", "tcp", {"faulty": {"crash_after": 50, "crash_signal": 11, "label": "crashes"}},
                      {"loopback": {"label": "fourth"}}, {"tcp": {"label": "fifth"}}]
        document = self.measure(transports, code=1)
        kinds = {row["label"]: row["outcome"]["kind"] for row in document.data["rows"]}
        self.assertEqual(kinds.pop("crashes"), "failed")
        self.assertEqual(set(kinds.values()), {"ok"}, kinds)
        self.assertIn("signal 11", document.row("crashes")["outcome"]["reason"])

    def test_failed_rows_are_in_no_figure(self):
        transports = ["loopback", {"faulty": {"flip_message": 150, "label": "damaged"}}]
        document = self.measure(transports, code=1, expect={"max_p50": "10s"})
        row = document.row("damaged")
        self.assert_outcome(row, "failed")
        self.assertEqual({value for value in row["headline"].values() if value is not None}, set())
        (record,) = (r for r in self.csv_rows((self.folder / "out/results.csv").read_text())
                     if r["label"] == "damaged")
        self.assertEqual((record["p50_ns"], record["latency_p50_ns"]), ("", ""))


class Configurations(BenchTest):
    """The files in configs/."""

    def test_each_has_a_plan(self):
        names = {path.name for path in (SOURCE / "configs").rglob("*.yaml")} - {"defaults.yaml"}
        self.assertIn("local.yaml", names)
        for path in (SOURCE / "configs").rglob("*.yaml"):
            if path.name in names:
                with self.subTest(path=path):
                    ended = self.command("run", path, "--plan")
                    self.assertEqual(ended.code, 0, str(ended))

    def test_local_raises_no_false_alarm(self):
        ended = self.command("run", SOURCE / "configs/local.yaml", "--out", self.folder / "out", "--set", "rounds=1",
                             "--set", "stop.max_time=110ms")
        self.assertEqual(ended.code, 0, str(ended))
        for row in self.document().data["rows"]:
            self.assertEqual(row["check"]["messages"], row["check"]["received"], row["id"])
            self.assertEqual(row["check"]["mode"], "none" if row["transport"] == "null" else "all")

    def test_reference_is_what_the_program_prints(self):
        printed = self.command("config-reference").out
        self.assertEqual((SOURCE / "configs/README.md").read_text(), printed,
                         "configs/README.md is stale: gdrbench config-reference > configs/README.md")


class Providers(BenchTest):
    """What libfabric makes of a name is said, and a variable that changes it is named."""

    def fabric(self, provider, label="ofi"):
        return {"libfabric": {"provider": provider, "op": "send", "label": label}}

    def test_the_provider_in_effect_is_named(self):
        transports = [self.fabric(name, name) for name in ("tcp", "tcp;ofi_rxm", "sockets", "net", "shm")]
        document = self.measure(transports, program=GDRBENCH, timeout="60s")
        for row in document.data["rows"]:
            effective = dict(row["effective"])["provider"]
            self.assertEqual(effective.split(";")[0], row["label"].split(";")[0])
            if ";" in row["label"]:
                self.assertEqual(effective, row["label"])

    def test_names_that_are_not_usable_here_say_which_are(self):
        transports = [self.fabric(name, name) for name in ("ofi_rxm;tcp", "tpc")]
        document = self.measure(transports, code=1, program=GDRBENCH)
        for row in document.data["rows"]:
            self.assert_outcome(row, "failed", row["label"], "there are: ", "shm")

    def test_variables_of_the_library_that_rule_it_out_are_named(self):
        for value in ("sockets", "^tcp"):
            with self.subTest(value=value):
                document = self.measure([self.fabric("tcp")], code=1, program=GDRBENCH, out=f"out-{value}",
                                        env={"FI_PROVIDER": value})
                self.assert_outcome(document.row("ofi"), "failed", "FI_PROVIDER")

    def test_an_interface_that_there_is_not(self):
        transport = {"libfabric": {"provider": "tcp", "op": "send", "domain": "eno99", "label": "ofi"}}
        document = self.measure([transport], code=1, program=GDRBENCH)
        self.assert_outcome(document.row("ofi"), "failed", "eno99")

    def test_list_tells_built_from_usable(self):
        text = self.command("list").out
        self.assertRegex(text, r"(?m)^    shm +usable")
        self.assertRegex(text, r"(?m)^    verbs +(cannot be used|usable)")


class Cpus(BenchTest):
    def test_both_sides_on_one_cpu_finish_and_it_is_said(self):
        cpu = min(os.sched_getaffinity(0))
        document = self.measure(["loopback", "tcp"], [PING_PONG, STREAM],
                                cpus={"initiator": cpu, "responder": cpu})
        for row in document.data["rows"]:
            self.assertIn("one CPU", " ".join(row["runs"][0]["notes"]), row["id"])

    def test_one_cpu_is_enough(self):
        cpu = min(os.sched_getaffinity(0))
        config = self.config(["loopback", "tcp"], [PING_PONG, STREAM])
        ended = self.command("run", config, "--out", self.folder / "out", program=FAULTY,
                             preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.assertEqual(ended.code, 0, str(ended))


if __name__ == "__main__":
    unittest.main()
