// Makes complex values: pairs of real ones, their planes. A pair is a node of Op::complex which is in no
// graph and never computed: to evaluate it is to evaluate its planes, and what is recorded of it is recorded
// of them (lazy/complex). So the compiler, its keys and the backends know no complex numbers.
#pragma once
#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Pairs two values of one shape and device, both float32 or both float64.
Handle complex(const Handle& re, const Handle& im, const Site&);
/// Return the planes of a complex value.
Handle real_plane(const Handle& complex);
Handle imaginary_plane(const Handle& complex);
/// Gives a complex value other planes, which have the same numbers. No other thread reads it meanwhile.
void replace_planes(const Handle& complex, const Handle& re, const Handle& im);

}  // namespace lazy::jit
