#include <unordered_map>

#include "lazy/text/chat/builtins.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

using Test = bool (*)(Meter&, const Value&, Reading&);

bool is_reversed_equal(Meter& m, const Value& a, const Value& b) {
  m.charge(1 + std::min(a.size(), b.size()) / 16);
  return equal(a, b);
}

/// Returns the rest of a division by a whole number, as Python's %.
int64_t rest(Meter& m, const Value& v, int64_t by) {
  int64_t n = 0;
  if (!v.whole(n)) m.fail("the test takes a whole number, not a value of type " + type_name(v));
  if (by == 0) m.fail("division by 0");
  return by == -1 ? 0 : n % by;
}

bool is_iterable(const Value& v) { return v.text() || v.list() || v.dict() || v.undefined(); }

bool in_case(const Value& v, std::string (*change)(const std::string&),
             std::string (*other)(const std::string&)) {
  return v.text() && change(*v.text()) == *v.text() && other(*v.text()) != *v.text();
}

const std::unordered_map<std::string_view, Test>& tests() {
  using M = Meter;
  using V = const Value;
  using R = Reading;
  static const Test same = [](M& m, V& v, R& r) { return is_reversed_equal(m, v, r.needed("other")); };
  static const Test other = [](M& m, V& v, R& r) { return !is_reversed_equal(m, v, r.needed("other")); };
  static const Test below = [](M& m, V& v, R& r) { return less(m, v, r.needed("other")); };
  static const Test above = [](M& m, V& v, R& r) { return less(m, r.needed("other"), v); };
  static const Test at_most = [](M& m, V& v, R& r) { return !less(m, r.needed("other"), v); };
  static const Test at_least = [](M& m, V& v, R& r) { return !less(m, v, r.needed("other")); };
  static const auto& all = *new std::unordered_map<std::string_view, Test>{
      {"defined", [](M&, V& v, R&) { return !v.undefined(); }},
      {"undefined", [](M&, V& v, R&) { return v.undefined(); }},
      {"none", [](M&, V& v, R&) { return v.none(); }},
      {"string", [](M&, V& v, R&) { return v.text() != nullptr; }},
      {"boolean", [](M&, V& v, R&) { return v.get<bool>() != nullptr; }},
      {"true", [](M&, V& v, R&) { return v.get<bool>() && *v.get<bool>(); }},
      {"false", [](M&, V& v, R&) { return v.get<bool>() && !*v.get<bool>(); }},
      {"integer", [](M&, V& v, R&) { return v.get<int64_t>() != nullptr; }},
      {"float", [](M&, V& v, R&) { return v.get<double>() != nullptr; }},
      {"number",
       [](M&, V& v, R&) {
         double n = 0;
         return v.number(n);
       }},
      {"mapping", [](M&, V& v, R&) { return v.dict() != nullptr; }},
      {"iterable", [](M&, V& v, R&) { return is_iterable(v); }},
      {"sequence", [](M&, V& v, R&) { return is_iterable(v); }},
      {"callable", [](M&, V& v, R&) { return v.callable() != nullptr; }},
      {"odd", [](M& m, V& v, R&) { return rest(m, v, 2) != 0; }},
      {"even", [](M& m, V& v, R&) { return rest(m, v, 2) == 0; }},
      {"divisibleby", [](M& m, V& v, R& r) { return rest(m, v, r.whole("num", 0)) == 0; }},
      {"upper", [](M&, V& v, R&) { return in_case(v, upper, lower); }},
      {"lower", [](M&, V& v, R&) { return in_case(v, lower, upper); }},
      {"in", [](M& m, V& v, R& r) { return contains(m, r.needed("seq"), v); }},
      {"sameas", same},
      {"eq", same},
      {"equalto", same},
      {"==", same},
      {"ne", other},
      {"!=", other},
      {"lt", below},
      {"lessthan", below},
      {"<", below},
      {"gt", above},
      {"greaterthan", above},
      {">", above},
      {"le", at_most},
      {"<=", at_most},
      {"ge", at_least},
      {">=", at_least},
  };
  return all;
}

}  // namespace

bool test(Meter& m, const std::string& name, const Value& x, Arguments& a) {
  const auto found = tests().find(name);
  if (found == tests().end()) m.fail("the test '" + name + "' is not supported");
  Reading r(m, name, a);
  const bool holds = found->second(m, x, r);
  r.end();
  return holds;
}

}  // namespace lazy::text::chat
