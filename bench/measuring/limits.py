"""What a row must move or compute at least, and so how long the machine needs for it."""

import math
import re
import statistics

from .figures import LIMITS

BYTES = {"f64": 8, "int64": 8, "int32": 4, "bf16": 2, "f16": 2, "int8": 1}
# Reads and writes so many arrays of its size; a size is the product of its numbers.
ARRAYS = {"fused_chain": 5, "arith_chain": 5, "black_scholes": 6, "softmax": 2, "log_softmax": 2, "layernorm": 2, "rmsnorm": 2,
          "col_standardize": 3, "logsumexp": 1, "argmax": 1, "sum": 1, "max": 1, "polynomial": 3}
# Sizes of data, in bytes, up to which a level of cache holds it.
LEVELS = (("triad_l1_gbs", 36e3), ("triad_l2_gbs", 800e3), ("triad_l3_gbs", 26e6), ("triad_memory_gbs", math.inf))
BOUND = 0.4  # share of the limit from which a row counts as bound by it


def least(workload, size):
    """Returns (bytes, flops) of a workload, or None where no simple limit is known."""
    d = [int(x) for x in re.findall(r"\d+", size)]
    base, _, suffix = workload.rpartition("_")
    width = BYTES.get(suffix, 4)
    name = base if suffix in BYTES else workload
    if name in ARRAYS:
        return ARRAYS[name] * width * math.prod(d), 0
    if workload == "mandelbrot100":
        return 12 * d[0], 100 * 8 * d[0]
    if workload == "matmul":
        rows, depth, columns = d if len(d) == 3 else d * 3
        return 4 * (rows * depth + depth * columns + rows * columns), 2 * rows * depth * columns
    if workload == "matvec":
        return 4 * d[0] ** 2, 2 * d[0] ** 2
    if workload == "batched_matmul":
        batch, rows, depth, columns = d if len(d) == 4 else (*d, d[1])
        return 4 * batch * (rows * depth + depth * columns + rows * columns), 2 * batch * rows * depth * columns
    if workload in ("linear_fp32", "linear_gelu"):
        return 4 * (d[0] * d[1] + d[1] * d[2] + d[0] * d[2]), 2 * d[0] * d[1] * d[2]
    if workload in ("attention", "attention_causal"):
        flops = 4 * d[0] * d[1] ** 2 * d[2]
        return 16 * math.prod(d), flops / 2 if workload == "attention_causal" else flops
    if workload == "attention_decode":
        return 8 * math.prod(d), 4 * math.prod(d)
    if workload == "encoder_block":
        return 4 * (3145728 + 2 * d[0] * d[1] * d[2]), 3.36e9
    if workload.startswith(("conv2d_n", "conv_bn_relu_n")) and len(d) == 4:
        return 4 * (2 * d[1] * d[2] * d[3] + 9 * d[1] ** 2), 2 * 9 * d[1] ** 2 * d[2] * d[3]
    return None


def level(moved, threads):
    """Returns the limit that holds for so many bytes; each thread brings its own first two levels."""
    for name, room in LEVELS:
        if moved <= room * (threads if name in ("triad_l1_gbs", "triad_l2_gbs") else 1):
            return name
    raise AssertionError("the last level is endless")


def shortest(f):
    """Returns the microseconds that the machine needed at least in the minute of the figure; None if unknown."""
    work = least(f.workload, f.size)
    if not work or math.isnan(f["fma_gflops"]):
        return None
    moved, flops = work
    return max(moved / f[level(moved, f.threads)], flops / f["fma_gflops"]) * 1e-3


def bound_by_memory(f):
    """Returns the name of the bandwidth that bounds the row, or None if it is another thing, or unknown."""
    work, floor = least(f.workload, f.size), shortest(f)
    if floor is None or floor < BOUND * f.median_us:
        return None
    name = level(work[0], f.threads)
    return name if work[0] / f[name] >= work[1] / f["fma_gflops"] else None


def drift(old, new, column):
    """Returns the median ratio new/old of a column over the rows that both have; None if there are none."""
    pairs = [new[k][column] / old[k][column] for k in old.keys() & new.keys()]
    pairs = [p for p in pairs if math.isfinite(p)]
    return statistics.median(pairs) if pairs else None


DRIFTS = ("clock_ghz", *LIMITS.values())
