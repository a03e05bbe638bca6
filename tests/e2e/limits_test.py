# SPDX-License-Identifier: Apache-2.0
"""Requests at the edges: honoured exactly, or refused in the row that asked for them."""

import socket

from gdr import GDRBENCH, PING_PONG, QUICK, BenchTest


def ping_pong(*sizes):
    return {"ping-pong": {"sizes": list(sizes)}}


def stream(**options):
    return {"stream": {"sizes": ["64B"], **options}}


class Sizes(BenchTest):
    def test_odd_and_small_sizes(self):
        sizes = [1, 2, 3, 63, 65, 4095, 65537, 1048577]
        document = self.measure(["loopback", "tcp"], [ping_pong(*sizes)])
        self.assertEqual({row["size_bytes"] for row in document.data["rows"]}, set(sizes))
        for row in document.data["rows"]:
            self.assertEqual(row["check"]["bytes"], row["check"]["messages"] * row["size_bytes"])

    def test_more_than_the_memory_fails_that_row_only(self):
        document = self.measure(["loopback"], [ping_pong("64B", "100TiB", "1KiB")], code=1)
        self.assertEqual(len(document.rows), 3)
        for row in document.data["rows"]:
            if row["size_bytes"] == 100 << 40:
                self.assert_outcome(row, "failed", "memory")
                self.assertEqual(row["outcome"]["errors"][0]["error"]["code"], "no_memory")
            else:
                self.assert_outcome(row, "ok")


class Counts(BenchTest):
    def only_run(self, document):
        (row,) = document.data["rows"]
        (run,) = row["runs"]
        return row, run

    def test_no_iterations_is_refused(self):
        config = self.config(["loopback"], stop={"iterations": 0})
        self.assert_usage_error(self.command("run", config), "iterations")

    def test_one_iteration(self):
        for pattern in (ping_pong("64B"), stream(window=8, batch=2)):
            with self.subTest(pattern=pattern):
                out = f"out-{next(iter(pattern))}"
                document = self.measure(["loopback"], [pattern], stop={"iterations": 1}, out=out)
                _, run = self.only_run(document)
                self.assertEqual(run["messages"], 1)

    def test_far_too_many_iterations_end_with_the_timeout_and_say_how_far_they_got(self):
        document = self.measure(["loopback"], stop={"iterations": 5_000_000_000}, timeout="5s", code=1,
                                seconds=20)
        row, run = self.only_run(document)
        self.assert_outcome(row, "failed")
        self.assertEqual(row["outcome"]["errors"][0]["error"]["code"], "timeout")
        self.assertGreater(run["messages"], 0)
        self.assertLess(self.ended.seconds, 12)
        self.assertIn(str(run["messages"]), row["outcome"]["reason"] + self.ended.out)

    def test_window_above_the_iterations_is_reported_as_it_was(self):
        document = self.measure(["loopback"], [stream(window=64, batch=16)], stop={"iterations": 10})
        row, run = self.only_run(document)
        self.assertEqual(run["messages"], 10)
        self.assertLessEqual(row["window"], 10)
        self.assertLessEqual(row["batch"], row["window"])
        self.assertEqual(dict(self.facts(row["requested"]))["window"], "64")

    @staticmethod
    def facts(value):
        return value.items() if isinstance(value, dict) else value

    def test_iterations_that_are_no_multiple_of_the_batch(self):
        patterns = [stream(window=[1, 4, 16], batch=1, direction=["uni", "bi"]),
                    stream(window=[8, 16], batch=[3, 7, 8], direction=["uni", "bi"])]
        for iterations in (7, 50, 1001):
            with self.subTest(iterations=iterations):
                document = self.measure(["loopback"], patterns, stop={"iterations": iterations},
                                        out=f"out-{iterations}")
                self.assertEqual(len(document.rows), 18)
                for row in document.data["rows"]:
                    ways = 2 if row["direction"] == "bi" else 1
                    self.assertEqual(row["runs"][0]["messages"], iterations, row["id"])
                    self.assertEqual(row["runs"][0]["rate"]["messages"], iterations * ways, row["id"])

    def test_no_warm_up(self):
        document = self.measure(["loopback"], warmup=dict(QUICK["warmup"], max_time="0s"))
        _, run = self.only_run(document)
        self.assertEqual((run["warmup_messages"], run["messages"]), (0, 200))
        self.assertGreater(run["first_message_ns"], 0)

    def test_percentiles_have_a_floor(self):
        document = self.measure(["loopback"], stop={"iterations": 300})
        _, run = self.only_run(document)
        self.assertIsNone(run["latency"]["p99_ns"])
        self.assertIsNotNone(run["latency"]["p90_ns"])
        document = self.measure(["loopback"], stop={"iterations": 400}, out="more")
        _, run = self.only_run(document)
        self.assertIsNotNone(run["latency"]["p99_ns"])
        self.assertIsNone(run["latency"]["p999_ns"])

    def test_verification_that_is_off_is_visible(self):
        document = self.measure(["loopback"], verify="off")
        row, _ = self.only_run(document)
        self.assertEqual((row["check"]["mode"], row["check"]["messages"]), ("off", 0))
        self.assertRegex(self.ended.out, r"(?i)off|not checked|unchecked")


class Fabrics(BenchTest):
    def test_provider_that_does_not_exist(self):
        transports = ["loopback", {"libfabric": {"provider": "nosuch", "op": "send"}}]
        document = self.measure(transports, code=self.code_of_absence(), program=GDRBENCH)
        (row,) = (row for row in document.data["rows"] if row["transport"] == "libfabric")
        self.assertNotEqual(row["outcome"]["kind"], "ok")
        self.assertIn("nosuch", row["outcome"]["reason"])
        self.assert_outcome(document.row("loopback"), "ok")

    @staticmethod
    def code_of_absence():
        return 1

    def test_a_variable_that_fights_the_configuration_does_not_change_what_runs_silently(self):
        transports = [{"libfabric": {"provider": "tcp", "op": "send", "label": "ofi"}}]
        config = self.config(transports)
        ended = self.command("run", config, "--out", self.folder / "out", env={"FI_PROVIDER": "shm"})
        self.assertIn(ended.code, (0, 1), str(ended))
        row = self.document().row("ofi")
        if row["outcome"]["kind"] == "ok":
            self.assertIn("tcp", dict(Counts.facts(row["effective"])).get("provider", ""))
        else:
            self.assertIn("FI_PROVIDER", row["outcome"]["reason"] + str(row["outcome"]["errors"]))

    def test_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            document = self.measure(["loopback", {"tcp": {"port": port, "label": "tcp"}}], code=1)
        self.assert_outcome(document.row("tcp"), "failed", str(port), "in use")
        self.assert_outcome(document.row("loopback"), "ok")

    def test_settings_of_one_case_do_not_leak_into_the_next(self):
        transports = [{"loopback": {"label": "a", "env": {"GDRBENCH_TEST_HOLD": "nobody:never"}}},
                      {"loopback": {"label": "b"}}]
        document = self.measure(transports)
        requested = {row["label"]: dict(Counts.facts(row["requested"])) for row in document.data["rows"]}
        self.assertIn("env GDRBENCH_TEST_HOLD", requested["a"])
        self.assertNotIn("env GDRBENCH_TEST_HOLD", requested["b"])

    def test_ping_pong_over_everything_that_needs_no_device(self):
        transports = ["null", "loopback", "tcp", {"libfabric": {"provider": "tcp", "op": "send"}},
                      {"libfabric": {"provider": "shm", "op": "send"}}]
        document = self.measure(transports, [PING_PONG, stream(window=8)], program=GDRBENCH)
        self.assertEqual(len(document.rows), 10)
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
