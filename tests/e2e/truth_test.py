# SPDX-License-Identifier: Apache-2.0
"""The truth table of tests/gpu on a fake driver: nothing may be called what it is not. What only a
real link or library can prove stays unproved here."""

import os
import pathlib
import re
import sys

from gdr import BenchTest, FAULTY

SOURCE = pathlib.Path(os.environ["GDRBENCH_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/gpu"))
import truth  # noqa: E402

CONFIG = SOURCE / "configs/gpu-truth.yaml"
FAKE = {"GDRBENCH_TEST_GPUS": "gpus=2"}
SIZES = (64, 65536)
QUICK = ("rounds=1", "stop.iterations=6", "warmup={messages: 4, min_time: 0s, max_time: 10ms}",
         "patterns.0.ping-pong.sizes=[64B, 64KiB]")
# Those that need neither a library of NVIDIA's nor a libfabric with CUDA.
HERE = {
    "two GPUs": ("base=cuda_copy", "transports=[{tcp: {paths: [staged]}}, {loopback: {paths: [staged]}}, "
                 "cuda_copy, {cuda_copy: {peer_access: false}}]"),
    "one GPU": ("transports=[cuda_copy, {cuda_copy: {processes: 1}}, {tcp: {paths: [staged]}}, "
                "{loopback: {paths: [staged]}}]",),
    "one, no IPC": ("transports=[{cuda_copy: {processes: 1}}, {loopback: {paths: [staged]}}]",),
    "GPU to host": (),
    "host to GPU": (),
    "host memory": (),
}


class Truth(BenchTest):
    def words(self, *sets):
        return [word for each in sets for word in ("--set", each)]

    def test_the_table_names_the_rows_of_the_configuration(self):
        for group in truth.GROUPS:
            ended = self.command("run", CONFIG, "--plan", *self.words(*group.sets), program=FAULTY, env=FAKE)
            self.assertEqual(ended.code, 0, ended)
            planned = set()
            for name in re.findall(r"^  (\S+)/ping-pong/\S+ ", ended.out, re.M):
                label, _, path = name.rsplit("/", 2)
                planned.add((label, path))
            self.assertEqual(planned, {(kind.label, kind.path) for kind in group.classes}, group.name)

    def test_the_indices_of_libfabric_are_those_of_the_configuration(self):
        for group in truth.GROUPS:
            library = [f"transports.{index}.libfabric.library=/nowhere" for index in group.libfabric]
            ended = self.command("run", CONFIG, "--plan", *self.words(*group.sets, *library), program=FAULTY,
                                 env=FAKE)
            self.assertEqual(ended.code, 0, ended)

    def test_nothing_is_called_what_it_is_not(self):
        lines = []
        for group in truth.GROUPS:
            if group.name not in HERE:
                continue
            out = self.folder / group.name.replace(" ", "-")
            ended = self.command("run", CONFIG, "--out", out, program=FAULTY, env=FAKE,
                                 *self.words(*group.sets, *HERE[group.name], *QUICK))
            self.assertEqual(ended.code, 0, ended)
            lines += truth.compare(group, self.document(out.name).data["rows"], False, SIZES)
        text = truth.table(lines)
        self.assertEqual(truth.counted(lines, truth.WRONG), 0, text)
        ran = [line for line in lines if line.state != truth.NOT_RUN]
        self.assertEqual(len(ran), 14 * len(SIZES), text)
        for line in ran:
            # A link that counts is what a fake driver has not.
            known = truth.MISS if line.expected == truth.DIRECT else truth.RIGHT
            self.assertEqual(line.state, known, text)
