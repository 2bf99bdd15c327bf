#include "backends/cuda/emitter/recipe.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/cuda/emitter/text.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "backends/vector/helpers.hpp"
#include "backends/vector/vecmath/forms.hpp"
#include "jit/core/rules.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend {
namespace {
using vir::Inst;
using vir::Pred;
using vir::Rounding;
using vir::Type;
using vir::Val;
using VOp = vir::Op;
const char* spelled(Type t) {
  switch (t) {
    case Type::f32: return "float";
    case Type::f64: return "double";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
    case Type::mask: return "bool";
  }
  return "";
}

/// Returns the stem of a value's name, which its number follows.
const char* stem(const Inst& i) {
  switch (i.op) {
    case VOp::add:
    case VOp::iadd: return "sum";
    case VOp::sub:
    case VOp::isub: return "difference";
    case VOp::mul:
    case VOp::imul: return "product";
    case VOp::div: return "quotient";
    case VOp::sqrt: return "root";
    case VOp::fma:
    case VOp::fnma:
    case VOp::fms: return "fused";
    case VOp::min:
    case VOp::imin: return "least";
    case VOp::max:
    case VOp::imax: return "most";
    case VOp::round: return "whole";
    case VOp::scalef: return "scaled";
    case VOp::getexp: return "exponent";
    case VOp::getmant: return "significand";
    case VOp::cmp: return "is";
    case VOp::select: return "choice";
    case VOp::patch: return "patched";
    default: return i.type == Type::mask ? "is" : "bits";
  }
}

/// Prints one recipe.
class Printer {
 public:
  Printer(const std::vector<Inst>& code, Val result) : code_(code), names_(code.size()), used_(code.size()) {
    mark(result.id);
  }

  std::string function(const std::string& name, int arguments, Val result) {
    const std::string type = spelled(result.type);
    text_.open("static __device__ __forceinline__ " + type + " " + name + "(" + type + " x" +
               (arguments == 2 ? ", " + type + " y" : "") + ")");
    for (uint32_t id = 0; id <= result.id; ++id)
      if (used_[id]) instruction(id);
    text_.line("return " + names_[result.id] + ";");
    text_.close();
    return text_.take();
  }
  std::vector<std::string> dependencies;

 private:
  void mark(uint32_t last) {
    used_[last] = 1;
    for (uint32_t id = last + 1; id-- > 0;) {
      if (!used_[id]) continue;
      const Inst& i = code_[id];
      const int n = arity_of(i.op);
      const uint32_t operands[] = {i.a, i.b, i.c, i.d};
      for (int k = 0; k < n; ++k) used_[operands[k]] = 1;
    }
  }

  void instruction(uint32_t id) {
    const Inst& i = code_[id];
    if (i.op == VOp::constant) names_[id] = constant(i);
    else if (i.op == VOp::input) names_[id] = i.imm ? "y" : "x";
    else {
      names_[id] = stem(i) + std::to_string(id);
      if (i.op == VOp::patch) patch(i, names_[id]);
      else
        text_.line(std::string("const ") + spelled(i.type) + " " + names_[id] + " = " + expression(i) + ";");
    }
  }

  static std::string constant(const Inst& i) {
    const std::string text = digits(i);
    return text[0] == '-' ? "(" + text + ")" : text;
  }
  static std::string digits(const Inst& i) {
    switch (i.type) {
      case Type::f32: return literal(DType::float32, i.imm);
      case Type::f64: return literal(DType::float64, i.imm);
      case Type::i32: return literal(DType::int32, i.imm);
      case Type::i64: return literal(DType::int64, i.imm);
      case Type::mask: break;
    }
    return i.imm ? "true" : "false";
  }

  std::string need(const char* name) {
    dependencies.push_back(name);
    return name;
  }
  /// Returns the name of a function of the prelude for the instruction's float type.
  std::string need_float(const char* stem, Type t) {
    dependencies.push_back(std::string(stem) + (t == Type::f64 ? "_f64" : "_f32"));
    return dependencies.back();
  }

  void patch(const Inst& i, const std::string& name) {
    static const char* const helpers[] = {
#define LAZY_HELPER(name) #name,
#include "backends/vector/helpers.def"
#undef LAZY_HELPER
    };
    text_.line(std::string(spelled(i.type)) + " " + name + " = " + names_[i.d] + ";");
    text_.line("if (" + names_[i.a] + ") " + name + " = " + need(helpers[i.imm]) + "(" + names_[i.b] + ");");
  }

  std::string bits(uint32_t id) const {
    switch (code_[id].type) {
      case Type::f32: return "__float_as_int(" + names_[id] + ")";
      case Type::f64: return "__double_as_longlong(" + names_[id] + ")";
      default: return names_[id];
    }
  }
  static std::string from_bits(Type t, const std::string& s) {
    switch (t) {
      case Type::f32: return "__int_as_float(" + s + ")";
      case Type::f64: return "__longlong_as_double(" + s + ")";
      default: return s;
    }
  }

  /// Returns integer arithmetic that wraps: computed as unsigned.
  static std::string wrapping(Type t, const std::string& a, const char* op, const std::string& b) {
    const bool wide = t == Type::i64;
    const std::string s = wide ? "(i64)" : "(i32)", u = wide ? "(u64)" : "(u32)";
    return s + "(" + u + a + " " + op + " " + u + b + ")";
  }

  std::string compare(const Inst& i) const {
    const std::string a = names_[i.a], b = names_[i.b];
    switch (static_cast<Pred>(i.imm)) {
      case Pred::eq: return a + " == " + b;
      case Pred::ne: return a + " != " + b;
      case Pred::lt: return a + " < " + b;
      case Pred::le: return a + " <= " + b;
      case Pred::gt: return a + " > " + b;
      case Pred::ge: return a + " >= " + b;
      case Pred::unord: return a == b ? a + " != " + a : a + " != " + a + " || " + b + " != " + b;
      case Pred::ord: return a == b ? a + " == " + a : a + " == " + a + " && " + b + " == " + b;
      default: break;
    }
    throw CompileError("CUDA: an unsigned comparison in vector math");
  }

  /// Returns an expression for an integral value plus 1.5 times the power of two at which a float's last bit
  /// counts one.
  std::string shifted(uint32_t id) const {
    const Inst& i = code_[id];
    const bool f64 = i.type == Type::f64;
    const uint64_t magic =
        f64 ? std::bit_cast<uint64_t>(0x1.8p52) : uint64_t{std::bit_cast<uint32_t>(0x1.8p23f)};
    // Subtracting the constant is mostly how the value was rounded.
    if (i.op == VOp::sub && code_[i.b].op == VOp::constant && code_[i.b].imm == magic) return names_[i.a];
    return names_[id] + (f64 ? " + 0x1.8p52" : " + 0x1.8p23f");
  }

  std::string expression(const Inst& i) {
    const bool f64 = i.type == Type::f64;
    const auto a = [&] { return names_[i.a]; };
    const auto b = [&] { return names_[i.b]; };
    const auto c = [&] { return names_[i.c]; };
    const auto call = [&](const char* f32_name, const char* f64_name) {
      return std::string(f64 ? f64_name : f32_name) + "(" + a() + ")";
    };
    const auto fused = [&](const char* sign_a, const char* sign_c) {
      return std::string(f64 ? "fma(" : "fmaf(") + sign_a + a() + ", " + b() + ", " + sign_c + c() + ")";
    };
    const auto sign_of = [&](uint32_t id) {  // whether it is the constant with only the sign bit
      return code_[id].op == VOp::constant && code_[id].imm == (f64 ? 1ull << 63 : 1ull << 31);
    };
    const auto bitwise = [&](const char* op) {
      return i.type == Type::mask ? a() + " " + op + " " + b()
                                  : from_bits(i.type, bits(i.a) + " " + op + " " + bits(i.b));
    };
    switch (i.op) {
      case VOp::add: return a() + " + " + b();
      case VOp::sub: return a() + " - " + b();
      case VOp::mul: return a() + " * " + b();
      case VOp::div:
        if (!i.imm || f64) return a() + " / " + b();
        if (code_[i.a].op == VOp::constant && code_[i.a].imm == std::bit_cast<uint32_t>(1.0f))
          return need("reciprocal_f32") + "(" + b() + ")";
        return need("quotient_f32") + "(" + a() + ", " + b() + ")";
      case VOp::sqrt: return call("sqrtf", "sqrt");
      case VOp::fma: return fused("", "");
      case VOp::fnma: return fused("-", "");
      case VOp::fms: return fused("", "-");
      case VOp::min: return a() + " < " + b() + " ? " + a() + " : " + b();
      case VOp::max: return a() + " > " + b() + " ? " + a() + " : " + b();
      case VOp::round:
        switch (static_cast<Rounding>(i.imm)) {
          case Rounding::even: return call("rintf", "rint");
          case Rounding::floor: return call("floorf", "floor");
          case Rounding::ceil: return call("ceilf", "ceil");
          case Rounding::trunc: return call("truncf", "trunc");
        }
        break;
      case VOp::scalef:
        if (!i.imm) break;
        return need_float("times_power_of_two", i.type) + "(" + a() + ", " + shifted(i.b) + ")";
      case VOp::getexp:
        return need_float(i.imm == 1 ? "exponent_of_normal" : "exponent", i.type) + "(" + a() + ")";
      case VOp::getmant:
        return need_float(i.imm ? "significand_or_nan" : "significand", i.type) + "(" + a() + ")";
      case VOp::and_: return bitwise("&");
      case VOp::or_: return bitwise("|");
      case VOp::xor_: return i.type == Type::mask ? a() + " != " + b() : bitwise("^");
      case VOp::andn:
        if (vir::Type t = i.type; t == Type::mask) return "!" + a() + " && " + b();
        if ((i.type == Type::f32 || f64) && sign_of(i.a)) return (f64 ? "fabs(" : "fabsf(") + b() + ")";
        return from_bits(i.type, "~" + bits(i.a) + " & " + bits(i.b));
      case VOp::iadd: return wrapping(i.type, a(), "+", b());
      case VOp::isub: return wrapping(i.type, a(), "-", b());
      case VOp::imul: return wrapping(i.type, a(), "*", b());
      case VOp::imin: return a() + " < " + b() + " ? " + a() + " : " + b();
      case VOp::imax: return a() + " > " + b() + " ? " + a() + " : " + b();
      case VOp::shl:
        return (i.type == Type::i64 ? "(i64)((u64)" : "(i32)((u32)") + a() + " << " + std::to_string(i.imm) +
               ")";
      case VOp::shr:
        return (i.type == Type::i64 ? "(i64)((u64)" : "(i32)((u32)") + a() + " >> " + std::to_string(i.imm) +
               ")";
      case VOp::sar: return a() + " >> " + std::to_string(i.imm);
      case VOp::cmp: return compare(i);
      case VOp::select: return a() + " ? " + b() + " : " + c();
      case VOp::bitcast: return from_bits(i.type, bits(i.a));
      case VOp::i32_to_f32:
      case VOp::i64_to_f32:
      case VOp::f64_to_f32: return "(float)" + a();
      case VOp::i32_to_f64:
      case VOp::i64_to_f64:
      case VOp::f32_to_f64: return "(double)" + a();
      default: break;
    }
    throw CompileError("CUDA: no text for an instruction of vector math");
  }

  const std::vector<Inst>& code_;
  std::vector<std::string> names_;
  std::vector<uint8_t> used_;
  Text text_;
};

struct Printed {
  std::string name, text;
  std::vector<std::string> dependencies;
};

Printed print(jit::Op op, DType t, jit::Accuracy accuracy) {
  const vecmath::One one = vecmath::unary(op, accuracy);
  const vecmath::Two two = vecmath::binary(op, accuracy);
  if (!one && !two) return {};
  vir::Builder b;
  b.cheap_select = false;  // half as many a cycle as of fma
  const Type type = t == DType::float64 ? Type::f64 : Type::f32;
  const Val x = b.input(type, 0);
  const Val result = one ? one(b, x) : two(b, x, b.input(type, 1));
  Printer printer(b.code, result);
  Printed p;
  constexpr const char* forms[] = {"", "standard_", "fast_"};
  p.name = std::string(jit::name_of(op)) + "_" + forms[static_cast<int>(accuracy)] + jit::loop::short_name(t);
  p.text = printer.function(p.name, one ? 1 : 2, result);
  p.dependencies = std::move(printer.dependencies);
  return p;
}

}  // namespace

std::string need_recipe(Prelude& prelude, jit::Op op, DType t, jit::Accuracy accuracy) {
  static constinit Mutex lock;
  static auto& printed = *new std::map<std::tuple<jit::Op, DType, jit::Accuracy>, Printed>;
  const std::lock_guard guard(lock);
  auto at = printed.find({op, t, accuracy});
  if (at == printed.end()) at = printed.emplace(std::tuple{op, t, accuracy}, print(op, t, accuracy)).first;
  const Printed& p = at->second;
  if (!p.name.empty()) prelude.define(p.name, p.text, p.dependencies);
  return p.name;
}

}  // namespace lazy::cuda_backend
