// Names kernels for Linux perf.
#pragma once
#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// Writes a line to /tmp/perf-<pid>.map, from which `perf report` names the kernel.
void write_perf_map(const CodeInfo&);

/// Returns what lies in memory behind the code, at unwinding_place(): how it is unwound, for perf, which
/// looks for that in the kernel's mapping. Empty unless a jitdump is written.
std::string unwinding_behind(const CodeInfo&);

/// Writes a record to jit-<pid>.dump, in LAZY_DUMP_DIR or the working directory, in the format of perf's
/// tools/perf/Documentation/jitdump-specification.txt: the code itself and its source line, for
///    perf record -k 1 ./program;  perf inject --jit -i perf.data -o out.data;  perf annotate -i out.data
void write_jitdump(const CodeInfo&);

}  // namespace lazy::cpu_backend
