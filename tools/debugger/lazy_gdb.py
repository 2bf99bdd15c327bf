"""Prints lazy::Tensor in GDB: dtype, shape, device, and its first elements if it is ready, else what is pending.

    (gdb) source tools/debugger/lazy_gdb.py          # or in ~/.gdbinit
    (gdb) print x
    $1 = lazy::Tensor float32 [2, 3] on cpu, ready = {0, 1, 2, 3, 4, 5}
    (gdb) print y
    $2 = lazy::Tensor float32 [2, 3] on cpu, pending: tanh at main.cpp:12

Memory is read, nothing is called: printing flushes nothing and works on core files. The program needs debug
information of its own; of the library no more than the symbol lazy_debug_layout (lazy/core/debug_layout.hpp).
"""
import struct

import gdb

MOST_ELEMENTS = 16
PENDING, READY = 0, 1
VERSION = 2
FORMATS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
           "uint64": "Q", "float16": "e", "bfloat16": "H", "float32": "f", "float64": "d"}
OFFSETS = ("state", "op", "dtype", "device", "contiguous", "site", "shape", "buffer", "offset", "strides", "dims_values",
           "buffer_data")


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def number(address, size):
    return int.from_bytes(memory(address, size), "little", signed=size == 8)


def pointer(address):
    return int.from_bytes(memory(address, 8), "little")


def text(address):
    out = b""
    while address and len(out) < 4096 and not out.endswith(b"\0"):
        out += memory(address + len(out), 1)
    return out.rstrip(b"\0").decode("utf-8", "replace")


class Layout:
    """Where the fields of a node are: lazy_debug_layout of the program or library."""

    def __init__(self):
        at = int(gdb.parse_and_eval("(unsigned long)&lazy_debug_layout"))
        if number(at, 4) != VERSION:
            raise gdb.error("lazy_debug_layout has another version than lazy_gdb.py")
        self.dtypes, self.ops = pointer(at + 8), pointer(at + 16)
        for i, name in enumerate(OFFSETS):
            setattr(self, name, number(at + 24 + 4 * i, 4))

    def dims(self, at):
        return [number(at + self.dims_values + 8 * i, 8) for i in range(number(at, 1))]


def packed_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return strides


def element(address, dtype):
    """Returns the text of one element."""
    fmt = FORMATS[dtype]
    raw = memory(address, struct.calcsize(fmt))
    if dtype == "bfloat16":
        raw, fmt = b"\0\0" + raw, "f"
    value = struct.unpack("<" + fmt, raw)[0]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "%g" % value if isinstance(value, float) else str(value)


def elements(layout, node, dtype, shape):
    """Returns the first elements, in row-major order, as text."""
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return "{}"
    size = struct.calcsize(FORMATS[dtype])
    strides = packed_strides(shape) if number(node + layout.contiguous, 1) else layout.dims(pointer(node + layout.strides))
    first = pointer(pointer(node + layout.buffer) + layout.buffer_data) + number(node + layout.offset, 8) * size
    shown = []
    for i in range(min(count, MOST_ELEMENTS)):
        at = first
        for extent, stride in zip(reversed(shape), reversed(strides)):
            at += i % extent * stride * size
            i //= extent
        shown.append(element(at, dtype))
    return "{" + ", ".join(shown) + (", ..." if count > MOST_ELEMENTS else "") + "}"


def site(layout, node):
    """Returns the line that recorded the node: libstdc++'s source_location points to file, function and line."""
    at = pointer(node + layout.site)
    return " at %s:%d" % (text(pointer(at)).rsplit("/", 1)[-1], number(at + 16, 4)) if at else ""


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return self.described()
        except gdb.error as e:
            return "lazy::Tensor (can't be read: %s)" % e

    def described(self):
        address = self.value.address
        node = pointer(int(address)) if address is not None else int(self.value["handle_"]["node_"])
        if node == 0:
            return "lazy::Tensor (empty)"
        layout = Layout()
        dtype = text(pointer(layout.dtypes + 8 * number(node + layout.dtype, 1)))
        shape = layout.dims(node + layout.shape)
        kind, index = number(node + layout.device, 1), number(node + layout.device + 1, 1)
        head = "lazy::Tensor %s %s on %s, " % (dtype, shape, "cuda:%d" % index if kind else "cpu")
        state = number(node + layout.state, 1)
        if state == READY:
            return head + "ready" + (" = " + elements(layout, node, dtype, shape) if kind == 0 else "")
        op = text(pointer(layout.ops + 8 * number(node + layout.op, 1)))
        return head + ("pending: " if state == PENDING else "being computed: ") + op + site(layout, node)


def printer_of(value):
    name = value.type.strip_typedefs().unqualified().tag
    return TensorPrinter(value) if name == "lazy::Tensor" else None


gdb.pretty_printers.append(printer_of)
