// Lists the library's own calls, which have a file each beside this one.
#pragma once
#include "jit/calls/barrier.hpp"
#include "jit/calls/cholesky.hpp"
#include "jit/calls/compress.hpp"
#include "jit/calls/concat.hpp"
#include "jit/calls/eig.hpp"
#include "jit/calls/eigh.hpp"
#include "jit/calls/gcd.hpp"
#include "jit/calls/group_dots.hpp"
#include "jit/calls/lu.hpp"
#include "jit/calls/matrix_exp.hpp"
#include "jit/calls/qr.hpp"
#include "jit/calls/recurrent.hpp"
#include "jit/calls/select.hpp"
#include "jit/calls/solve_triangular.hpp"
#include "jit/calls/sort.hpp"
#include "jit/calls/svd.hpp"
#include "jit/calls/varlen_attention.hpp"

namespace lazy::jit {

inline constexpr const CallDefinition* kBuiltInCalls[] = {&calls::kBarrier,
                                                          &calls::kSort,
                                                          &calls::kSelect,
                                                          &calls::kConcat,
                                                          &calls::kCholesky,
                                                          &calls::kCompress,
                                                          &calls::kLu,
                                                          &calls::kLuSolve,
                                                          &calls::kSolve,
                                                          &calls::kSolveTriangular,
                                                          &calls::kQr,
                                                          &calls::kEigh,
                                                          &calls::kSvd,
                                                          &calls::kEig,
                                                          &calls::kMatrixExp,
                                                          &calls::kGcd,
                                                          &calls::kRecurrent,
                                                          &calls::kRecurrentBackward,
                                                          &calls::kVarlenAttention,
                                                          &calls::kVarlenAttentionBackward,
                                                          &calls::kGroupDots,
                                                          &calls::kGroupNumbers};

}  // namespace lazy::jit
