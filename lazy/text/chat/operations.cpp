// Implements what operators do, as Python does it.
#include <algorithm>
#include <cmath>

#include "lazy/text/chat/builtins.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

[[noreturn]] void no_operation(const Meter& m, const std::string& op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b})
    if (const Undefined* const u = v->get<Undefined>()) m.fail("'" + u->name + "' is undefined");
  m.fail("'" + op + "' takes no values of types " + type_name(a) + " and " + type_name(b));
}

Value whole_result(const Meter& m, const std::string& op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool over = false;
  if (op == "+") over = __builtin_add_overflow(a, b, &r);
  if (op == "-") over = __builtin_sub_overflow(a, b, &r);
  if (op == "*") over = __builtin_mul_overflow(a, b, &r);
  if (op == "//" || op == "%") {
    if (b == 0) m.fail("division by 0");
    over = a == INT64_MIN && b == -1;
    if (!over) {
      const int64_t rest = a % b, moved = rest != 0 && (rest < 0) != (b < 0);
      r = op == "%" ? rest + (moved ? b : 0) : a / b - moved;
    }
  }
  if (op == "**") {
    if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
    r = 1;
    if (a == 0 || a == 1) return b == 0 ? int64_t{1} : a;
    if (a == -1) return b % 2 ? int64_t{-1} : int64_t{1};
    for (int64_t i = 0; i < b && !over; ++i) over = __builtin_mul_overflow(r, a, &r);
  }
  if (over) m.fail("the number has more than 64 bits");
  return r;
}

Value real_result(const Meter& m, const std::string& op, double a, double b) {
  if ((op == "/" || op == "//" || op == "%") && b == 0) m.fail("division by 0");
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  if (op == "%") {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return std::pow(a, b);
}

/// Returns a text or list so many times.
Value repeated(Meter& m, const Value& v, int64_t n) {
  const size_t times = n > 0 ? static_cast<size_t>(n) : 0;
  if (times > kMostSize || v.size() * times > kMostSize) m.fail("the text or list becomes too long");
  m.charge(1 + v.size() * times / 16);
  if (const std::string* const s = v.text()) {
    std::string out;
    for (size_t i = 0; i < times; ++i) out += *s;
    return out;
  }
  List out;
  out.tuple = v.list()->tuple;
  for (size_t i = 0; i < times; ++i)
    out.items.insert(out.items.end(), v.list()->items.begin(), v.list()->items.end());
  return out;
}

/// Returns where the elements of a slice lie, as Python's slice.indices() does.
std::vector<size_t> places(Meter& m, int64_t n, const Value& first, const Value& last, const Value& by) {
  const auto bound = [&](const Value& v, int64_t otherwise) {
    int64_t i = 0;
    if (v.undefined() || v.none()) return otherwise;
    if (!v.whole(i)) m.fail("a slice is of whole numbers, not of a value of type " + type_name(v));
    return i;
  };
  const int64_t step = bound(by, 1);
  if (step == 0) m.fail("the step of a slice is 0");
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
  const auto inside = [&](int64_t i) {
    if (i < 0) i = i < -n ? lowest : i + n;
    return std::clamp(i, lowest, std::max(lowest, highest));
  };
  const bool has_first = !first.undefined() && !first.none(), has_last = !last.undefined() && !last.none();
  int64_t i = has_first ? inside(bound(first, 0)) : step < 0 ? highest : lowest;
  const int64_t end = has_last ? inside(bound(last, 0)) : step < 0 ? lowest : highest;
  std::vector<size_t> all;
  while (step > 0 ? i < end : i > end) {
    m.charge(1);
    all.push_back(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return all;
}

/// Returns where the characters of a text begin, and where it ends.
std::vector<size_t> begins(Meter& m, const std::string& s) {
  m.charge(1 + s.size() / 16);
  std::vector<size_t> all;
  for (size_t i = 0; i < s.size(); i += unicode::length_of(s[i])) all.push_back(i);
  all.push_back(s.size());
  return all;
}

}  // namespace

Value binary(Meter& m, const std::string& op, const Value& a, const Value& b) {
  if (op == "~") return m.made(m.str(a) + m.str(b));
  int64_t i = 0, j = 0;
  double x = 0, y = 0;
  if (a.whole(i) && b.whole(j) && op != "/") return whole_result(m, op, i, j);
  if (a.number(x) && b.number(y)) return real_result(m, op, x, y);
  if (op == "+" && a.text() && b.text()) return m.made(*a.text() + *b.text());
  if (op == "+" && a.list() && b.list() && a.list()->tuple == b.list()->tuple) {
    List out = *a.list();
    m.charge(1 + out.items.size() + b.list()->items.size());
    out.items.insert(out.items.end(), b.list()->items.begin(), b.list()->items.end());
    return out;
  }
  if (op == "*" && (a.text() || a.list()) && b.whole(j)) return repeated(m, a, j);
  if (op == "*" && (b.text() || b.list()) && a.whole(i)) return repeated(m, b, i);
  if (op == "%" && a.text()) m.fail("formatting by '%' is not supported");
  no_operation(m, op, a, b);
}

bool less(Meter& m, const Value& a, const Value& b) {
  double x = 0, y = 0;
  int64_t i = 0, j = 0;
  m.charge(1 + std::min(a.size(), b.size()) / 16);
  if (a.whole(i) && b.whole(j)) return i < j;
  if (a.number(x) && b.number(y)) return x < y;
  if (a.text() && b.text()) return *a.text() < *b.text();
  if (a.list() && b.list() && a.list()->tuple == b.list()->tuple) {
    const auto &l = a.list()->items, &r = b.list()->items;
    for (size_t n = 0; n < std::min(l.size(), r.size()); ++n)
      if (!equal(l[n], r[n])) return less(m, l[n], r[n]);
    return l.size() < r.size();
  }
  no_operation(m, "<", a, b);
}

bool contains(Meter& m, const Value& container, const Value& v) {
  m.charge(1 + container.size() / 16);
  if (container.undefined()) return false;
  if (container.text()) {
    if (!v.text()) m.fail("'in' a text takes a text, not a value of type " + type_name(v));
    return container.text()->find(*v.text()) != std::string::npos;
  }
  if (container.list()) {
    const auto& all = container.list()->items;
    return std::any_of(all.begin(), all.end(), [&](const Value& each) { return equal(each, v); });
  }
  if (container.dict()) return v.text() && container.dict()->find(*v.text());
  m.fail("nothing is in a value of type " + type_name(container));
}

std::vector<Value> items_of(Meter& m, const Value& v) {
  std::vector<Value> all;
  if (v.undefined()) return all;
  if (v.list()) {
    m.charge(1 + v.list()->items.size());
    return v.list()->items;
  }
  if (v.dict()) {
    m.charge(1 + v.dict()->entries.size());
    for (const auto& [key, value] : v.dict()->entries) all.emplace_back(key);
    return all;
  }
  if (v.text()) {
    const std::string& s = *v.text();
    m.charge(1 + 4 * s.size());  // each becomes a value
    for (size_t i = 0; i < s.size(); i += unicode::length_of(s[i]))
      all.emplace_back(s.substr(i, unicode::length_of(s[i])));
    return all;
  }
  m.fail("a value of type " + type_name(v) + " has no items");
}

Value item(Meter& m, const Value& v, const Value& key) {
  if (const Undefined* const u = v.get<Undefined>()) m.fail("'" + u->name + "' is undefined");
  int64_t i = 0;
  if (v.list() && key.whole(i)) {
    const auto n = static_cast<int64_t>(v.list()->items.size());
    if (i < 0) i += n;
    if (i >= 0 && i < n) return v.list()->items[static_cast<size_t>(i)];
    return Undefined{"an item of a list"};
  }
  if (v.text() && key.whole(i)) {
    const std::vector<size_t> at = begins(m, *v.text());
    const auto n = static_cast<int64_t>(at.size()) - 1;
    if (i < 0) i += n;
    if (i < 0 || i >= n) return Undefined{"a character of a text"};
    const auto place = static_cast<size_t>(i);
    return v.text()->substr(at[place], at[place + 1] - at[place]);
  }
  if (!key.text()) return Undefined{"[" + repr(key) + "]"};
  if (v.dict()) {
    m.charge(1 + v.dict()->entries.size() / 16);
    if (const Value* const found = v.dict()->find(*key.text())) return *found;
  }
  if (v.dict() || v.text() || v.list()) {
    if (has_method(v, *key.text()))
      return std::make_shared<const Callable>(Callable{.name = *key.text(), .self = v, .method = true});
    return Undefined{*key.text()};
  }
  return attribute(m, v, *key.text());
}

Value attribute(Meter& m, const Value& v, const std::string& name) {
  if (const Undefined* const u = v.get<Undefined>()) m.fail("'" + u->name + "' is undefined");
  if (const Namespace* const n = v.space()) {
    const auto found = n->names.find(name);
    return found == n->names.end() ? Value(Undefined{name}) : found->second;
  }
  if (has_method(v, name))
    return std::make_shared<const Callable>(Callable{.name = name, .self = v, .method = true});
  if (v.dict()) return item(m, v, name);
  const Loop* const l = v.loop();
  if (!l) return Undefined{name};
  const auto index = static_cast<int64_t>(l->index), length = static_cast<int64_t>(l->items->size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return l->level;
  if (name == "depth0") return l->level - 1;
  if (name == "previtem") return index > 0 ? (*l->items)[l->index - 1] : Value(Undefined{"loop.previtem"});
  if (name == "nextitem")
    return index + 1 < length ? (*l->items)[l->index + 1] : Value(Undefined{"loop.nextitem"});
  return Undefined{"loop." + name};
}

Value slice(Meter& m, const Value& v, const Value& first, const Value& last, const Value& step) {
  if (const List* const l = v.list()) {
    List out;
    out.tuple = l->tuple;
    for (const size_t i : places(m, static_cast<int64_t>(l->items.size()), first, last, step))
      out.items.push_back(l->items[i]);
    return out;
  }
  if (v.text()) {
    const std::vector<size_t> at = begins(m, *v.text());
    std::string out;
    for (const size_t i : places(m, static_cast<int64_t>(at.size()) - 1, first, last, step))
      out.append(*v.text(), at[i], at[i + 1] - at[i]);
    return out;
  }
  if (const Undefined* const u = v.get<Undefined>()) m.fail("'" + u->name + "' is undefined");
  m.fail("a value of type " + type_name(v) + " has no slices");
}

}  // namespace lazy::text::chat
