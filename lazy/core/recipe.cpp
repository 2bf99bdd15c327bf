#include "lazy/core/recipe.hpp"

#include "lazy/core/build.hpp"

namespace lazy::detail {

constinit std::atomic<uint32_t> recipes = 0;

Recipe::Recipe() noexcept {
  recipes.fetch_add(1, std::memory_order_relaxed);
  add_reason();  // the door looks at operands only while somebody observes
}
Recipe::~Recipe() {
  drop_reason();
  recipes.fetch_sub(1, std::memory_order_relaxed);
}

jit::Handle with_recipe(Recipe* r, DType t, const Shape& shape, Device device, const Site& s) {
  struct Release {
    Recipe* r;
    ~Release() { r->release(); }
  } release{r};
  r->add_reference();
  jit::Handle h = jit::without_value(t, shape, device, s);
  jit::attach(*h.get(), r);
  return h;
}

Recipe* recipe_of(const jit::Handle& h) noexcept {
  return h && h->lost && h->attachment ? dynamic_cast<Recipe*>(h->attachment) : nullptr;
}

void check_read(std::span<const Handle* const> operands, const Site& s) {
  for (const Handle* h : operands)
    if (recipe_of(*h))
      fail<Error>("parametrization",
                  "a parameter that has one was used without being read: pass it as an Arg", s);
}

jit::Handle read_recipe(const jit::Handle& variable, Site s) {
  const jit::Handle keep = variable;  // reading may run what rebinds the variable
  Recipe* const r = recipe_of(keep);
  return r ? r->read(s) : jit::Handle();
}

jit::Handle read_recipe(const jit::Handle& variable) {
  return variable ? read_recipe(variable, variable->site) : jit::Handle();
}

}  // namespace lazy::detail
