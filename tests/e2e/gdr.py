# SPDX-License-Identifier: Apache-2.0
"""Runs the built programs as a user does, and looks at all that they leave.

Each test has a folder of its own. Every process that a test starts carries a mark in its
environment, so that afterwards those still alive are found whoever their parent is by then, and
none of another test's.
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

import jsonschema

GDRBENCH = os.environ["GDRBENCH"]
FAULTY = os.environ["GDRBENCH_FAULTY"]

# Small, so that a run takes a second; the settings under test are given over these.
QUICK = {
    "rounds": 1,
    "timeout": "20s",
    "stop": {"iterations": 200},
    "warmup": {"messages": 10, "min_time": "0s", "max_time": "10ms"},
}
PING_PONG = {"ping-pong": {"sizes": ["64B"]}}
STREAM = {"stream": {"sizes": ["64B"], "window": 8, "batch": 2}}


def until(condition, seconds, what):
    """Waits for `condition` and answers what it answered."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.01)


def yaml(value):
    """In flow style. What begins with a digit is a size, a time or a share, and stays unquoted."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml(key)}: {yaml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(yaml, value)) + "]"
    if isinstance(value, str) and re.fullmatch(r"\d[\w.%]*", value):
        return value
    return json.dumps(value, ensure_ascii=False)


def process_stat(pid):
    """State and parent of a process, or None when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = text[text.rindex(")") + 2 :].split()[:2]
    return state, int(parent)


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children_of(pid):
    found = []
    for each in all_pids():
        stat = process_stat(each)
        if stat and stat[1] == pid and stat[0] != "Z":
            found.append(each)
    return sorted(found)


class Ended:
    """What a finished command left."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Running:
    """A command in the background; its standard error is read as it comes."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.lines, self.out = [], []
        self.started = time.monotonic()
        self.readers = [
            threading.Thread(target=self._read, args=(process.stderr, self.lines), daemon=True),
            threading.Thread(target=self._read, args=(process.stdout, self.out), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))
        stream.close()

    def wait_for_line(self, pattern, after=0, seconds=30):
        """Index of the first line from `after` on that matches."""

        def found():
            for index, line in enumerate(self.lines[after:], after):
                if re.search(pattern, line):
                    return index + 1
            if self.process.poll() is not None and not any(r.is_alive() for r in self.readers):
                raise AssertionError(f"ended without a line like {pattern}: {self.lines}")
            return 0

        return until(found, seconds, f"a line like {pattern} in {self.lines}") - 1

    def workers(self):
        """Initiator, responder: they are started in this order."""
        return children_of(self.pid)

    def stopped_worker(self, seconds=30):
        def found():
            for pid in self.workers():
                stat = process_stat(pid)
                if stat and stat[0] == "T":
                    return pid
            if self.process.poll() is not None:
                raise AssertionError(f"ended before a worker stopped: {self.lines}")
            return 0

        return until(found, seconds, f"a stopped worker; {self.lines}")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=60):
        code = self.process.wait(seconds)
        for reader in self.readers:
            reader.join(10)
        took = time.monotonic() - self.started
        return Ended(code, "\n".join(self.out), "\n".join(self.lines), took)


class Document:
    """A parsed results.json, checked against the program's own schema."""

    def __init__(self, data):
        self.data = data
        self.rows = {row["id"]: row for row in data["rows"]}

    def row(self, label):
        """The only row of that label."""
        found = [row for row in self.data["rows"] if row["label"] == label]
        assert len(found) == 1, f"{label}: {sorted(self.rows)}"
        return found[0]

    def row_of(self, label, pattern):
        return next(row for row in self.data["rows"]
                    if (row["label"], row["pattern"]) == (label, pattern))


class BenchTest(unittest.TestCase):
    maxDiff = None
    _schemas = {}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gdr-e2e-"))
        self.mark = f"GDRBENCH_E2E={uuid.uuid4()}"
        self.conductors = []
        # Not tearDown: this also runs when a setUp after this one fails.
        self.addCleanup(self.clean_up)

    def clean_up(self):
        try:
            self.check_nothing_left()
        finally:
            for pid in self.marked():
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- running --------------------------------------------------------------------------------

    def popen(self, *arguments, program=GDRBENCH, env=None, **options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FI_")}
        name, _, value = self.mark.partition("=")
        environment.update({name: value, **(env or {})})
        process = subprocess.Popen(
            [program, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=environment,
            **options,
        )
        self.conductors.append(process.pid)
        return process

    def command(self, *arguments, seconds=120, **options):
        """Runs to the end."""
        start = time.monotonic()
        process = self.popen(*arguments, **options)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"{arguments} did not end within {seconds} s\n{out}\n{err}")
        ended = Ended(process.returncode, out, err, time.monotonic() - start)
        self.assertGreaterEqual(ended.code, 0, f"crashed: {ended}")
        return ended

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def config(self, transports, patterns=(PING_PONG,), name="config.yaml", **settings):
        merged = {**QUICK, "transports": list(transports), "patterns": list(patterns), **settings}
        return self.write(name, "".join(f"{key}: {yaml(each)}\n" for key, each in merged.items()))

    def measure(self, transports, patterns=(PING_PONG,), code=0, out="out", seconds=120, env=None,
                program=FAULTY, arguments=(), **settings):
        """One run, whose exit status must be `code`; answers its checked document."""
        config = self.config(transports, patterns, **settings)
        ended = self.command("run", config, "--out", self.folder / out, *arguments,
                             program=program, seconds=seconds, env=env)
        self.assertEqual(ended.code, code, str(ended))
        self.ended = ended
        return self.document(out)

    def start(self, transports, patterns=(PING_PONG,), out="out", program=FAULTY, env=None,
              config="config.yaml", **settings):
        """One run in the background, telling its phases."""
        config = self.config(transports, patterns, name=config, **settings)
        return Running(self.popen("run", config, "--out", self.folder / out, "--progress", "plain",
                                  program=program, env=env))

    # --- looking --------------------------------------------------------------------------------

    def schema(self, what, program=GDRBENCH):
        key = (program, what)
        if key not in self._schemas:
            schema = json.loads(self.command("schema", what, program=program).out)
            jsonschema.Draft202012Validator.check_schema(schema)
            self._schemas[key] = schema
        return self._schemas[key]

    def validate(self, data):
        jsonschema.Draft202012Validator(self.schema("results")).validate(data)

    def parse(self, text):
        """JSON without NaN, Infinity and equal keys."""

        def no_constant(word):
            raise AssertionError(f"{word} in JSON")

        def no_equal_keys(pairs):
            self.assertEqual(len(pairs), len(dict(pairs)), "equal keys")
            return dict(pairs)

        return json.loads(text, parse_constant=no_constant, object_pairs_hook=no_equal_keys)

    def document(self, out="out"):
        data = self.parse((self.folder / out / "results.json").read_text())
        self.validate(data)
        return Document(data)

    def csv_rows(self, text):
        rows = list(csv.reader(io.StringIO(text), strict=True))
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(len(row), len(rows[0]), row)
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def assert_outcome(self, row, kind, *words):
        self.assertEqual(row["outcome"]["kind"], kind, json.dumps(row["outcome"], indent=1))
        for word in words:
            self.assertIn(word, row["outcome"]["reason"])

    def assert_usage_error(self, ended, *words):
        """Exit 2, and one clear message, before anything was started."""
        self.assertEqual(ended.code, 2, str(ended))
        for word in words:
            self.assertIn(str(word), ended.err)

    # --- leftovers ------------------------------------------------------------------------------

    def marked(self):
        """Processes of this test that are still there."""
        found = []
        for pid in all_pids():
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in environment.split(b"\0"):
                found.append(pid)
        return found

    def shared_memory(self):
        """What the programs of this test have left in shared memory."""
        prefixes = tuple(f"gdrbench-{pid}-" for pid in self.conductors)
        return [name for name in os.listdir("/dev/shm") if name.startswith(prefixes)]

    def check_nothing_left(self, seconds=5):
        until(lambda: not self.marked(), seconds, f"all processes gone: {self.marked()}")
        until(lambda: not self.shared_memory(), 1, f"no shared memory: {self.shared_memory()}")
