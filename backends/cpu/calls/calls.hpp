// The calls that the CPU has better forms of than their plain ones.
#pragma once
#include <memory>

#include "jit/calls/call.hpp"

namespace lazy::cpu_backend {

/// Null: the plain one is as good.
std::unique_ptr<jit::CallKernel> make_call(const jit::CallSpec&);

std::unique_ptr<jit::CallKernel> make_sort();
std::unique_ptr<jit::CallKernel> make_concat();
std::unique_ptr<jit::CallKernel> make_cholesky();

}  // namespace lazy::cpu_backend
