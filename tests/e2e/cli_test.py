# SPDX-License-Identifier: Apache-2.0
"""The command line: exit codes, commands, and what each writes where."""

import json

from gdr import FAULTY, PING_PONG, QUICK, STREAM, BenchTest

MISSING = {"libfabric": {"provider": "nosuchprovider", "op": "send"}}


class ExitCodes(BenchTest):
    def test_0_when_all_ran(self):
        document = self.measure(["loopback"], [PING_PONG, STREAM], code=0)
        self.assertEqual(document.data["status"], "complete")
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual(row["check"]["mode"], "all")
            self.assertEqual(row["check"]["messages"], row["check"]["received"])
            self.assertGreater(row["check"]["messages"], 0)

    def test_1_when_a_case_failed_and_the_others_are_kept(self):
        document = self.measure(["loopback", {"faulty": {"fail_call": 40}}], code=1)
        self.assert_outcome(document.row("loopback"), "ok")
        self.assert_outcome(document.row("faulty:loopback"), "failed", "a failure that was asked for")

    def test_2_for_usage(self):
        for words in ([], ["nosuch"], ["run"], ["run", "a", "b"], ["run", "--nosuch"], ["report"],
                      ["schema"], ["schema", "x"], ["list", "x"], ["worker"],
                      ["report", "x.json", "--format", "pdf"], ["run", "c.yaml", "--progress", "x"]):
            with self.subTest(words=words):
                ended = self.command(*words)
                self.assert_usage_error(ended)
                self.assertEqual(ended.out, "")
                self.assertTrue(ended.err.strip())

    def test_2_names_the_nearest_command(self):
        self.assert_usage_error(self.command("reprot"), "report")

    def test_2_for_a_bad_configuration(self):
        self.assert_usage_error(self.command("run", self.config(["loopback"], rounds=0)), "rounds")

    def test_3_when_an_expectation_is_not_met(self):
        self.measure(["loopback"], code=3, expect={"max_p50": "1ns"})
        self.assertIn("expected at most 1", self.ended.err)
        self.measure(["loopback"], [STREAM], code=3, out="second", expect={"min_GBps": 1e6})
        self.assertIn("expected at least", self.ended.err)

    def test_0_when_expectations_are_met(self):
        self.measure(["loopback"], code=0, expect={"max_p50": "10s"})

    def test_4_when_some_cases_could_not_run_here(self):
        document = self.measure(["loopback"], code=4, memory=["host", "cuda:0"])
        kinds = sorted(row["outcome"]["kind"] for row in document.data["rows"])
        self.assertEqual(kinds, ["ok", "skipped"])

    def test_77_when_nothing_could_run(self):
        document = self.measure(["loopback"], code=77, memory=["cuda:0"])
        self.assertEqual([row["outcome"]["kind"] for row in document.data["rows"]], ["skipped"])
        self.assertIn("cuda:0", document.data["rows"][0]["outcome"]["reason"])


class Commands(BenchTest):
    def test_help_and_version(self):
        for words in (["--help"], ["-h"], ["help"], ["run", "--help"], ["report", "--help"]):
            with self.subTest(words=words):
                ended = self.command(*words)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertTrue(ended.out)
        self.assertRegex(self.command("--version").out, r"^gdrbench \S+")

    def test_run_help_has_every_key(self):
        text = self.command("run", "--help").out
        for key in ("rounds", "timeout", "verify", "precision", "iterations", "window", "batch"):
            self.assertIn(key, text)

    def test_list_names_every_transport(self):
        ended = self.command("list")
        self.assertEqual(ended.code, 0, str(ended))
        for name in ("null", "loopback", "tcp", "libfabric"):
            self.assertRegex(ended.out, rf"(?m)^{name}\b")
        # One GPU a line, or why there are none.
        self.assertRegex(ended.out, r"(?m)^GPUs\n(    none: \S.*|    0 .*)$")
        self.assertNotIn("faulty", ended.out)
        self.assertIn("faulty", self.command("list", program=FAULTY).out)

    def test_both_schemas_are_schemas(self):
        self.schema("config")
        self.schema("results")

    def test_configurations_of_the_tree_meet_the_schema_of_their_keys(self):
        known = self.schema("config")["properties"]
        for key in ("include", "name", "transports", "patterns", "rounds", "stop", "warmup"):
            self.assertIn(key, known)

    def test_plan_prints_the_cases_and_starts_nothing(self):
        config = self.config(["loopback", "tcp"], [PING_PONG, STREAM])
        ended = self.command("run", config, "--plan", "--out", self.folder / "out")
        self.assertEqual((ended.code, ended.err), (0, ""))
        for words in ("4 cases", "loopback/host/direct/ping-pong/64B", "tcp/host/direct/stream/64B"):
            self.assertIn(words, ended.out)
        self.assertFalse((self.folder / "out").exists())

    def test_set_changes_the_plan(self):
        config = self.config(["loopback"])
        ended = self.command("run", config, "--plan", "--set", "rounds=7", "--set",
                             "patterns.0.ping-pong.sizes=[8, 1KiB]")
        self.assertEqual(ended.code, 0, str(ended))
        self.assertIn("7 rounds", ended.out)
        self.assertIn("ping-pong/8B", ended.out)
        self.assertIn("ping-pong/1KiB", ended.out)
        self.assertNotIn("ping-pong/64B", ended.out)

    def test_without_out_a_fresh_folder_is_made_each_time(self):
        config = self.config(["null"], name="two words.yaml")
        folders = set()
        for _ in range(2):
            ended = self.command("run", config, "--set", "name=a/b c")
            self.assertEqual(ended.code, 0, str(ended))
            last = ended.out.rstrip("\n").splitlines()[-1]
            self.assertTrue(last.startswith("results in results/local/"), last)
            folder = self.folder / last[len("results in ") :]
            self.assertTrue((folder / "results.json").is_file())
            folders.add(folder)
        self.assertEqual(len(folders), 2)

    def test_nothing_but_the_report_on_standard_output(self):
        self.measure(["loopback"])
        self.assertEqual(self.ended.err, "")
        self.assertIn("loopback", self.ended.out)
        self.assertNotIn("\x1b", self.ended.out)


class Files(BenchTest):
    def setUp(self):
        super().setUp()
        self.result = self.measure(
            ["loopback", {"faulty": {"fail_call": 40, "label": 'odd, "label" ü|x'}}],
            [PING_PONG, STREAM], code=1, rounds=2)
        self.out = self.folder / "out"

    def report(self, *words, code=0):
        ended = self.command("report", *words)
        self.assertEqual(ended.code, code, str(ended))
        return ended.out

    def test_every_file(self):
        names = {path.name for path in self.out.iterdir()}
        for name in ("results.json", "results.jsonl", "results.csv", "report.md", "config.yaml"):
            self.assertIn(name, names)
        for path in self.out.rglob("*"):
            self.assertFalse(path.name.endswith(".tmp"), path)

    def test_journal_has_a_line_for_the_header_each_row_and_each_run(self):
        lines = [self.parse(line) for line in (self.out / "results.jsonl").read_text().splitlines()]
        kinds = [next(iter(line)) for line in lines]
        self.assertEqual(kinds[0], "document")
        self.assertEqual(kinds.count("row"), 4)
        self.assertEqual(kinds.count("run"), 8)

    def test_csv_has_a_record_for_each_row(self):
        rows = self.csv_rows((self.out / "results.csv").read_text())
        self.assertEqual([row["id"] for row in rows], [row["id"] for row in self.result.data["rows"]])
        self.assertIn('odd, "label" ü|x', {row["label"] for row in rows})
        good = next(row for row in rows if row["label"] == "loopback" and row["pattern"] == "ping-pong")
        self.assertAlmostEqual(float(good["latency_p50_ns"]), float(good["p50_ns"]) / 2, delta=1)

    def test_samples_are_the_samples(self):
        run = self.result.row_of("loopback", "ping-pong")["runs"][0]
        self.assertEqual(run["samples"], 200)
        self.assertEqual((self.out / run["samples_file"]).stat().st_size, 200 * 8)

    def test_effective_configuration_runs_again(self):
        ended = self.command("run", self.out / "config.yaml", "--plan", program=FAULTY)
        self.assertEqual(ended.code, 0, str(ended))
        self.assertIn(self.result.data["plan_digest"], ended.out)

    def test_report_in_each_format(self):
        source = self.out / "results.json"
        self.assertIn("loopback", self.report(source))
        self.assertIn("| ", self.report(source, "--format", "markdown"))
        self.assertEqual(len(self.csv_rows(self.report(source, "--format", "csv"))), 4)
        again = self.parse(self.report(source, "--format", "json"))
        self.validate(again)
        self.assertEqual(again, self.result.data)

    def test_report_of_journal_folder_and_two_results(self):
        self.assertIn("loopback", self.report(self.out / "results.jsonl"))
        self.assertIn("loopback", self.report(self.out))
        both = self.parse(self.report(self.out, self.out, "--format", "json"))
        self.validate(both)
        self.assertEqual(len(both["rows"]), 8)
        self.assertEqual(len({row["id"] for row in both["rows"]}), 8)

    def test_report_says_what_it_cannot_read(self):
        for name, text in (("no.json", None), ("empty.json", ""), ("half.json", '{"version": '),
                           ("other.json", '{"a": 1}'), ("later.json", self.later())):
            if text is not None:
                self.write(name, text)
            with self.subTest(name=name):
                self.assert_usage_error(self.command("report", name), name)

    def later(self):
        return json.dumps(dict(self.result.data, schema_version=999))

    def test_base_that_no_row_has(self):
        ended = self.command("report", self.out, "--base", "lopback")
        self.assert_usage_error(ended, "lopback", "loopback")


class OutputFolder(BenchTest):
    def test_a_file_in_its_place(self):
        target = self.write("taken", "x")
        ended = self.command("run", self.config(["null"]), "--out", target)
        self.assertIn(ended.code, (1, 2), str(ended))
        self.assertIn("taken", ended.err)
        self.assertEqual(target.read_text(), "x")

    def test_results_that_are_there_already_are_kept(self):
        self.measure(["null"])
        before = (self.folder / "out/results.json").read_bytes()
        ended = self.command("run", self.config(["null"]), "--out", self.folder / "out")
        self.assertIn(ended.code, (1, 2), str(ended))
        self.assertIn("out", ended.err)
        self.assertEqual((self.folder / "out/results.json").read_bytes(), before)

    def test_a_folder_with_other_files_may_be_used(self):
        (self.folder / "deep").mkdir()
        self.write("deep/notes.txt", "mine")
        self.measure(["null"], out="deep")
        self.assertEqual((self.folder / "deep/notes.txt").read_text(), "mine")

    def test_quick_settings_are_what_these_tests_think(self):
        document = self.measure(["loopback"])
        run = document.row("loopback")["runs"][0]
        self.assertEqual(run["messages"], QUICK["stop"]["iterations"])
        self.assertEqual(run["stop_reason"], "iterations")
