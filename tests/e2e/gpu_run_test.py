# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/run as on a host with one GPU, on a fake driver: what it writes must be what the program
takes, and what it reads what the program writes."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import signal
import sys
import types
from unittest import mock

from gdr import BenchTest, FAULTY

FOLDER = pathlib.Path(os.environ["GDRBENCH_SOURCE"]) / "tests/gpu"
sys.path.insert(0, str(FOLDER))
loader = importlib.machinery.SourceFileLoader("gpu_run", str(FOLDER / "run"))
gpu_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
loader.exec_module(gpu_run)


class OneGpu(BenchTest):
    def setUp(self):
        super().setUp()
        build = self.folder / "build"
        build.mkdir()
        (build / "gdrbench").symlink_to(FAULTY)
        smi = self.write("nvidia-smi", "#!/bin/sh\necho 'GPU 0: Fake GPU (UUID: GPU-00)'\n")
        smi.chmod(0o755)
        name, _, value = self.mark.partition("=")
        kept = {key: each for key, each in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        changed = mock.patch.dict(os.environ, {**kept, name: value,
                                               "GDRBENCH_TEST_GPUS": "gpus=1 memory=1GiB",
                                               "PATH": f"{self.folder}:{os.environ['PATH']}"}, clear=True)
        changed.start()
        self.addCleanup(changed.stop)
        sets = ["stop.iterations=6", "warmup={messages: 4, min_time: 0s, max_time: 10ms}",
                "patterns=[{ping-pong: {sizes: [8B, 64KiB]}}, {stream: {sizes: [64KiB], window: 4}}]"]
        self.run_of_gpus = gpu_run.Run(types.SimpleNamespace(build=build, out=self.folder / "out",
                                                             libfabric="", fabtests="", set=sets))

    def part(self, function, *words):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            function(*words)
        self.assertEqual(self.run_of_gpus.failures, [], text.getvalue())
        self.assertGreater(self.run_of_gpus.held, 0)
        return text.getvalue()

    def test_the_pair_and_one_large_message(self):
        with mock.patch.object(gpu_run, "LARGE", 64 << 20):
            text = self.part(self.run_of_gpus.pair)
        self.assertEqual(len(self.run_of_gpus.skips), 6, text)
        self.assertIn("ok     ('cuda_copy', 'direct'), one message of 64 MiB: 201326592 bytes checked", text)

    def test_what_is_not_there_and_what_does_not_fit(self):
        self.assertIn("bytes are free there", self.part(self.run_of_gpus.too_large))

    def test_a_killed_peer(self):
        for victim in ("cuda_copy", "loopback"):
            self.part(self.run_of_gpus.kill_peer, signal.SIGKILL, victim)
