#include <algorithm>
#include <string>

#include "jit/plan/program.hpp"

namespace lazy::jit {
namespace {

constexpr const char* kNames[kGuardKinds] = {"contiguous",   "unit_stride", "broadcast", "collapsible",
                                             "stride_32bit", "extent",      "scalar",    "position"};

int64_t found(const Guard& g, const Program& p, const CapturedGraph& f) {
  using K = Guard::Kind;
  switch (g.kind) {
    case K::contiguous: return f.values[g.node]->contiguous;
    case K::extent: return f.values[g.node]->shape[g.dim];
    case K::scalar: return static_cast<int64_t>(f.values[g.node]->scalar.bits);
    case K::position: {
      const Node& n = *f.values[g.node];
      return g.operand == 0 ? n.ints[g.dim] : n.steps[g.dim];
    }
    default: break;
  }
  const Step& s = p.steps[g.step];
  const Binding& b = s.operands[g.operand];
  OperandLayout l;
  operand_layout(p, s, b, f, l);
  switch (g.kind) {
    case K::unit_stride:
      if (g.value == 0) return l.stride[g.dim] == 1;  // strided: any other will do
      [[fallthrough]];
    case K::broadcast: return l.stride[g.dim];
    case K::collapsible: return l.stride[g.dim] == l.stride[g.dim + 1] * extent_of(s.dims[g.dim + 1u], f);
    default: return fits_32bit(l.stride[g.dim], b.dtype);
  }
}

}  // namespace

const char* name_of(Guard::Kind k) { return kNames[static_cast<int>(k)]; }

bool fits_32bit(int64_t stride, DType t) {
  const int64_t reach = int64_t{1} << 31;
  return std::abs(stride) < reach && std::abs(stride) * 64 * static_cast<int64_t>(size_of(t)) < reach;
}

const Guard* failed_guard(const Program& p, const CapturedGraph& f, int64_t& actual) {
  // Layouts with which the program ran before need not be looked at one by one. Scalars are no part of them.
  constexpr size_t kFew = 8;
  if (p.guards.size() > kFew && p.arguments.as_before(f) &&
      std::none_of(p.guards.begin(), p.guards.end(), [](auto& g) { return g.kind == Guard::Kind::scalar; }))
    return nullptr;
  for (const Guard& g : p.guards)
    if ((actual = found(g, p, f)) != g.value) return &g;
  return nullptr;
}

uint32_t subject_of(const Guard& g, const Program& p) {
  using K = Guard::Kind;
  if (g.kind == K::contiguous || g.kind == K::extent || g.kind == K::scalar || g.kind == K::position)
    return g.node;
  return p.steps[g.step].operands[g.operand].node;
}

std::string describe(const Guard& g, int64_t actual) {
  using K = Guard::Kind;
  const auto v = [&](uint32_t n) { return "v" + std::to_string(n); };
  const auto differs = [&](const std::string& what) {
    return what + ": was " + std::to_string(g.value) + ", now " + std::to_string(actual);
  };
  const std::string operand = "operand " + std::to_string(g.operand) + " of kernel " + std::to_string(g.step);
  switch (g.kind) {
    case K::contiguous: return "contiguous: " + v(g.node) + " was row-major without gaps, now it is not";
    case K::unit_stride:
      if (g.value == 0)
        return "unit_stride: stride of " + operand + " along its vector axis: was not 1, now is";
      return differs("unit_stride: stride of " + operand + " along its vector axis");
    case K::broadcast: return differs("broadcast: stride of " + operand + " along its vector axis");
    case K::collapsible:
      return "collapsible: dimensions " + std::to_string(g.dim) + " and " + std::to_string(g.dim + 1) +
             " of " + operand + " were evenly spaced, now they are not";
    case K::stride_32bit: return "stride_32bit: offsets in " + operand + " fitted 32 bits, now they do not";
    case K::extent: return differs("extent: dimension " + std::to_string(g.dim) + " of " + v(g.node));
    case K::scalar: return differs("scalar: bits of constant " + v(g.node));
    case K::position:
      return differs(std::string("position: ") + (g.operand ? "step" : "start") + " of slice " + v(g.node) +
                     " along axis " + std::to_string(g.dim));
  }
  return {};
}

std::string describe(const Guard& g) {
  using K = Guard::Kind;
  const std::string name = std::string(name_of(g.kind)) + ": ", node = "v" + std::to_string(g.node),
                    dim = std::to_string(g.dim), value = std::to_string(g.value),
                    operand = "operand " + std::to_string(g.operand) + " of kernel " + std::to_string(g.step);
  switch (g.kind) {
    case K::contiguous: return name + node + (g.value ? " is" : " is not") + " row-major without gaps";
    case K::unit_stride:
    case K::broadcast: return name + "stride of " + operand + " along dimension " + dim + " is " + value;
    case K::collapsible:
      return name + "dimensions " + dim + " and " + std::to_string(g.dim + 1) + " of " + operand +
             (g.value ? " are" : " are not") + " evenly spaced";
    case K::stride_32bit:
      return name + "offsets in " + operand + (g.value ? " fit" : " do not fit") + " 32 bits";
    case K::extent: return name + "dimension " + dim + " of " + node + " is " + value;
    case K::scalar: return name + "bits of constant " + node + " are " + value;
    case K::position:
      return name + (g.operand ? "step" : "start") + " of slice " + node + " along axis " + dim + " is " +
             value;
  }
  return {};
}

}  // namespace lazy::jit
