"""What this machine is."""

import os


def name():
    """Returns its own name, and what distinguishes it from others of that name."""
    with open("/proc/cpuinfo") as f:
        first = f.read().split("\n\n")[0]
    fields = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in first.splitlines())}
    flags = set(fields.get("flags", "").split())
    level = [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_vnni", "VNNI"), ("amx_tile", "AMX"))
             if flag in flags]
    return (f"{fields.get('model name', 'unknown')} (family {fields.get('cpu family')}, model {fields.get('model')}"
            + (", virtual" if "hypervisor" in flags else "") + f"; {len(os.sched_getaffinity(0))} cores), offers {', '.join(level)}")
