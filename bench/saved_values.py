#!/usr/bin/env python3
"""Compares what steps of training store for the way back with the least that could be stored.

  LAZY_PROFILE=trace.json bench_training --only gpt --seconds 0
  saved_values.py trace.json

Of each program that has a loss and a way back: the bytes of values of the forward part that kernels of the way back
read from memory, and the least of any choice, a minimum cut. A value is saved, or computed again from saved ones and
inputs; products, reductions, scans, calls and random numbers are never computed again. This is the cut of
AOTAutograd's partitioner (Horace He and others, 2022), each value counting its bytes. Needs NumPy and SciPy.
"""

import json
import sys

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

SIZE = {"bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "uint64": 8}
ONCE = {"matmul", "contract", "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "scan", "call", "part", "gather", "scatter",
        "window", "conv", "reduce", "mean", "cumsum"}


def bytes_of(node):
    return int(np.prod(node["shape"], dtype=np.int64)) * SIZE.get(node["dtype"], 4)


def ancestors(nodes, of):
    seen, todo = set(), [of]
    while todo:
        v = todo.pop()
        if v not in seen:
            seen.add(v)
            todo += nodes[v]["from"]
    return seen


def computed_once(node, nodes):
    """True of what is not computed again: it takes more than one pass over its own elements."""
    if node["op"] in ONCE or any(node["op"].startswith(k) for k in ("reduce", "scan", "cum", "random", "uniform", "normal")):
        return True
    return any(bytes_of(nodes[o]) > 4 * bytes_of(node) and node["op"] not in ("slice", "select", "permute") for o in node["from"])


def saved(nodes, forward):
    """Returns the values of the forward part that the rest reads from memory."""
    readers = {}
    for n in nodes.values():
        for o in n["from"]:
            readers.setdefault(o, []).append(n["v"])
    found = set()
    for v in (v for v in nodes if v not in forward):
        # What is not stored is computed where it is read: follow it to memory.
        todo = list(nodes[v]["from"])
        while todo:
            o = todo.pop()
            if o not in forward or nodes[o]["op"] == "input":
                continue
            if nodes[o].get("stored"):
                found.add(o)
            else:
                todo += nodes[o]["from"]
    return found


def least(nodes, forward):
    """Returns the bytes of a minimum cut between inputs and what the rest reads."""
    unit = 64  # bytes; capacities are 32-bit numbers
    infinite = 1 << 30
    place = {v: i for i, v in enumerate(sorted(forward))}
    count = 2 * len(place) + 2
    source, sink = count - 2, count - 1
    edges = {}
    for v, i in place.items():
        n = nodes[v]
        free = n["op"] in ("input", "constant", "iota")
        edges[2 * i, 2 * i + 1] = 0 if free else max(1, bytes_of(n) // unit)
        if free:
            continue
        if computed_once(n, nodes):
            edges[source, 2 * i] = infinite
        for o in n["from"]:
            if nodes[o]["op"] not in ("input", "constant", "iota"):
                edges[2 * place[o] + 1, 2 * i] = infinite
    for v in (v for v in nodes if v not in forward):
        for o in nodes[v]["from"]:
            if o in place and nodes[o]["op"] not in ("input", "constant", "iota"):
                edges[2 * place[o] + 1, sink] = infinite
    rows, columns = zip(*edges) if edges else ((), ())
    graph = csr_matrix((np.array(list(edges.values()), np.int32), (rows, columns)), shape=(count, count))
    return maximum_flow(graph, source, sink).flow_value * unit


def main():
    events = json.load(open(sys.argv[1]))
    events = events["traceEvents"] if isinstance(events, dict) else events
    for graph in (e["args"]["graph"] for e in events if e.get("name") == "program"):
        nodes = {n["v"]: n for n in graph["nodes"]}
        scalars = [v for v, n in nodes.items() if n["op"] != "input" and n.get("stored") and not n["shape"]]
        if not scalars:
            continue
        forward = max((ancestors(nodes, v) for v in scalars), key=len)
        if len(forward) == len(nodes):
            continue
        ours = saved(nodes, forward)
        total, best = sum(bytes_of(nodes[v]) for v in ours), least(nodes, forward)
        print(f"program {graph['program']}: {graph['ops']} ops, {len(forward)} of them forward; saved {len(ours)} values, "
              f"{total / 1e6:.2f} MB; least {best / 1e6:.2f} MB; ratio {total / max(best, 1):.2f}")
        if "-v" in sys.argv:
            for v in sorted(ours, key=lambda v: -bytes_of(nodes[v]))[:40]:
                print("   ", v, nodes[v]["op"], nodes[v]["shape"], nodes[v].get("at"), bytes_of(nodes[v]) / 1e6)


main()
