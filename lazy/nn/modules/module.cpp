#include "lazy/nn/modules/module.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "lazy/autograd/addresses.hpp"
#include "lazy/autograd/parametrized.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/device.hpp"

namespace lazy::nn {

using lazy::detail::fail;

std::string_view Visitor::next_name(std::string_view& names) {
  const size_t begin = names.find_first_not_of(" ,"),
               end = std::min(names.find_first_of(" ,", begin), names.size());
  const std::string_view name = names.substr(begin, end - begin);
  names.remove_prefix(end);
  return name;
}

void Visitor::one(std::string_view name, Parameter& p) {
  if (p.parametrized()) parametrized_.emplace_back(name, &p);
  else parameter(path_, p);
}

void Visitor::visit_parametrized(size_t first) {
  if (first == parametrized_.size()) return;
  const size_t before = path_.size();
  const std::string prefix = before ? path_ + '.' : std::string();
  path_ = prefix + "parametrizations";
  open(path_, "ModuleDict");
  const size_t end = path_.size();
  for (size_t i = first; i < parametrized_.size(); ++i) {
    const auto [name, p] = parametrized_[i];
    path_ += '.' + name;
    child(path_, dynamic_cast<Module&>(*p->parametrized()));
    path_.resize(end);
    parametrized(prefix + name, *p);
  }
  close();
  path_.resize(before);
  parametrized_.resize(first);
}

namespace {

constinit std::atomic<uint64_t> changes{0};  // of any module's mode

/// Calls functions with all parameters and buffers.
template <class P, class B>
struct Each final : Visitor {
  P on_parameter;
  B on_buffer;
  Each(P p, B b) : on_parameter(std::move(p)), on_buffer(std::move(b)) {}

 protected:
  void parameter(const std::string& path, Parameter& p) override { on_parameter(path, p); }
  void buffer(const std::string& path, Tensor& b) override { on_buffer(path, b); }
};
constexpr auto ignore = [](const std::string&, auto&) {};

/// Visits a const module too, for those who only read.
Module& unlocked(const Module& m) { return const_cast<Module&>(m); }

template <class P, class B>
void for_each(Module& m, P p, B b) {
  Each<P, B> visitor(std::move(p), std::move(b));
  visitor.visit(m);
}

/// Has parameters that are computed from parts know that these have changed.
struct Follow final : Visitor {
  Site site;
  explicit Follow(const Site& s) : site(s) {}

 protected:
  void parametrized(const std::string&, Parameter& p) override { p.parts_changed(site); }
};

struct Children final : Visitor {
  std::vector<std::pair<std::string, Module*>> found;

 protected:
  void child(const std::string& path, Module& m) override { found.emplace_back(path, &m); }
};

struct Modules final : Visitor {
  std::vector<std::pair<std::string, Module*>> found;

 protected:
  void child(const std::string& path, Module& m) override {
    found.emplace_back(path, &m);
    visit(m);
  }
};

template <class T>
std::vector<T> without_names(std::vector<std::pair<std::string, T>> named) {
  std::vector<T> r;
  r.reserve(named.size());
  for (auto& [name, m] : named) r.push_back(std::move(m));
  return r;
}

}  // namespace

using lazy::detail::module_addresses;

Module::Module() noexcept { module_addresses().add(this); }
Module::Module(const Module& m) noexcept : training_(m.training_) { module_addresses().add(this); }
Module::Module(Module&& m) noexcept : training_(m.training_) { module_addresses().add(this); }
Module& Module::operator=(const Module& m) noexcept {
  training_ = m.training_;
  return *this;
}
Module& Module::operator=(Module&& m) noexcept {
  training_ = m.training_;
  return *this;
}
Module::~Module() { module_addresses().remove(this); }

std::vector<std::pair<std::string, ParameterRef>> Module::named_parameters(Site s) {
  check_members(s);
  std::vector<std::pair<std::string, ParameterRef>> r;
  for_each(
      *this, [&](const std::string& path, Parameter& p) { r.emplace_back(path, p.ref()); }, ignore);
  return r;
}

std::vector<ParameterRef> Module::parameters(Site s) { return without_names(named_parameters(s)); }

NamedTensors Module::named_buffers(Site s) const {
  check_members(s);
  NamedTensors r;
  for_each(unlocked(*this), ignore, [&](const std::string& path, Tensor& b) { r.set(path, b); });
  return r;
}

std::vector<Tensor> Module::buffers(Site s) const {
  std::vector<Tensor> r;
  for (const auto& [name, b] : named_buffers(s)) r.push_back(b);
  return r;
}

std::vector<std::pair<std::string, Module*>> Module::named_children() {
  Children visitor;
  visitor.visit(*this);
  return std::move(visitor.found);
}

std::vector<Module*> Module::children() { return without_names(named_children()); }

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  Modules visitor;
  visitor.found.emplace_back("", this);
  visitor.visit(*this);
  return std::move(visitor.found);
}

std::vector<Module*> Module::modules() { return without_names(named_modules()); }

int64_t Module::num_parameters(bool trained_only) const {
  int64_t n = 0;
  for_each(
      unlocked(*this),
      [&](const std::string&, Parameter& p) { n += !trained_only || p.requires_grad() ? p.size() : 0; },
      ignore);
  return n;
}

Module& Module::train(bool on, Site s) {
  check_members(s);
  if (on && lazy::detail::frozen_parameters() > 0)
    for_each(
        *this,
        [&](const std::string& path, Parameter& p) {
          if (p.frozen())
            fail<Error>("train", "parameter '" + path + "' is frozen: inference::thaw() the model first", s);
        },
        ignore);
  for (Module* m : modules())
    if (std::exchange(m->training_, on) != on) changes.fetch_add(1, std::memory_order_relaxed);
  return *this;
}

uint64_t Module::mode_changes() noexcept { return changes.load(std::memory_order_relaxed); }

void Module::note_mode_change() noexcept { changes.fetch_add(1, std::memory_order_relaxed); }

Module& Module::to(Device device, Site s) {
  check_members(s);
  const no_grad scope;
  for_each(
      *this, [&](const std::string&, Parameter& p) { p.reset(p.to(device, s), s); },
      [&](const std::string&, Tensor& b) { b = b.to(device, s); });
  Follow(s).visit(*this);
  return *this;
}

Module& Module::to(DType dtype, Site s) {
  if (!is_float(dtype))
    fail<DtypeError>("Module::to", std::string("parameters are of floating point, not ") + name_of(dtype), s);
  check_members(s);
  const no_grad scope;
  for_each(
      *this,
      [&](const std::string&, Parameter& p) {
        if (is_float(p.dtype())) p.reset(p.to(dtype, s), s);
      },
      [&](const std::string&, Tensor& b) {
        if (is_float(b.dtype())) b = b.to(dtype, s);
      });
  Follow(s).visit(*this);
  return *this;
}

Module& Module::to_memory_format(ChannelLayout format, Site s) {
  check_members(s);
  const no_grad scope;
  const auto image = [](const Tensor& t) { return t.ndim() == 4 || t.ndim() == 5; };
  for_each(
      *this,
      [&](const std::string&, Parameter& p) {
        if (image(p)) p.reset(p.to_memory_format(format, s), s);
      },
      [&](const std::string&, Tensor& b) {
        if (image(b)) b = b.to_memory_format(format, s);
      });
  Follow(s).visit(*this);
  return *this;
}

void Module::zero_grad(Site s) {
  check_members(s);
  for_each(
      *this, [&](const std::string&, Parameter& p) { p.zero_grad(s); }, ignore);
}

Module& Module::requires_grad_(bool on, Site s) {
  check_members(s);
  for_each(
      *this,
      [&](const std::string&, Parameter& p) {
        if (!on || is_float(p.dtype()) || is_complex(p.dtype()))
          p.requires_grad_(on, s);  // a part may be of integers
      },
      ignore);
  return *this;
}

std::string Module::name() const { return detail::type_name(typeid(*this)); }

std::string detail::type_name(const std::type_info& type) {
  int status = 0;
  char* const text = ::abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  const std::string full = text ? text : type.name();
  std::free(text);
  size_t begin = 0, end = full.size();
  int depth = 0;  // of brackets: what is in them is no part of the name
  for (size_t i = 0; i < full.size(); ++i) {
    const char c = full[i];
    if (c == '<' || c == '(') {
      if (depth++ == 0 && c == '<') end = i;
    } else if (c == '>' || c == ')') {
      --depth;
    } else if (depth == 0 && c == ':') {
      begin = i + 1;
      end = full.size();
    }
  }
  return full.substr(begin, end - begin);
}

}  // namespace lazy::nn
