# Steps through every kernel from its first instruction to its return; main must be on the stack at each.
import gdb


def number(address, size):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, size)), "little")


def in_kernel():
    name = gdb.newest_frame().name()
    return name is not None and name.startswith(("lazy::map_", "lazy::reduce_", "lazy::contract_"))


def stack():
    frame, names = gdb.newest_frame(), []
    while frame is not None and len(names) < 64:
        names.append(frame.name())
        frame = frame.older()
    return names


def break_in_the_new_kernel():
    # The library has no debug information: fields are read by their places.
    descriptor = int(gdb.parse_and_eval("(unsigned long)&__jit_debug_descriptor"))
    if number(descriptor + 4, 4) != 1:
        return
    object_file = number(number(descriptor + 8, 8) + 16, 8)
    text_header = object_file + number(object_file + 40, 8) + 64  # the second section's
    gdb.execute("tbreak *%d" % number(text_header + 16, 8), to_string=True)


gdb.execute("set pagination off")
gdb.execute("break __jit_debug_register_code", to_string=True)
gdb.execute("run steps", to_string=True)
kernels = steps = 0
while gdb.selected_inferior().pid != 0:
    if gdb.newest_frame().name() == "__jit_debug_register_code":
        break_in_the_new_kernel()
    kernels += in_kernel()
    while in_kernel():
        names = stack()
        if "main" not in names:
            print("FAILED at", hex(gdb.newest_frame().pc()), names)
            gdb.execute("kill")
            break
        steps += 1
        gdb.execute("stepi", to_string=True)
    else:
        gdb.execute("continue", to_string=True)
print("walked %d instructions of %d kernels" % (steps, kernels))
