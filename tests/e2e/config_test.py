# SPDX-License-Identifier: Apache-2.0
"""Bad input: each gets one message with its place, exit 2, and starts nothing."""

from gdr import BenchTest

HEAD = "transports: [loopback]\npatterns: [ping-pong: {sizes: [64B]}]\n"


class BadInput(BenchTest):
    def refuse(self, text, *words, arguments=(), line=None, column=None):
        config = self.write("broken.yaml", text)
        ended = self.command("run", config, "--out", self.folder / "out", *arguments)
        self.assert_usage_error(ended, *words)
        if line is not None:
            place = f"broken.yaml:{line}:" + (str(column) if column is not None else "")
            self.assertIn(place, ended.err)
        self.assertEqual(ended.out, "")
        self.assertFalse((self.folder / "out").exists())
        return ended

    def test_unknown_key_with_place_and_nearest_name(self):
        self.refuse(HEAD + "stop:\n  max_tme: 1s\n", "max_tme", "max_time", line=4, column=3)
        self.refuse(HEAD + "ruonds: 3\n", "ruonds", "rounds", line=3, column=1)
        self.refuse(HEAD.replace("loopback", "lopback"), "lopback", "loopback", line=1)
        self.refuse("transports: [loopback: {fifoo: 1MiB}]\npatterns: [ping-pong: {sizes: [1B]}]\n",
                    "fifoo", "fifo", line=1)
        self.refuse(HEAD.replace("ping-pong", "pingpong"), "pingpong", "ping-pong", line=2)

    def test_duplicate_key(self):
        self.refuse(HEAD + "rounds: 1\nrounds: 2\n", "rounds", line=4)

    def test_wrong_types(self):
        for text, word in (("rounds: many", "many"), ("rounds: [1, 2]", "rounds"),
                           ("rounds: 1.5", "1.5"), ("rounds: 3x", "3x"), ("verify: some", "some"),
                           ("stop: 3", "stop"), ("stop: {precision: fast}", "fast"),
                           ("expect: {min_GBps: nan}", "nan"), ("rounds: 99999999999999999999", "rounds")):
            with self.subTest(text=text):
                self.refuse(HEAD + text + "\n", word, line=3)

    def test_bad_units(self):
        for text, word in (("timeout: 5 parsecs", "parsecs"), ("timeout: 60", "60"),
                           ("timeout: 1e", "1e"), ("timeout: -1s", "-1s"), ("timeout: 0s", "timeout")):
            with self.subTest(text=text):
                self.refuse(HEAD + text + "\n", word, line=3)
        for size in ("4Kb", "4 kilo", "-1", "1.5B", "0x10", "99999999999999999999GiB", "inf"):
            with self.subTest(size=size):
                self.refuse(HEAD.replace("64B", size), size, line=2)

    def test_size_zero(self):
        self.refuse(HEAD.replace("64B", "0"), "0", line=2)

    def test_clash_of_batch_and_window(self):
        text = "transports: [loopback]\npatterns:\n  - stream: {sizes: [1B], window: 4, batch: 8}\n"
        self.refuse(text, "batch 8", "window 4", line=3)

    def test_one_label_twice(self):
        text = "transports: [{loopback: {label: a}}, {tcp: {label: a}}]\npatterns: [ping-pong: {sizes: [1B]}]\n"
        self.refuse(text, "label 'a'", line=1)

    def test_base_and_cpu_that_there_is_not(self):
        self.refuse(HEAD + "base: lopback\n", "lopback", "loopback", line=3)
        self.refuse(HEAD + "cpus: {initiator: 8000}\n", "8000", "allowed", line=3)

    def test_includes(self):
        self.refuse(HEAD + "include: nowhere.yaml\n", "nowhere.yaml", line=3)
        self.refuse(HEAD + "include: broken.yaml\n", "broken.yaml")
        self.write("other.yaml", "stop: {max_tme: 1s}\n")
        self.refuse(HEAD + "include: other.yaml\n", "other.yaml:1:8", "max_time")

    def test_not_yaml(self):
        for text in ("", "---\n", "- a\n", "{\n", "a: [\n", '"\n', "\t- x\n", "a: *nowhere\n", "text",
                     HEAD + "---\n" + HEAD, "a: {b: {c: }\n"):
            with self.subTest(text=text):
                self.refuse(text, "broken.yaml")

    def test_bytes_that_are_no_text(self):
        config = self.folder / "broken.yaml"
        for data in (b"\xff\xfe\x00", b"name: \xc3\x28\n", bytes(range(256)), b"\0" * 4096):
            with self.subTest(data=data[:8]):
                config.write_bytes(data)
                self.assert_usage_error(self.command("run", config), "broken.yaml")

    def test_files_that_cannot_be_read(self):
        self.assert_usage_error(self.command("run", "absent.yaml"), "absent.yaml")
        self.assert_usage_error(self.command("run", self.folder), str(self.folder))

    def test_set(self):
        for text in ("rounds", "=3", "ruonds=3", "rounds=x", "stop.max_tme=1s", "patterns.7.sizes=[1B]",
                     "transports.0.loopback.fifo=lots", "rounds="):
            with self.subTest(text=text):
                self.refuse(HEAD, "--set", arguments=["--set", text])

    def test_deep_and_wide_aliases(self):
        deep = "[" * 5000 + "]" * 5000
        self.refuse(HEAD + f"name: {deep}\n", "broken.yaml")
        bomb = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}' if i else 'y'] * 10)}]\n" for i in range(9))
        self.refuse(bomb + HEAD, "broken.yaml")

    def test_size_lists(self):
        for sizes in ("[]", "{min: 8, max: 4}", "{min: 1, max: 1MiB, factor: 1}", "{min: 1}", "{}"):
            with self.subTest(sizes=sizes):
                self.refuse(HEAD.replace("[64B]", sizes), line=2)

    def test_key_order_does_not_matter(self):
        lines = HEAD.splitlines() + ["rounds: 2", "stop: {iterations: 10}"]
        plans = set()
        for order in (lines, lines[::-1]):
            config = self.write("order.yaml", "\n".join(order) + "\n")
            plans.add(self.command("run", config, "--plan").out)
        self.assertEqual(len(plans), 1, plans)
