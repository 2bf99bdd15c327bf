// Makes the calls of linear algebra.
#pragma once
#include <memory>

#include "jit/calls/call.hpp"

namespace lazy::cpu_backend {

std::unique_ptr<jit::CallKernel> make_cholesky();
std::unique_ptr<jit::CallKernel> make_lu();
std::unique_ptr<jit::CallKernel> make_lu_solve();
std::unique_ptr<jit::CallKernel> make_solve();
std::unique_ptr<jit::CallKernel> make_solve_triangular();
std::unique_ptr<jit::CallKernel> make_qr();
std::unique_ptr<jit::CallKernel> make_eigh();
std::unique_ptr<jit::CallKernel> make_svd();
std::unique_ptr<jit::CallKernel> make_eig();

}  // namespace lazy::cpu_backend
