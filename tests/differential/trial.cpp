#include "tests/differential/trial.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "jit/core/rules.hpp"
#include "support/fp16.hpp"
#include "tests/common/kernel_builder.hpp"

namespace lazy::test {
namespace {

uint64_t element(const char* p, DType t) {
  uint64_t v = 0;
  std::memcpy(&v, p, size_of(t));
  return v;
}

bool is_nan(uint64_t v, DType t) {
  switch (t) {
    case DType::float16: return (v & 0x7fff) > 0x7c00;
    case DType::bfloat16: return (v & 0x7fff) > 0x7f80;
    case DType::float32: return (v & 0x7fffffff) > 0x7f800000;
    case DType::float64: return (v & ~0ull >> 1) > 0x7ffull << 52;
    default: return false;
  }
}

/// Returns the distance on the line of all floats of a type, -0 and +0 in one place.
uint64_t steps_apart(uint64_t a, uint64_t b, DType t) {
  const uint64_t sign = 1ull << (size_of(t) * 8 - 1);
  const uint64_t m = a & ~sign, n = b & ~sign;
  return (a ^ b) & sign ? m + n : m > n ? m - n : n - m;
}

std::string spelled(uint64_t v, DType t) {
  char text[80];
  double d = 0;
  switch (t) {
    case DType::float16: d = float16_t::from_bits(static_cast<uint16_t>(v)); break;
    case DType::bfloat16: d = bfloat16_t::from_bits(static_cast<uint16_t>(v)); break;
    case DType::float32: d = std::bit_cast<float>(static_cast<uint32_t>(v)); break;
    case DType::float64: d = std::bit_cast<double>(v); break;
    default: std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v)); return text;
  }
  std::snprintf(text, sizeof text, "%.17g (0x%llx)", d, static_cast<unsigned long long>(v));
  return text;
}

/// Holds the operands of a case in memory. Inputs are filled; outputs hold the pattern.
class Stage {
 public:
  explicit Stage(const Case& c) : c_(c) {
    for (size_t i = 0; i < c.kernel.operands.size(); ++i) {
      const OperandPlan& p = c.plans[i];
      if (p.overwrites >= 0) {
        memory_.emplace_back();
        continue;
      }
      const Span s = span_of(c, static_cast<int>(i));
      memory_.emplace_back(static_cast<size_t>(s.high - s.low), p.at_end, static_cast<size_t>(p.shift));
      if (c.kernel.operands[i].output) continue;
      const DType t = c.kernel.operands[i].dtype;
      char* at = pointer(i);
      each_element(c, static_cast<int>(i), [&](int64_t offset, uint64_t n) {
        const uint64_t v = random_value(t, p.values, c.seed + p.tag * 0x1000003ull, n);
        std::memcpy(at + offset, &v, size_of(t));
      });
    }
    std::vector<bool> written(memory_.size());
    for (const OperandPlan& p : c.plans)
      if (p.overwrites >= 0) written[p.overwrites] = true;
    for (size_t i = 0; i < memory_.size(); ++i)
      if (!c.kernel.operands[i].output && !written[i]) memory_[i].make_read_only();
  }

  const Guarded& memory(size_t i) const { return memory_[home(i)]; }
  char* pointer(size_t i) const {
    return memory_[home(i)].data() - span_of(c_, static_cast<int>(home(i))).low;
  }

  void run(const jit::Kernel& kernel) const {
    Launch args(c_.kernel);
    args.extents(c_.extents);
    for (size_t a = 0; a < c_.origins.size(); ++a) args.origin(static_cast<int>(a), c_.origins[a]);
    for (size_t i = 0; i < c_.scalars.size(); ++i) args.scalar(static_cast<int>(i), c_.scalars[i]);
    for (size_t i = 0; i < c_.plans.size(); ++i) {
      const OperandPlan& p = c_.plans[i];
      if (p.indexed < 0) continue;
      args.scalar(p.extent_scalar, extent_in_memory(c_, i, p.indexed));
      args.scalar(p.stride_scalar, p.strides[static_cast<size_t>(p.indexed)] /
                                       static_cast<int64_t>(size_of(c_.kernel.operands[i].dtype)));
    }
    for (size_t i = 0; i < memory_.size(); ++i) {
      std::vector<int64_t> strides = c_.plans[i].strides;
      for (size_t a = 0; a < strides.size(); ++a)
        if (c_.kernel.operands[i].stride[a] == Stride::zero) strides[a] = 0;
      args.operand(static_cast<int>(i), pointer(i), strides);
    }
    kernel.launch(args.data());
  }

 private:
  size_t home(size_t i) const {
    return c_.plans[i].overwrites >= 0 ? static_cast<size_t>(c_.plans[i].overwrites) : i;
  }

  const Case& c_;
  std::vector<Guarded> memory_;
};

std::string place(const Case& c, size_t operand, uint64_t n) {
  std::string s;
  for (int a = c.kernel.rank - 1; a >= 0; --a) {
    const auto e = static_cast<uint64_t>(extent_in_memory(c, operand, a));
    s = (a ? ", " : "[") + std::to_string(n % e) + s;
    n /= e;
  }
  return s + "]";
}

/// Describes the inputs that a map reads at the index of element n of an output.
std::string inputs_at(const Case& c, const Stage& fresh, uint64_t n, size_t output) {
  if (c.kernel.form != Form::map) return {};
  int64_t index[kMaxAxes] = {};
  for (int a = c.kernel.rank - 1; a >= 0; --a) {
    const uint64_t e =
        c.kernel.operands[output].stride[a] == Stride::zero ? 1 : static_cast<uint64_t>(c.extents[a]);
    index[a] = static_cast<int64_t>(n % e);
    n /= e;
  }
  std::string s;
  for (size_t i = 0; i < c.kernel.operands.size(); ++i) {
    const Operand& o = c.kernel.operands[i];
    if (o.output) continue;
    int64_t offset = 0;
    for (int a = 0; a < c.kernel.rank; ++a)
      if (o.stride[a] != Stride::zero) offset += index[a] * c.plans[i].strides[a];
    s += "    input " + std::to_string(i) + ": " +
         spelled(element(fresh.pointer(i) + offset, o.dtype), o.dtype) + "\n";
  }
  return s;
}

std::string differences(const Case& c, const Stage& want, const Stage& got, const Tolerance& tolerance) {
  for (const Store& t : c.kernel.stores) {
    const DType type = c.kernel.operands[t.operand].dtype;
    const double allowed = type == DType::float32   ? tolerance.float32_ulps
                           : type == DType::float64 ? tolerance.float64_ulps
                                                    : 0;
    std::string found;
    each_element(c, t.operand, [&](int64_t offset, uint64_t n) {
      const char* a = want.pointer(t.operand) + offset;
      char* b = got.pointer(t.operand) + offset;
      const uint64_t x = element(a, type), y = element(b, type);
      if (x == y) return;
      const bool nans = is_nan(x, type) && is_nan(y, type);
      const uint64_t steps = steps_apart(x, y, type);  // 0 here means zeros of different signs
      const bool near =
          !is_nan(x, type) && !is_nan(y, type) && steps > 0 && static_cast<double>(steps) <= allowed;
      if (nans || near) {
        std::memcpy(b, a, size_of(type));  // so that the rest must be equal byte by byte
        return;
      }
      if (found.empty())
        found = "operand " + std::to_string(t.operand) + " at " + place(c, t.operand, n) + " is " +
                spelled(y, type) + ", expected " + spelled(x, type) + "\n" +
                inputs_at(c, Stage(c), n, t.operand);
    });
    if (!found.empty()) return found;
    const Guarded &a = want.memory(t.operand), &b = got.memory(t.operand);
    for (const char *p = a.begin(), *q = b.begin(); p != a.end(); ++p, ++q)
      if (*p != *q)
        return "operand " + std::to_string(t.operand) + ": a byte at offset " +
               std::to_string(q - got.pointer(t.operand)) +
               " from its pointer, of no element, was overwritten\n";
  }
  return {};
}

}  // namespace

bool wanted(const Case& c) {
  const char *form = std::getenv("LAZY_TEST_FORM"), *skip = std::getenv("LAZY_TEST_SKIP");
  const std::string text = print(c.kernel);
  return (!form || text.rfind(form, 0) == 0) && (!skip || text.find(skip) == text.npos);
}

std::string trial(const Case& c, const Contestant& oracle, const std::vector<Contestant>& contestants,
                  const Tolerance& tolerance) {
  const Stage want(c);
  oracle.prepare();
  want.run(*oracle.compile(c.kernel));
  for (const Contestant& one : contestants) {
    const Stage got(c);
    try {
      one.prepare();
      got.run(*one.compile(c.kernel));
    } catch (const std::exception& e) { return one.name + " throws: " + e.what() + "\n"; }
    std::string found = differences(c, want, got, tolerance);
    if (!found.empty()) return one.name + ": " + found;
  }
  return {};
}

namespace {

/// Returns the kind of failure that a text describes: a smaller case has to fail alike.
std::string kind_of_failure(const std::string& text) {
  for (const char* mark : {"throws: ", "died: ", "overwritten"})
    if (const size_t at = text.find(mark); at != text.npos) return text.substr(at, text.find('\n', at) - at);
  return "differs";
}

}  // namespace

Case shrink(Case c, const std::function<std::string(const Case&)>& failing) {
  // Each step restarts from the first kind of change, which removes most. The bound is on the time that a
  // failing test takes.
  int budget = 600;
  const std::string kind = kind_of_failure(failing(c));
  for (bool progress = true; progress && budget > 0;) {
    progress = false;
    for (const Case& s : smaller(c)) {
      if (--budget <= 0) break;
      const std::string text = failing(s);
      if (text.empty() || kind_of_failure(text) != kind) continue;
      c = s;
      progress = true;
      break;
    }
  }
  return c;
}

}  // namespace lazy::test
