// Finds members of modules that LAZY_MODULE leaves out: they would be neither trained nor saved, in silence.
#include <algorithm>
#include <map>

#include "lazy/autograd/addresses.hpp"
#include "lazy/core/build.hpp"
#include "lazy/nn/modules/dropout.hpp"

namespace lazy::nn {
namespace {

/// Collects what is listed, by address, and where modules begin and end.
struct Listed final : Visitor {
  struct Whole {
    const Module* module;
    const void* begin;
    size_t bytes;
  };
  std::map<const void*, std::string> paths;  // of parameters and modules that are listed
  std::vector<Whole> wholes;
  std::vector<const Module*> modules;

  explicit Listed(Module& m) {
    paths.emplace(&m, "");
    modules.push_back(&m);
    visit(m);
  }
  void whole(const Module& m, const void* begin, size_t bytes) override {
    wholes.push_back({&m, begin, bytes});
  }

 protected:
  void parameter(const std::string& path, Parameter& p) override { paths.emplace(&p, path); }
  void parametrized(const std::string& path, Parameter& p) override { paths.emplace(&p, path); }
  void child(const std::string& path, Module& m) override {
    paths.emplace(&m, path);
    modules.push_back(&m);
    visit(m);
  }
};

/// True if it matters that nobody finds the module.
bool matters(Module& m) {
  const Listed below(m);
  return std::any_of(below.modules.begin(), below.modules.end(), [](const Module* each) {
    struct Any final : Visitor {
      bool found = false;

     protected:
      void parameter(const std::string&, Parameter&) override { found = true; }
      void parametrized(const std::string&, Parameter&) override { found = true; }
      void buffer(const std::string&, Tensor&) override { found = true; }
      void child(const std::string&, Module&) override {}
    } any;
    any.visit(const_cast<Module&>(*each));
    return any.found || dynamic_cast<const detail::DropoutBase*>(each);
  });
}

/// Returns the name of the last member before the address that the module lists itself: ", after 'hidden'".
std::string after(const Listed& listed, const Listed::Whole& whole, const void* address) {
  const std::string parent = listed.paths.at(whole.module);
  std::string last;
  for (auto at = listed.paths.upper_bound(whole.begin); at != listed.paths.end() && at->first < address;
       ++at) {
    const std::string& path = at->second;
    const size_t begin = parent.empty() ? 0 : parent.size() + 1;
    if (path.size() > begin && path.find('.', begin) == path.npos) last = path.substr(begin);
  }
  return last.empty() ? "" : ", declared after '" + last + "'";
}

[[noreturn]] void throw_left_out(const Listed& listed, const Listed::Whole& whole, const void* address,
                                 const std::string& what, const Site& s) {
  lazy::detail::fail<Error>(
      whole.module->name().c_str(),
      "LAZY_MODULE leaves out a member: " + what + after(listed, whole, address) + ", " +
          std::to_string(static_cast<const char*>(address) - static_cast<const char*>(whole.begin)) +
          " bytes into the object, would be neither trained nor saved. Name it there; what is to be no part "
          "of "
          "the model is held by a std::shared_ptr",
      s);
}

}  // namespace

void Module::check_members(const Site& s) const {
  if (checked_.load(std::memory_order_relaxed)) return;
  Listed listed(const_cast<Module&>(*this));  // which only reads
  // Those of a member are among those of what it is a member of: the innermost is the one that leaves out.
  std::stable_sort(listed.wholes.begin(), listed.wholes.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (const Listed::Whole& w : listed.wholes) {
    for (const void* at : lazy::detail::module_addresses().within(w.begin, w.bytes)) {
      if (listed.paths.contains(at)) continue;
      Module& m = *static_cast<Module*>(const_cast<void*>(at));
      if (matters(m)) throw_left_out(listed, w, at, "a " + m.name(), s);
    }
    for (const void* at : lazy::detail::parameter_addresses().within(w.begin, w.bytes))
      if (!listed.paths.contains(at))
        throw_left_out(listed, w, at,
                       "a Parameter of shape " + lazy::to_string(static_cast<const Parameter*>(at)->shape(s)),
                       s);
  }
  for (const Module* m : listed.modules) m->checked_.store(true, std::memory_order_relaxed);
}

}  // namespace lazy::nn
