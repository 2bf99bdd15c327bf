// Makes those calls that the CPU runs better than plain C++ does.
#pragma once
#include <memory>

#include "backends/cpu/machine/features.hpp"
#include "jit/calls/call.hpp"

namespace lazy::cpu_backend {

/// Returns the CPU's kernel for a call; null if the plain one is as good.
std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec&, Isa);

std::unique_ptr<jit::CallKernel> make_sort(Isa);
std::unique_ptr<jit::CallKernel> make_select(Isa);
std::unique_ptr<jit::CallKernel> make_concat();
std::unique_ptr<jit::CallKernel> make_fft(const jit::CallDefinition&, Isa);
std::unique_ptr<jit::CallKernel> make_compress();
std::unique_ptr<jit::CallKernel> make_recurrent(Isa, bool backward);
std::unique_ptr<jit::CallKernel> make_group_dots(Isa, bool numbers);
std::unique_ptr<jit::CallKernel> make_varlen_attention(Isa, bool backward);

}  // namespace lazy::cpu_backend
