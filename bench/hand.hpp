// Declares the loops that a patient programmer would write by hand for the same work: fused, vectorised for
// this machine, into memory that exists already. workloads.hpp defines what they compute; accuracy is a few
// ulp, as the library's.
#pragma once
#include <cstddef>

namespace bench::hand {

/// Names the vector instructions that this file was compiled for.
const char* instructions();
/// Sets the threads that the loops below use; small arrays stay on the calling thread.
void set_threads(int);

void chain10(const float* a, const float* b, const float* c, float* y, size_t n);
void fused_chain(const float* a, const float* b, const float* c, const float* d, float* y, size_t n);
/// Computes likewise a gelu whose negative tail is right, as the library's is: the fair opponent. The one
/// above computes x/2 (1 + erf), which is cheaper and loses that tail.
void fused_chain_accurate(const float* a, const float* b, const float* c, const float* d, float* y, size_t n);
/// Computes STREAM's y = a + 2.5 b, with ordinary stores.
void triad(const float* a, const float* b, float* y, size_t n);
void arith_chain(const float* a, const float* b, const float* c, const float* d, float* y, size_t n);
void black_scholes(const float* spot, const float* strike, const float* years, const float* volatility,
                   float* call, float* put, size_t n);
void mandelbrot(const float* cr, const float* ci, float* count, size_t n, int iterations);

// Process each row of `columns`, one row after the other: a row stays in the cache between its passes.
void softmax(const float* x, float* y, size_t rows, size_t columns);
void log_softmax(const float* x, float* y, size_t rows, size_t columns);
void logsumexp(const float* x, float* y, size_t rows, size_t columns);
void argmax(const float* x, float* y, size_t rows, size_t columns);
void sum(const float* x, float* y, size_t rows, size_t columns);
void layernorm(const float* x, const float* weight, const float* bias, float* y, size_t rows, size_t columns);
void rmsnorm(const float* x, const float* weight, float* y, size_t rows, size_t columns);

}  // namespace bench::hand
