# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed, stopped or interrupted: a row with a cause, soon, and nothing left.

A worker that is to be hit in a phase holds itself there (GDRBENCH_TEST_HOLD, see
tests/faults/main.cpp), so that the signal meets it at that point and not roughly there.
"""

import os
import signal
import time

from gdr import GDRBENCH, PING_PONG, BenchTest, children_of, until

SIGNALS = ["TERM", "INT", "HUP", "KILL", "SEGV", "ABRT"]
# These end a worker in order: it says itself that it was told to stop.
POLITE = {"TERM", "INT", "HUP"}


def number(name):
    return getattr(signal, f"SIG{name}")


def held(label, side, phase, transport="loopback", **options):
    hold = {"GDRBENCH_TEST_HOLD": f"{side}:{phase}"}
    return {transport: {"label": label, "env": hold, **options}}


class WorkerKilled(BenchTest):
    """Every signal, on either side, in every phase."""

    def hit_each(self, side, phase):
        victims = [held(f"hit-{name}", side, phase) for name in SIGNALS]
        running = self.start([*victims, "loopback"], out=f"{side}-{phase}")
        seen, slowest = 0, 0
        for name in SIGNALS:
            seen = running.wait_for_line(f"^start .* hit-{name}/", after=seen)
            pid = running.stopped_worker()
            hit = time.monotonic()
            os.kill(pid, number(name))
            if name != "KILL":  # that one needs no waking, and it may be gone by now
                os.kill(pid, signal.SIGCONT)
            seen = running.wait_for_line(f"^end hit-{name}/", after=seen)
            slowest = max(slowest, time.monotonic() - hit)
        self.assertLess(slowest, 5)
        return running.wait(), self.document(f"{side}-{phase}")

    def check(self, side, phase):
        ended, document = self.hit_each(side, phase)
        self.assertEqual(ended.code, 1, str(ended))
        self.assert_outcome(document.row("loopback"), "ok")
        for name in SIGNALS:
            with self.subTest(signal=name):
                self.check_row(document.row(f"hit-{name}"), side, phase, name)

    def check_row(self, row, side, phase, name):
        outcome = row["outcome"]
        if outcome["kind"] == "ok" and phase == "finish" and name in POLITE:
            return  # it had all that was asked of it, and handed it over before it left
        self.assert_outcome(row, "failed", side)
        first = outcome["errors"][0]
        self.assertEqual((first["side"], first["phase"]), (side, phase), outcome)
        self.assertEqual(first["error"]["native_code"], number(name), outcome)
        if name not in POLITE:
            self.assertIn(phase, outcome["reason"])
            self.assertEqual(first["error"]["code"], "crash")

    def test_initiator_in_setup(self):
        self.check("initiator", "setup")

    def test_responder_in_setup(self):
        self.check("responder", "setup")

    def test_initiator_in_connect(self):
        self.check("initiator", "connect")

    def test_responder_in_connect(self):
        self.check("responder", "connect")

    def test_initiator_in_warm_up(self):
        self.check("initiator", "warm-up")

    def test_responder_in_warm_up(self):
        self.check("responder", "warm-up")

    def test_initiator_in_measure(self):
        self.check("initiator", "measure")

    def test_responder_in_measure(self):
        self.check("responder", "measure")

    def test_initiator_in_finish(self):
        self.check("initiator", "finish")

    def test_responder_in_finish(self):
        self.check("responder", "finish")

    def test_while_closing_the_result_stands_and_a_note_tells(self):
        for side in ("initiator", "responder"):
            ended, document = self.hit_each(side, "close")
            self.assertEqual(ended.code, 0, str(ended))
            for name in SIGNALS:
                with self.subTest(side=side, signal=name):
                    row = document.row(f"hit-{name}")
                    self.assert_outcome(row, "ok")
                    notes = " ".join(row["runs"][0]["notes"])
                    if name not in POLITE:
                        self.assertIn(side, notes)
                        self.assertIn(f"signal {int(number(name))}", notes)


class WorkerKilledOverOthers(BenchTest):
    """In the middle of the traffic of the real transports."""

    def check_transport(self, transport, **options):
        slow = {transport: {"label": "victim", **options}}
        for side in (0, 1):
            out = f"{transport}-{side}"
            running = self.start([slow, "loopback"], out=out, program=GDRBENCH,
                                 stop={"iterations": 100_000_000}, timeout="20s")
            seen = running.wait_for_line("^start .* victim/")
            for each in ("initiator", "responder"):
                running.wait_for_line(f"^phase {each} measure", after=seen)
            os.kill(running.workers()[side], signal.SIGKILL)
            hit = time.monotonic()
            running.wait_for_line("^end victim/", after=seen)
            self.assertLess(time.monotonic() - hit, 5)
            running.signal(signal.SIGINT)  # the second row would go on until its timeout
            self.assertEqual(running.wait().code, 130)
            row = self.document(out).row("victim")
            self.assert_outcome(row, "failed", ("initiator", "responder")[side], "signal 9", "measure")

    def test_loopback(self):
        self.check_transport("loopback")

    def test_tcp(self):
        self.check_transport("tcp")

    def test_libfabric_over_tcp(self):
        self.check_transport("libfabric", provider="tcp", op="send")

    def test_libfabric_over_shm(self):
        self.check_transport("libfabric", provider="shm", op="send")


class WorkerStalled(BenchTest):
    def test_a_stopped_side_is_a_timeout_that_says_where_both_were(self):
        for side, phase in (("initiator", "measure"), ("responder", "measure"), ("responder", "connect"),
                            ("initiator", "setup")):
            with self.subTest(side=side, phase=phase):
                out = f"{side}-{phase}"
                transports = [held("stopped", side, phase), "loopback"]
                document = self.measure(transports, code=1, timeout="3s", out=out)
                row = document.row("stopped")
                self.assert_outcome(row, "failed")
                errors = row["outcome"]["errors"]
                self.assertEqual(errors[0]["error"]["code"], "timeout", errors)
                for words in (side, phase):
                    self.assertIn(words, row["outcome"]["reason"])
                self.assert_outcome(document.row("loopback"), "ok")
                self.assertLess(self.ended.seconds, 12)

    def test_a_side_that_goes_on_but_never_answers(self):
        transports = [{"faulty": {"label": "stalled", "stall_after": 50}}, "loopback"]
        document = self.measure(transports, code=1, timeout="2s")
        row = document.row("stalled")
        self.assert_outcome(row, "failed")
        self.assertEqual(row["outcome"]["errors"][0]["error"]["code"], "timeout")
        self.assert_outcome(document.row("loopback"), "ok")


class ConductorStopped(BenchTest):
    SLOW = {"faulty": {"label": "slow", "delay": "10ms"}}

    def start_slow(self, **settings):
        running = self.start(["loopback", self.SLOW, "tcp"], timeout="60s", **settings)
        seen = running.wait_for_line("^start .* slow/")
        running.wait_for_line("^phase initiator measure", after=seen)
        return running

    def test_interrupted_keeps_what_is_finished(self):
        for name in ("INT", "TERM", "HUP"):
            with self.subTest(signal=name):
                running = self.start_slow(out=name, config=f"{name}.yaml")
                hit = time.monotonic()
                running.signal(number(name))
                ended = running.wait(20)
                self.assertEqual(ended.code, 130, str(ended))
                self.assertLess(time.monotonic() - hit, 5)
                document = self.document(name)
                self.assertEqual(document.data["status"], "interrupted")
                self.assert_outcome(document.row("loopback"), "ok")
                self.assertIn("loopback", ended.out)
                self.assertNotEqual(document.row("slow")["outcome"]["kind"], "ok")
                self.assertNotEqual(document.row("tcp")["outcome"]["kind"], "ok")

    def test_interrupted_twice_ends_at_once(self):
        running = self.start(["loopback", held("stuck", "initiator", "measure")], timeout="60s")
        running.stopped_worker()
        running.signal(signal.SIGINT)
        time.sleep(0.2)
        hit = time.monotonic()
        running.signal(signal.SIGINT)
        self.assertEqual(running.wait(20).code, 130)
        self.assertLess(time.monotonic() - hit, 2)

    def test_killed_leaves_a_journal_that_can_be_reported(self):
        running = self.start_slow()
        workers = running.workers()
        self.assertEqual(len(workers), 2)
        running.signal(signal.SIGKILL)
        running.wait(10)
        until(lambda: not self.marked(), 5, "workers of a killed conductor are gone")
        self.assertFalse((self.folder / "out/results.json").exists())
        ended = self.command("report", self.folder / "out/results.jsonl", "--format", "json")
        self.assertEqual(ended.code, 0, str(ended))
        data = self.parse(ended.out)
        self.validate(data)
        self.assertEqual(data["status"], "aborted")
        done = next(row for row in data["rows"] if row["label"] == "loopback")
        self.assertEqual(done["outcome"]["kind"], "ok")
        self.assertIsNotNone(done["headline"]["p50_ns"])

    def test_a_torn_journal_can_be_reported(self):
        self.measure(["loopback", "tcp"])
        whole = (self.folder / "out/results.jsonl").read_bytes()
        self.write("torn.jsonl", "")
        (self.folder / "torn.jsonl").write_bytes(whole[:-40])
        ended = self.command("report", "torn.jsonl")
        self.assertEqual(ended.code, 0, str(ended))
        self.assertIn("loopback", ended.out)

    def test_killed_with_its_workers_and_run_again(self):
        transports = ["loopback", "tcp", {"libfabric": {"provider": "shm", "op": "send"}}]
        running = self.start(transports, program=GDRBENCH, stop={"iterations": 100_000_000})
        seen = running.wait_for_line("^start .* loopback/")
        running.wait_for_line("^phase responder measure", after=seen)
        victims = children_of(running.pid)
        running.signal(signal.SIGKILL)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        running.wait(10)
        document = self.measure(transports, program=GDRBENCH, out="again")
        self.assertEqual(len(document.rows), 3)

    def test_what_a_killed_run_left_in_shared_memory_goes_with_the_next(self):
        gone = self.command("--version") and self.conductors[-1]
        stale = f"/dev/shm/gdrbench-{gone}-12345-1-x"
        mine = f"/dev/shm/gdrbench-{os.getpid()}-other"
        for path in (stale, mine):
            with open(path, "w", encoding="ascii") as file:
                file.write("x")
        try:
            document = self.measure(["loopback"], [PING_PONG])
            self.assertFalse(os.path.exists(stale))
            self.assertTrue(os.path.exists(mine), "not a name that gdrbench gives")
            self.assertIn(os.path.basename(stale), " ".join(document.data["notes"]))
        finally:
            for path in (stale, mine):
                if os.path.exists(path):
                    os.unlink(path)
