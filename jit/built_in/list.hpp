// Lists the library's own calls, which have a file each in this room.
#pragma once
#include "jit/built_in/barrier.hpp"
#include "jit/built_in/compress.hpp"
#include "jit/built_in/concat.hpp"
#include "jit/built_in/fft/fft.hpp"
#include "jit/built_in/gcd.hpp"
#include "jit/built_in/linalg/cholesky.hpp"
#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/matrix_exp.hpp"
#include "jit/built_in/linalg/qr.hpp"
#include "jit/built_in/linalg/solve_triangular.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "jit/built_in/nn/group_dots.hpp"
#include "jit/built_in/nn/recurrent.hpp"
#include "jit/built_in/nn/varlen_attention.hpp"
#include "jit/built_in/select.hpp"
#include "jit/built_in/sort.hpp"

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
                                                          &calls::kGroupNumbers,
                                                          &calls::kFft,
                                                          &calls::kFftColumns,
                                                          &calls::kRealFft,
                                                          &calls::kInverseRealFft};

}  // namespace lazy::jit
