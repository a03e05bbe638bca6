# SPDX-License-Identifier: Apache-2.0
"""Rows for GPUs on machines that have none, or not what the configuration asks for.

The product itself meets no driver, a toolkit's stub in its place, or one that is too old; the GPUs of
gdrbench-faulty are those of a fake driver (GDRBENCH_TEST_GPUS, see tests/fakes)."""

import os
import pathlib
import re
import subprocess

from gdr import GDRBENCH, PING_PONG, BenchTest

SOURCE = pathlib.Path(os.environ["GDRBENCH_SOURCE"])
ON_GPUS = {"src": "cuda:0", "dst": "cuda:1"}


class Drivers(BenchTest):
    def driver(self, text):
        """A libcuda.so.1 made of this C text; answers the environment that brings it in."""
        folder = self.folder / "driver"
        folder.mkdir(exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", folder / "libcuda.so.1"],
                       input=text, text=True, check=True)
        return {"LD_LIBRARY_PATH": str(folder)}

    def reason(self, env=None):
        """Why rows for GPUs alone cannot run."""
        document = self.measure(["nccl", "cuda_copy"], memory=ON_GPUS, code=77, program=GDRBENCH,
                                env=env)
        for row in document.data["rows"]:
            self.assertEqual(row["outcome"]["kind"], "skipped", row)
        return document.data["rows"][0]["outcome"]["reason"]

    def test_without_a_driver_rows_for_gpus_are_skipped_and_the_others_run(self):
        self.assertIn("no CUDA driver", self.reason())
        document = self.measure(["tcp", {"tcp": {"label": "staged", "paths": ["staged"]}}],
                                memory=["host", ON_GPUS], code=4, program=GDRBENCH, out="mixed")
        kinds = {row["id"]: row["outcome"]["kind"] for row in document.data["rows"]}
        self.assertEqual(kinds["tcp/host/direct/ping-pong/64B"], "ok")
        self.assertEqual(kinds["staged/cuda:0-cuda:1/staged/ping-pong/64B"], "skipped")
        self.assertNotIn("ok", {kind for row, kind in kinds.items() if "cuda:" in row})

    def test_a_stub_of_a_toolkit_is_called_a_stub(self):
        names = re.findall(r'"(cu[A-Z]\w+)"', (SOURCE / "harness/cuda/api.cpp").read_text())
        stub = self.driver("".join(f"int {name}() {{ return 34; }}\n" for name in sorted(set(names))))
        self.assertIn("a toolkit's stub of libcuda was loaded", self.reason(stub))

    def test_a_driver_that_is_too_old_says_what_it_lacks(self):
        old = self.driver("int cuInit() { return 0; }\n"
                          "int cuDriverGetVersion(int* v) { *v = 11020; return 0; }\n")
        reason = self.reason(old)
        self.assertIn("it is too old", reason)
        self.assertIn("CUDA 11.2", reason)


class FakeGpus(BenchTest):
    def on_gpus(self, transports, patterns=(PING_PONG,), machine="gpus=2", memory=None, **settings):
        return self.measure(transports, patterns, memory=memory or ON_GPUS,
                            env={"GDRBENCH_TEST_GPUS": machine}, **settings)

    def test_gpus_that_are_not_there_are_named_with_those_that_are(self):
        document = self.on_gpus(["cuda_copy"], memory={"src": "cuda:0", "dst": "cuda:7"}, code=1)
        self.assert_outcome(document.row("cuda_copy"), "failed", "find GPU '7'", "there are cuda:0")

    def test_more_than_a_gpu_has_costs_its_row_and_no_other(self):
        document = self.on_gpus(["cuda_copy"], [{"ping-pong": {"sizes": ["4KiB", "128MiB"]}}],
                                machine="gpus=2 memory=64MiB", code=1)
        small, large = document.data["rows"]
        self.assertEqual((small["size_bytes"], small["outcome"]["kind"]), (4096, "ok"))
        self.assertEqual(large["size_bytes"], 128 << 20)
        self.assert_outcome(large, "failed", "bytes are free there")

    def test_the_staged_path_is_a_row_of_its_own_and_checked(self):
        transports = [{name: {"paths": ["staged"]}} for name in ("tcp", "loopback")]
        document = self.on_gpus([*transports, "cuda_copy"], [{"ping-pong": {"sizes": ["64B", "3MiB"]}}],
                                stop={"iterations": 6})
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual(row["check"]["messages"], row["check"]["received"])
            self.assertEqual(row["path"], "direct" if row["label"] == "cuda_copy" else "staged")

    def test_the_staged_path_over_shm(self):
        """Each worker has two endpoints of that provider, for the data and for the credits."""
        transports = [{"libfabric": {"label": op, "provider": "shm", "op": op, "paths": ["staged"]}}
                      for op in ("send", "write")]
        patterns = [{"ping-pong": {"sizes": ["64B", "3MiB"]}},
                    {"stream": {"sizes": ["3MiB"], "window": 4, "direction": ["bi"]}}]
        document = self.on_gpus(["cuda_copy", *transports], patterns, memory="cuda:0", witness="off",
                                rounds=1, stop={"iterations": 12})
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual(row["check"]["messages"], row["check"]["received"])

    def test_sizes_are_those_that_were_asked_for_to_the_byte(self):
        sizes = [1, 3, 5, 15, 33, 4097, 1048577]
        transports = ["cuda_copy", {"loopback": {"paths": ["staged"]}}, {"tcp": {"paths": ["staged"]}}]
        document = self.on_gpus(transports, [{"ping-pong": {"sizes": sizes}}], stop={"iterations": 6},
                                witness="off")
        self.assertEqual(sorted({row["size_bytes"] for row in document.data["rows"]}), sizes)
        for row in document.data["rows"]:
            self.assert_outcome(row, "ok")
            self.assertEqual(row["check"]["bytes"], row["check"]["messages"] * row["size_bytes"])
            self.assertEqual(row["check"]["messages"], row["check"]["received"])

    def test_one_gpu_for_both_sides_is_no_pair_of_gpus(self):
        document = self.on_gpus(["cuda_copy"], memory="cuda:0", stop={"iterations": 20})
        row = document.row("cuda_copy")
        self.assert_outcome(row, "ok")
        self.assertEqual(row["path_verdict"]["by"], "same-gpu", row["path_verdict"])

    def test_host_memory_is_never_put_in_the_place_of_a_gpus(self):
        document = self.on_gpus(["tcp", {"nccl": {"paths": ["staged"]}}], code=77)
        self.assert_outcome(document.row("tcp"), "skipped", "does not take cuda:0 memory")
        self.assert_outcome(document.row("nccl"), "skipped", "nothing can be staged over it")
