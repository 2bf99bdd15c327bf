#include "backends/vector/vecmath/forms.hpp"

#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
namespace {
constexpr int key(jit::Op op, jit::Accuracy a) { return static_cast<int>(op) << 2 | static_cast<int>(a); }
}  // namespace

// clang-format off
One unary(jit::Op op, jit::Accuracy accuracy) {
  switch (key(op, accuracy)) {
#define LAZY_RECIPE(name) case key(jit::Op::name, jit::Accuracy::full): return name;
#define LAZY_FORM(name, form, recipe) case key(jit::Op::name, jit::Accuracy::form): return recipe;
#include "backends/vector/vecmath/forms.def"
    default: return nullptr;
  }
}

Two binary(jit::Op op, jit::Accuracy accuracy) {
  switch (key(op, accuracy)) {
#define LAZY_RECIPE2(name, recipe) case key(jit::Op::name, jit::Accuracy::full): return recipe;
#define LAZY_FORM2(name, form, recipe) case key(jit::Op::name, jit::Accuracy::form): return recipe;
#include "backends/vector/vecmath/forms.def"
    default: return nullptr;
  }
}
// clang-format on

}  // namespace lazy::vecmath
