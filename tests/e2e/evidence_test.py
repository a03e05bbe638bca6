# SPDX-License-Identifier: Apache-2.0
"""What the whole program says about the path of the bytes, and what it must never say."""

import json

from gdr import GDRBENCH, PING_PONG, STREAM, BenchTest

ON_GPUS = {"src": "cuda:0", "dst": "cuda:1"}


class Evidence(BenchTest):
    def on_gpus(self, transports, patterns=(PING_PONG,), memory=None, **settings):
        return self.measure(transports, patterns, memory=memory or ON_GPUS,
                            env={"GDRBENCH_TEST_GPUS": "gpus=2"}, **settings)

    def seen(self, run, witness):
        return [each for each in run.get("observations", []) if each["id"] == witness]

    def test_who_stages_in_silence_is_never_called_direct(self):
        sizes = [{"ping-pong": {"sizes": ["8B", "64KiB"]}},
                 {"stream": {"sizes": ["64KiB"], "window": 4, "direction": ["uni", "bi"]}}]
        transports = [{"silent_stager": {"label": "silent"}},
                      {"silent_stager": {"label": "liar", "lies": True}}]
        document = self.on_gpus(transports, sizes, stop={"iterations": 20}, rounds=2)
        self.assertEqual(len(document.data["rows"]), 8)
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertIn("path", row["effective"], row["id"])  # it did claim to be direct
            self.assertEqual(row["effective"]["path"], "direct")
            self.assertIn(row["path_verdict"]["verdict"], ("staged", "unproved", "conflict"), row["id"])
            self.assertNotEqual(row["path_verdict"]["reasons"], [])
            self.assertIn("witness", row)

    def test_what_is_staged_by_construction_is_called_staged(self):
        transports = [{name: {"paths": ["staged"]}} for name in ("loopback", "tcp")]
        document = self.on_gpus(transports, stop={"iterations": 20})
        for row in document.data["rows"]:
            self.assertEqual(row["path_verdict"]["verdict"], "staged", row["path_verdict"])

    def test_a_required_path_that_is_not_proved_is_exit_3(self):
        self.on_gpus([{"silent_stager": {"lies": True}}], stop={"iterations": 20}, require="direct",
                     code=3)
        self.assertIn("is required to be direct and is", self.ended.err)
        self.on_gpus([{"loopback": {"paths": ["staged"]}}], stop={"iterations": 20}, out="staged",
                     arguments=("--require", "staged"))

    def test_host_memory_has_no_path_to_prove(self):
        self.measure(["tcp"], program=GDRBENCH, out="plain")
        self.assertIn(" n/a ", self.ended.out)
        self.measure(["tcp"], program=GDRBENCH, out="required", arguments=("--require", "direct"),
                     code=3)

    def test_a_peer_that_stands_still_gets_nothing_over_sockets(self):
        document = self.measure(["tcp", "loopback"], [PING_PONG, STREAM], program=GDRBENCH,
                                witness="full")
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            (seen,) = self.seen(row["witness"], "frozen-peer")
            self.assertEqual(seen["outcome"], "staged", seen)
            self.assertEqual(row["path_verdict"]["verdict"], "n/a")

    def test_explain_prints_the_argument_again_from_the_file_alone(self):
        document = self.on_gpus([{"loopback": {"paths": ["staged"]}}], stop={"iterations": 20})
        row = document.data["rows"][0]
        result = self.folder / "out" / "results.json"
        ended = self.command("report", result, "--explain", row["id"])
        self.assertEqual(ended.code, 0, ended)
        self.assertIn("verdict: staged", ended.out)
        for reason in row["path_verdict"]["reasons"]:
            self.assertIn(reason, ended.out)
        self.assert_usage_error(self.command("report", result, "--explain", row["id"][:-1]),
                                f"did you mean '{row['id']}'?")

        self.assert_usage_error(self.command("report", result, "--explain", row["id"], "--format", "csv"),
                                "no --format")

    def test_a_stored_verdict_cannot_be_written_into_a_file(self):
        document = self.on_gpus([{"silent_stager": {"lies": True}}], stop={"iterations": 20})
        data = document.data
        data["rows"][0]["path_verdict"] = {"verdict": "direct", "by": "nvlink", "reasons": []}
        forged = self.folder / "forged.json"
        forged.write_text(json.dumps(data))
        ended = self.command("report", forged)
        self.assertEqual(ended.code, 0, ended)
        self.assertNotIn("direct (nvlink)", ended.out)

    def test_without_witnesses_nothing_is_observed_and_nothing_proved(self):
        document = self.on_gpus([{"loopback": {"paths": ["staged"]}}], stop={"iterations": 20},
                                witness="off")
        row = document.data["rows"][0]
        self.assertNotIn("observations", row["runs"][0])
        self.assertEqual(row["path_verdict"]["verdict"], "unproved")
