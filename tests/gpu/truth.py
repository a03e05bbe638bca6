# SPDX-License-Identifier: Apache-2.0
"""Paths whose truth is known, and what the evidence should make of them: the table behind the part
`truth` of tests/gpu/run. Data and functions from data to text; nothing here runs anything."""

import collections
import itertools

SIZES = (64, 4 << 20)
DIRECT, STAGED, NOT_APPLICABLE = "direct (nvlink)", "staged", "n/a"
SAME_GPU = "direct (same-gpu)"
OWN_HOST = "direct"  # a GPU's own link to its host has no name among the kinds of path

# One class of rows: `why` is its truth, `miss` what is known to keep a verdict from being reached, and
# `open` that nothing can reach it: a miss is then no failure, and everything else is judged as always.
Class = collections.namedtuple(
    "Class", "label path expected why miss libfabric uncopied open", defaults=("", False, False, False))
# One run: settings over configs/gpu-truth.yaml. `libfabric`: which in its list of transports are that;
# `gpus`: how many it needs.
Group = collections.namedtuple("Group", "name sets classes libfabric gpus", defaults=((), 1))

NO_WORD = ("provider shm says nothing of the way that a message took; copies between devices, where CUPTI "
           "records them, and the bytes on NVLink decide together only")
NO_LINK = ("provider shm says nothing of the way that a message took; copies within the GPU, where CUPTI "
           "records them, and bytes that did not cross PCIe decide together only, from 1 MiB of payload on")
RECORDS = "the library's copies count only where CUPTI records them"
FEW_BYTES = "64 B: all messages of a measurement together must be 64 KiB or more for the counters"

GROUPS = (
    Group("two GPUs", (), (
        Class("nccl", "direct", DIRECT, "P2P channels"),
        Class("nccl:registered", "direct", DIRECT, "P2P channels, registered buffers"),
        Class("nccl:stream", "direct", DIRECT, "P2P channels, stream drive"),
        Class("nccl:graph", "direct", DIRECT, "P2P channels, graph"),
        Class("nccl-shm", "library-staged", STAGED, "NCCL_P2P_DISABLE: kernels copy through the host",
              uncopied=True),
        Class("nccl-sockets", "library-staged", STAGED, "NCCL over sockets"),
        Class("libfabric:shm", "direct", DIRECT, "CUDA IPC", NO_WORD, libfabric=True),
        Class("libfabric:tcp/send", "staged", STAGED, "staged by gdrbench", libfabric=True),
        Class("tcp", "staged", STAGED, "staged by gdrbench"),
        Class("loopback", "staged", STAGED, "staged by gdrbench"),
        Class("cuda_copy", "direct", DIRECT, "copy engine, peer access"),
        Class("cuda_copy:no-peer", "direct", STAGED, "the driver goes through the host"),
    ), libfabric=(6, 7), gpus=2),
    # No variable of libfabric keeps shm from CUDA IPC, and hiding GPUs does so in 2.5 only; but memory
    # of cuMemCreate has no IPC handle, and then shm goes through host memory (prov/shm: smr_do_ipc).
    Group("no CUDA IPC", (
        "cuda_memory=vmm", "base=libfabric-no-ipc",
        "transports=[{libfabric: {label: libfabric-no-ipc, provider: shm, "
        "env: {FI_HMEM_CUDA_USE_GDRCOPY: 0}}}]",
    ), (
        Class("libfabric-no-ipc", "direct", STAGED, "no IPC handle: host memory",
              RECORDS, libfabric=True),
    ), libfabric=(0,), gpus=2),
    Group("one GPU", (
        "memory=cuda:0", "base=cuda_copy",
        "transports=[cuda_copy, {cuda_copy: {processes: 1}}, {tcp: {paths: [staged]}}, "
        "{loopback: {paths: [staged]}}, {libfabric: {provider: shm, env: {FI_HMEM_CUDA_USE_GDRCOPY: 0}}}, "
        "{libfabric: {provider: shm, op: send, paths: [direct, staged], env: {FI_HMEM_CUDA_USE_GDRCOPY: 0}}}, "
        "{libfabric: {provider: tcp, op: send, paths: [staged]}}]",
    ), (
        Class("cuda_copy", "direct", SAME_GPU, "both ends on one GPU, CUDA IPC"),
        Class("cuda_copy:1-process", "direct", SAME_GPU, "both ends on one GPU"),
        Class("tcp", "staged", STAGED, "staged by gdrbench"),
        Class("loopback", "staged", STAGED, "staged by gdrbench"),
        Class("libfabric:shm", "direct", SAME_GPU, "CUDA IPC", NO_LINK, libfabric=True, open=True),
        Class("libfabric:shm/send", "direct", SAME_GPU, "CUDA IPC", NO_LINK, libfabric=True, open=True),
        Class("libfabric:shm/send", "staged", STAGED, "staged by gdrbench", libfabric=True),
        Class("libfabric:tcp/send", "staged", STAGED, "staged by gdrbench", libfabric=True),
    ), libfabric=(4, 5, 6)),
    Group("one, no IPC", (
        "memory=cuda:0", "cuda_memory=vmm", "base=cuda_copy:1-process",
        "transports=[{cuda_copy: {processes: 1}}, {loopback: {paths: [staged]}}, "
        "{libfabric: {provider: shm, env: {FI_HMEM_CUDA_USE_GDRCOPY: 0}}}]",
    ), (
        Class("cuda_copy:1-process", "direct", SAME_GPU, "both ends on one GPU; one process needs no IPC"),
        Class("loopback", "staged", STAGED, "staged by gdrbench"),
        Class("libfabric:shm", "direct", STAGED, "no IPC handle: host memory", RECORDS, libfabric=True),
    ), libfabric=(2,)),
    # gdrbench stages between GPUs only, and a GPU reaches host memory of its own process only.
    Group("GPU to host", (
        "memory={src: cuda:0, dst: pinned}", "base=cuda_copy:1-process",
        "transports=[{cuda_copy: {processes: 1}}]",
    ), (
        Class("cuda_copy:1-process", "direct", OWN_HOST, "a copy engine writes to pinned memory"),
    )),
    Group("host to GPU", (
        "memory={src: pinned, dst: cuda:0}", "base=cuda_copy:1-process",
        "transports=[{cuda_copy: {processes: 1}}]",
    ), (
        Class("cuda_copy:1-process", "direct", OWN_HOST, "a copy engine reads pinned memory"),
    )),
    Group("host memory", (
        "memory=host", "base=tcp", "transports=[tcp, loopback]",
    ), (
        Class("tcp", "direct", NOT_APPLICABLE, "no GPU"),
        Class("loopback", "direct", NOT_APPLICABLE, "no GPU"),
    )),
)

RIGHT, MISS, WRONG, NOT_RUN, OPEN = "right", "MISS", "WRONG", "not run", "open"
Line = collections.namedtuple("Line", "group label size expected found state reasons counts")


def verdict_text(verdict):
    """As the report's table shows it."""
    return f"{verdict['verdict']} ({verdict['by']})" if verdict.get("by") else verdict["verdict"]


def state_of(expected, found):
    """`found` is right, a miss (nothing wrong is said, and not enough), or wrong."""
    if found == expected:
        return RIGHT
    if found == "unproved" or found == "direct" == expected.split()[0]:
        return MISS  # not proved, or by which link is not known
    return WRONG


def seen(row, witness):
    """All observations of one witness, of the rounds and of the witness pass."""
    for part in [*row.get("runs", []), row.get("witness") or {}]:
        yield from (each for each in part.get("observations", []) if each["id"] == witness)


def judge(group, kind, size, row, with_libfabric):
    """One line of the table: `row` as in results.json, or None where there is none."""
    counts = with_libfabric or not kind.libfabric

    def line(found, state, *reasons):
        wanted = counts or state not in (RIGHT, NOT_RUN)
        return Line(group, kind.label, size, kind.expected, found, state, reasons, wanted)

    if row is None:
        return line("-", NOT_RUN, "there is no such row")
    if row["outcome"]["kind"] != "ok":
        return line("-", NOT_RUN, f"{row['outcome']['kind']}: {row['outcome']['reason']}")
    verdict = row.get("path_verdict")
    if not verdict:
        return line("-", MISS, "the row has no verdict")
    found = verdict_text(verdict)
    state = state_of(kind.expected, found)
    reasons = list(verdict["reasons"])
    if kind.uncopied and any(each["outcome"] == "staged" for each in seen(row, "copy.records")):
        state = WRONG
        reasons.insert(0, "kernels stage here, and yet copies were recorded: the class is not what "
                          "it is called")
    if state == MISS:
        reasons += [each for each in (kind.miss, FEW_BYTES if size < 1024 and not kind.open else "") if each]
    if state == MISS and kind.open:
        state = OPEN
    return line(found, state, *([] if state == RIGHT else reasons))


def compare(group, rows, with_libfabric, sizes=SIZES):
    """The lines of one group: every class at every size, whether there is a row for it or not."""
    found = {(row["label"], row["path"], row["size_bytes"]): row for row in rows}
    return [judge(group.name, kind, size, found.get((kind.label, kind.path, size)), with_libfabric)
            for kind in group.classes for size in sizes]


def counted(lines, state):
    return sum(1 for line in lines if line.state == state and line.counts)


def good(lines):
    """Every class that had to be there is right, or known to be open."""
    return all(line.state in (RIGHT, OPEN) or not line.counts for line in lines)


def size_text(size):
    for unit, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << unit:
            return f"{size >> unit} {name}"
    return f"{size} B"


def table(lines):
    """Expected beside found, the reasons below each line that is not right, and a last line."""
    text = [f"{'':12}{'transport':20}{'size':>7}  {'expected':18}{'found':18}"]
    group = None
    for line in lines:
        title, group = (line.group if line.group != group else ""), line.group
        state = line.state + ("" if line.counts else " (not counted: --libfabric)")
        text.append(f"{title:12}{line.label:20}{size_text(line.size):>7}  {line.expected:18}"
                    f"{line.found:18}{state}")
        text += [f"{'':21}because {reason}" for reason in line.reasons]
    text.append(f"{counted(lines, RIGHT)} right, {counted(lines, MISS)} missed, "
                f"{counted(lines, WRONG)} wrong, {counted(lines, NOT_RUN)} not run, "
                f"{counted(lines, OPEN)} open, "
                f"{sum(1 for line in lines if not line.counts)} left out")
    return "\n".join(text)


def doctor_problems(document, code, gpus=2):
    """What `gdrbench doctor --json` must say of a host with so many GPUs and no RDMA device."""
    conclusions = {each["subject"]: each for each in document["conclusions"]}
    problems = []

    def expect(subject, verdicts, words):
        found = conclusions.get(subject)
        said = f"{found['verdict']}: {found['why']}" if found else "nothing"
        if not found or found["verdict"] not in verdicts or words not in found["why"]:
            problems.append(f"{subject}: {' or '.join(verdicts)} {words} expected, and it says {said}")

    for gpu in range(gpus):
        expect(f"gpu {gpu}", ("possible",), "the GPU's side is able")
    for first, second in itertools.combinations(range(gpus), 2):
        expect(f"gpu {first} - gpu {second}", ("possible", "possible, slow"), "")
    expect("GPUDirect RDMA", ("not possible here",), "there is no RDMA device")
    if gpus < 2:
        problems += [f"{subject}: a pair, and there is one GPU" for subject in conclusions if " - " in subject]
    # An able GPU is half of a path: with nothing to pair it with, none is possible.
    wanted, why = (0, "the path between two GPUs is possible") if gpus > 1 else (3, "one GPU makes no path")
    if code != wanted:
        problems.append(f"exit {code}, not {wanted}: {why}")
    return problems
