// Measures the speed of this machine: once, at the first launch that might be worth a second thread, in a few
// milliseconds.
// Invariant: only decisions about time follow from it, never a result.
#pragma once
#include <string>

namespace lazy::cpu_backend {

struct Machine {
  double fma_ns;                              // one vector fused multiply-add among independent ones
  double l1_gbs, l2_gbs, l3_gbs, memory_gbs;  // bytes read and written in a nanosecond by one thread's copies
  double dispatch_ns;  // time to hand pieces to threads that are awake, and to wait for them; 0: one thread
};
const Machine& machine();
/// Returns the figures as text, a line each.
std::string to_string(const Machine&);

/// Returns the nanoseconds that so many threads take at least: for the arithmetic at the machine's peak, and
/// for the bytes from the smallest cache that holds them.
double least_time(double bytes, double flops, int threads);

/// Returns the figures as an event of LAZY_PROFILE.
void record_machine();

/// Returns the bytes per nanosecond of a launch that touches `footprint` bytes again and again.
double bandwidth(const Machine&, double footprint);

}  // namespace lazy::cpu_backend
