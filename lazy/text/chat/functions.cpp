#include <algorithm>

#include "lazy/text/chat/builtins.hpp"

namespace lazy::text::chat {
namespace {

Value range(Meter& m, Arguments& a) {
  constexpr int64_t kMost = 100000;  // as Jinja's sandbox has it
  int64_t bounds[3] = {0, 0, 1};
  const size_t n = a.given.size();
  if (n < 1 || n > 3 || !a.named.empty()) m.fail("'range' takes one to three whole numbers");
  for (size_t i = 0; i < n; ++i)
    if (!a.given[i].whole(bounds[n == 1 ? 1 : i])) m.fail("'range' takes whole numbers");
  const auto [first, last, step] = bounds;
  if (step == 0) m.fail("the step of a range is 0");
  List out;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    if (static_cast<int64_t>(out.items.size()) == kMost)
      m.fail("a range has more than " + std::to_string(kMost) + " numbers");
    m.charge(1);
    out.items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return out;
}

Value time_text(Meter& m, Arguments& a) {
  Reading r(m, "strftime_now", a);
  const std::string format = r.text("format");
  r.end();
  std::tm local{};
  ::localtime_r(&m.now, &local);
  char out[512];
  // No text at all is one of no characters, too.
  const size_t n = format.size() < 256 ? std::strftime(out, sizeof out, format.c_str(), &local) : 0;
  if (n == 0 && !format.empty()) m.fail("'strftime_now' gives no text, or a long one, for its format");
  return std::string(out, n);
}

constexpr std::string_view kFunctions[] = {"range", "dict", "namespace", "raise_exception", "strftime_now"};

}  // namespace

bool has_function(const std::string& name) {
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
}

Value function(Meter& m, const std::string& name, Arguments& a) {
  if (name == "range") return range(m, a);
  if (name == "strftime_now") return time_text(m, a);
  if (name == "raise_exception") {
    Reading r(m, name, a);
    const std::string why = m.str(r.needed("message"));
    r.end();
    m.fail("the template refuses: " + why);
  }
  Dict d;
  if (a.given.size() > 1 || (a.given.size() == 1 && !a.given[0].dict()))
    m.fail("'" + name + "' takes a dictionary, and entries by name");
  if (!a.given.empty()) d = *a.given[0].dict();
  for (auto& [key, v] : a.named) d.set(key, v);
  m.charge(1 + d.entries.size());
  if (name == "dict") return d;
  auto space = std::make_shared<Namespace>();
  for (auto& [key, v] : d.entries) space->names[key] = v;
  return space;
}

}  // namespace lazy::text::chat
