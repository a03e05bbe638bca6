# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this host, and those of them that a CUDA program sees."""

import os
import re
import subprocess


def gpus_of_this_host():
    """How many there are, and the indices of those that CUDA_VISIBLE_DEVICES leaves, in its order: it reads
    from the left, up to the first that does not exist, and one that is named again is no second one."""
    try:
        text = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"no GPU is seen: {error}", flush=True)
        return 0, []
    present = re.findall(r"^GPU (\d+): .*?(?:\(UUID: (\S+)\))?$", text, re.M)
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return len(present), [index for index, _ in present]
    visible = []
    for word in filter(None, map(str.strip, named.split(","))):
        found = [index for index, uuid in present if word == index or (uuid and uuid.startswith(word))]
        if len(found) != 1:
            break
        if found[0] not in visible:
            visible.append(found[0])
    return len(present), visible
