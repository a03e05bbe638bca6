# SPDX-License-Identifier: Apache-2.0
"""A transport that damages what it carries is caught, wherever it does; one that is only slow is
measured as that slow."""

from gdr import BenchTest

SIZES = ["1B", "64B", "4KiB", "65539B"]
BYTES = [1, 64, 4096, 65539]
PING_PONG = {"ping-pong": {"sizes": SIZES}}
UNI = {"stream": {"sizes": SIZES, "window": 8, "batch": 2, "direction": "uni"}}
BI = {"stream": {"sizes": SIZES, "window": 8, "batch": 2, "direction": "bi"}}


def faulty(**options):
    return {"faulty": options}


class Corruption(BenchTest):
    def assert_caught(self, row, side, *words):
        self.assert_outcome(row, "failed")
        errors = row["outcome"]["errors"]
        self.assertEqual(errors[0]["error"]["code"], "data", f"{row['id']}: {errors}")
        self.assertEqual(errors[0]["side"], side, f"{row['id']}: {errors}")
        for word in words:
            self.assertRegex(row["outcome"]["reason"], word, row["id"])

    def test_one_byte_in_every_pattern_direction_and_size(self):
        for side, patterns in (("responder", [PING_PONG, UNI, BI]), ("initiator", [PING_PONG, BI])):
            document = self.measure([faulty(side=side, flip_message=30)], patterns, code=1, out=side)
            self.assertEqual(len(document.rows), len(patterns) * len(SIZES))
            other = {"initiator": "responder", "responder": "initiator"}[side]
            for row in document.data["rows"]:
                self.assert_caught(row, side, rf"{other} sent in the {side}'s memory", "message 30", r"offset 0\b|byte 0\b")

    def test_the_last_byte(self):
        document = self.measure([faulty(side="responder", flip_message=17, flip_byte=1 << 30)],
                                [PING_PONG, UNI], code=1)
        for row in document.data["rows"]:
            self.assert_caught(row, "responder", "message 17", rf"\b{row['size_bytes'] - 1}\b")

    def test_after_the_warm_up(self):
        document = self.measure([faulty(side="responder", flip_message=150)], [PING_PONG, UNI, BI], code=1)
        for row in document.data["rows"]:
            self.assert_caught(row, "responder", "message 150")

    def test_an_initiator_that_receives_nothing_has_nothing_to_damage(self):
        self.measure([faulty(side="initiator", flip_message=30)], [UNI], code=0)

    def test_two_messages_that_changed_places(self):
        # From 64 bytes on: two messages of one byte may be equal, and then nothing is wrong.
        larger = [{name: dict(options, sizes=SIZES[1:]) for name, options in pattern.items()}
                  for pattern in (PING_PONG, UNI, BI)]
        document = self.measure([faulty(side="responder", swap=30)], larger, code=1)
        for row in document.data["rows"]:
            self.assert_caught(row, "responder", "message 3[01]")

    def test_arrival_told_twice(self):
        document = self.measure([faulty(side="responder", duplicate=30)], [PING_PONG, UNI, BI], code=1)
        for row in document.data["rows"]:
            self.assert_caught(row, "responder", "twice")

    def test_message_lost(self):
        few = [{name: dict(options, sizes=["1B"]) for name, options in pattern.items()}
               for pattern in (PING_PONG, UNI, BI)]
        document = self.measure([faulty(side="responder", drop=30)], few, code=1, timeout="1s")
        self.assertEqual(len(document.rows), 3)
        for row in document.data["rows"]:
            self.assert_outcome(row, "failed")
            self.assertEqual(row["outcome"]["errors"][0]["error"]["code"], "timeout", row["outcome"])

    def test_neighbours_told_in_another_order_are_fine(self):
        # Completion order is not promised; the bytes are each in their own slot.
        self.measure([faulty(reorder=True), faulty(short_submit=True, label="short")],
                     [PING_PONG, UNI, BI], code=0)

    def test_a_sample_of_the_messages_is_called_a_sample(self):
        document = self.measure([faulty()], [UNI], code=0, verify="sample")
        for row in document.data["rows"]:
            self.assertEqual(row["check"]["mode"], "sample")
            self.assertGreater(row["check"]["messages"], 0)


class Delays(BenchTest):
    SMALL = {"ping-pong": {"sizes": ["64B"]}}

    def test_delay_at_both_sides_is_in_the_round_trip_and_half_of_it_in_the_latency(self):
        document = self.measure([faulty(delay="1ms")], [self.SMALL], timeout="60s")
        (row,) = document.data["rows"]
        # The fastest one: on a busy machine the median says more about the machine.
        self.assertGreaterEqual(row["headline"]["min_ns"], 2e6)
        self.assertLess(row["headline"]["min_ns"], 3e6)
        (record,) = self.csv_rows((self.folder / "out/results.csv").read_text())
        trip = row["headline"]["p50_ns"]["value"]
        self.assertAlmostEqual(float(record["latency_p50_ns"]), trip / 2, delta=1)

    def test_delay_at_one_side_counts_once(self):
        document = self.measure([faulty(delay="1ms", side="responder")], [self.SMALL])
        headline = document.data["rows"][0]["headline"]
        self.assertGreaterEqual(headline["min_ns"], 1e6)
        self.assertLess(headline["min_ns"], 1.9e6)

    def test_slow_first_messages_are_over_before_measuring(self):
        transport = faulty(delay="1s", delay_first=3, side="responder")
        warmup = {"messages": 10, "min_time": "0s", "max_time": "10s"}
        document = self.measure([transport], [self.SMALL], warmup=warmup)
        run = document.data["rows"][0]["runs"][0]
        self.assertGreaterEqual(run["warmup_messages"], 10)
        self.assertGreaterEqual(run["first_message_ns"], 1e9)
        self.assertLess(run["latency"]["max_ns"], 1e9)
        # A single slow one among the 200 would add 5 ms.
        self.assertLess(run["latency"]["mean_ns"], 5e6)

    def test_without_warm_up_they_are_measured(self):
        transport = faulty(delay="50ms", delay_first=3, side="responder")
        document = self.measure([transport], [self.SMALL], warmup={"max_time": "0s"})
        latency = document.data["rows"][0]["runs"][0]["latency"]
        self.assertGreaterEqual(latency["max_ns"], 50e6)
        self.assertGreaterEqual(latency["mean_ns"], 3 * 50e6 / 200)

    def test_delay_in_a_stream_is_in_its_rate(self):
        stream = {"stream": {"sizes": ["64B"], "window": 1, "batch": 1}}
        document = self.measure([faulty(delay="1ms", side="responder")], [stream])
        self.assertGreater(document.data["rows"][0]["headline"]["messages_per_s"], 0)
