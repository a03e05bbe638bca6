# SPDX-License-Identifier: Apache-2.0
"""`gdrbench doctor` on the machine of the tests, whatever that has."""

import json
import pathlib

from gdr import BenchTest

LEVELS = {"ok", "warn", "fail", "unknown", "n/a"}
VERDICTS = {"possible", "possible, slow", "not possible here", "unknown"}


def has_gpu():
    return pathlib.Path("/proc/driver/nvidia/version").exists()


def expected_status(document):
    paths = [c for c in document["conclusions"] if c["kind"] != "gpu"]
    if any(c["verdict"].startswith("possible") for c in paths):
        return 0
    return 4 if any(c["verdict"] == "unknown" for c in paths) else 3


class Doctor(BenchTest):
    def examine(self, *words, **options):
        ended = self.command("doctor", "--json", *words, **options)
        document = self.parse(ended.out)
        self.assertEqual(ended.code, expected_status(document), str(ended))
        return document, ended

    def test_json(self):
        document, _ = self.examine()
        self.assertEqual((document["schema"], document["schema_version"]), ("gdrbench-doctor", 1))
        self.assertTrue(document["conclusions"])
        ids = {check["id"] for check in document["checks"]}
        for check in document["checks"]:
            self.assertIn(check["level"], LEVELS)
            self.assertTrue(check["finding"], check)
            self.assertTrue(check["documented"], check)
        for conclusion in document["conclusions"]:
            self.assertIn(conclusion["verdict"], VERDICTS)
            self.assertTrue(set(conclusion["decided_by"]) <= ids)
            self.assertTrue(conclusion["decided_by"])

    def test_text_has_every_conclusion(self):
        document, _ = self.examine()
        ended = self.command("doctor")
        self.assertEqual(ended.code, expected_status(document), str(ended))
        for conclusion in document["conclusions"]:
            self.assertIn(f"  {conclusion['subject']}: {conclusion['verdict']}", ended.out)

    def test_without_a_gpu_it_says_so(self):
        if has_gpu():
            self.skipTest("there is a GPU")
        document, ended = self.examine("--gpu", "0")
        self.assertEqual(ended.code, 3)
        self.assertEqual([c["why"] for c in document["conclusions"]], ["there is no GPU"])

    def test_a_machine_against_itself_and_against_another(self):
        document, ended = self.examine()
        own = self.folder / "own.json"
        own.write_text(ended.out)
        same = self.command("doctor", "--peer", str(own))
        self.assertEqual(same.code, ended.code)
        self.assertIn("no difference in what is compared", same.out)
        for fact in document["facts"]:
            if fact["key"] == "kernel":
                fact["value"] = "2.6.32"
        own.write_text(json.dumps(document))
        self.assertRegex(self.command("doctor", "--peer", str(own)).out,
                         r"kernel +\S+ \| there: 2\.6\.32")

    def test_bad_peer_files(self):
        bad = self.folder / "bad.json"
        for text, words in ((None, "bad.json"), ("", "bad.json"), ("{}", "schema is missing"),
                            ("[" * 100000, "bad.json"), ('{"schema": 1}', "schema is no text")):
            with self.subTest(text=text and text[:20]):
                if text is not None:
                    bad.write_text(text)
                self.assert_usage_error(self.command("doctor", "--peer", str(bad)), words)
        self.assert_usage_error(self.command("doctor", "--peer", "/dev/zero"), "no regular file")
        self.assert_usage_error(self.command("doctor", "--peer", str(self.folder)), "regular file")

    def test_usage(self):
        for words in (["x"], ["--nosuch"], ["--json", "--peer", "x"]):
            with self.subTest(words=words):
                self.assert_usage_error(self.command("doctor", *words))

    def test_variables_that_change_the_path_and_no_others(self):
        document, ended = self.examine(env={"NCCL_P2P_DISABLE": "1", "A_SECRET": "hidden"})
        found = [c for c in document["checks"] if c["subject"] == "NCCL_P2P_DISABLE"]
        self.assertEqual([c["level"] for c in found], ["warn"])
        for word in ("A_SECRET", "hidden"):
            self.assertNotIn(word, ended.out)
