# SPDX-License-Identifier: Apache-2.0
"""Runs one after the other and side by side."""

from gdr import GDRBENCH, PING_PONG, STREAM, BenchTest


class Repeated(BenchTest):
    def test_twenty_short_runs_in_a_row(self):
        for index in range(20):
            document = self.measure(["loopback", "tcp"], [PING_PONG, STREAM], code=0, out=f"out-{index}",
                                    program=GDRBENCH)
            self.assertEqual(len(document.rows), 4)

    def test_two_runs_at_once(self):
        transports = ["loopback", "tcp", {"libfabric": {"provider": "shm", "op": "send"}}]
        runs = [self.start(transports, [PING_PONG, STREAM], out=name, config=f"{name}.yaml", rounds=2,
                           program=GDRBENCH) for name in ("first", "second")]
        for name, running in zip(("first", "second"), runs):
            ended = running.wait(120)
            self.assertEqual(ended.code, 0, str(ended))
            self.assertEqual(len(self.document(name).rows), 6)

    def test_rounds_are_runs_of_their_own_in_alternating_order(self):
        document = self.measure(["loopback", "tcp"], rounds=3)
        order = sorted((run["position"], run["round"], row["label"])
                       for row in document.data["rows"] for run in row["runs"])
        self.assertEqual([label for _, _, label in order],
                         ["loopback", "tcp", "tcp", "loopback", "loopback", "tcp"])
        self.assertEqual([position for position, _, _ in order], list(range(6)))
        for row in document.data["rows"]:
            self.assertIsNotNone(row["headline"]["p50_ns"]["interval"])
