#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "lazy/text/chat/builtins.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

using Filter = Value (*)(Meter&, const Value&, Reading&, Arguments&);

/// Returns value.a.b of the name "a.b"; numbers in it are indices.
Value dotted(Meter& m, Value v, const Value& path) {
  if (!path.text()) return item(m, v, path);
  const std::string& all = *path.text();
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find('.', at), all.size());
    const std::string part = all.substr(at, end - at);
    const bool index = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    v = item(m, v, index ? Value(static_cast<int64_t>(std::stoi(part))) : Value(part));
    at = end + 1;
  }
  return v;
}

std::string text_of(Meter& m, const Value& v) { return m.str(v); }

int64_t length_of_value(Meter& m, const Value& v) {
  m.charge(1 + v.size() / 16);
  if (v.undefined()) return 0;
  if (v.text()) return static_cast<int64_t>(unicode::count(*v.text()));
  if (v.list()) return static_cast<int64_t>(v.list()->items.size());
  if (v.dict()) return static_cast<int64_t>(v.dict()->entries.size());
  m.fail("a value of type " + type_name(v) + " has no length");
}

Value as_list(std::vector<Value> items) { return List{.items = std::move(items)}; }

Value pairs_of(const Dict& d) {
  List all;
  for (const auto& [key, v] : d.entries) all.items.emplace_back(List{.items = {key, v}, .tuple = true});
  return all;
}

/// Returns what sorting and comparing takes a value as: texts without case.
Value without_case(const Value& v, bool keeps) { return v.text() && !keeps ? Value(lower(*v.text())) : v; }

std::vector<Value> sorted(Meter& m, std::vector<Value> items, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reverse ? less(m, keys[b], keys[a]) : less(m, keys[a], keys[b]);
  });
  std::vector<Value> all;
  for (const size_t i : order) all.push_back(items[i]);
  return all;
}

Value default_filter(Meter&, const Value& v, Reading& r, Arguments&) {
  const Value* const otherwise = r.next("default_value");
  const bool boolean = r.flag("boolean", false);
  r.end();
  if (!v.undefined() && (!boolean || v.truth())) return v;
  return otherwise ? *otherwise : Value("");
}

Value join_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const Value* const between = r.next("d");
  const Value* const attribute_name = r.next("attribute");
  r.end();
  const std::string separator = between ? m.str(*between) : std::string();
  std::string out;
  bool first = true;
  for (const Value& each : items_of(m, v)) {
    if (!first) out += separator;
    first = false;
    out += m.str(attribute_name && !attribute_name->none() ? dotted(m, each, *attribute_name) : each);
    m.charge(separator.size() / 16);
    if (out.size() > kMostSize) m.fail("the text becomes too long");
  }
  return out;
}

Value tojson_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  JsonStyle style;
  style.ascii = r.flag("ensure_ascii", false);
  const Value* const indent = r.next("indent");
  const Value* const separators = r.next("separators");
  style.sorted = r.flag("sort_keys", false);
  r.end();
  if (indent && !indent->none()) {
    if (!indent->whole(style.indent) || style.indent < 0 || style.indent > 64)
      m.fail("'tojson' takes an indent from 0 to 64");
    style.between = ",";
  }
  if (separators && !separators->none()) {
    const List* const l = separators->list();
    if (!l || l->items.size() != 2 || !l->items[0].text() || !l->items[1].text())
      m.fail("'tojson' takes two texts as its separators");
    style.between = *l->items[0].text(), style.behind_key = *l->items[1].text();
  }
  const size_t by_item = style.between.size() + style.behind_key.size() +
                         static_cast<size_t>(std::max<int64_t>(style.indent, 0)) * kMostDepth;
  m.charge(1 + v.size() * (16 + by_item) / 64);
  return m.made(json(v, style, m.at));
}

Value indent_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const Value* const width = r.next("width");
  const bool first = r.flag("first", false), blank = r.flag("blank", false);
  r.end();
  int64_t n = 4;
  std::string by;
  if (width && width->text()) by = *width->text();
  else if (width && !width->whole(n)) m.fail("'indent' takes a text or a number as its 'width'");
  if (n < 0 || n > 1000) m.fail("'indent' takes a width from 0 to 1000");
  if (!width || !width->text()) by.assign(static_cast<size_t>(n), ' ');
  const std::string s = m.str(v);
  std::string out = first ? by : "";
  for (size_t at = 0; at < s.size();) {
    const size_t end = std::min(s.find('\n', at), s.size() - 1) + 1;
    const std::string line = s.substr(at, end - at);
    if (at > 0 && (blank || line != "\n")) out += by, m.charge(1 + by.size() / 16);
    out += line;
    at = end;
  }
  return m.made(std::move(out));
}

Value real_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const Value* const otherwise = r.next("default");
  r.end();
  double n = 0;
  if (v.number(n)) return n;
  if (v.text()) {
    const std::string s = stripped(*v.text(), nullptr, true, true);
    char* end = nullptr;
    m.charge(1 + s.size());
    n = std::strtod(s.c_str(), &end);
    if (!s.empty() && *end == '\0') return n;
  }
  return otherwise ? *otherwise : Value(0.0);
}

Value whole_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const Value* const otherwise = r.next("default");
  r.end();
  int64_t n = 0;
  double real = 0;
  if (v.whole(n)) return n;
  bool is_real = v.number(real);
  if (v.text()) {
    const std::string s = stripped(*v.text(), nullptr, true, true);
    char* end = nullptr;
    m.charge(1 + s.size());
    real = std::strtod(s.c_str(), &end);
    is_real = !s.empty() && *end == '\0';
  }
  if (is_real && std::abs(real) < 9e18) return static_cast<int64_t>(real);
  return otherwise ? *otherwise : Value(int64_t{0});
}

Value round_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const int64_t digits = r.whole("precision", 0);
  const std::string how = r.text("method", "common");
  r.end();
  double n = 0;
  if (!v.number(n)) m.fail("'round' takes a number, not a value of type " + type_name(v));
  if (digits < 0 || digits > 15) m.fail("'round' takes a precision from 0 to 15");
  const double by = std::pow(10.0, static_cast<double>(digits));
  if (how == "ceil") return std::ceil(n * by) / by;
  if (how == "floor") return std::floor(n * by) / by;
  char out[400];
  std::snprintf(out, sizeof out, "%.*f", static_cast<int>(digits), n);
  return std::strtod(out, nullptr);
}

Value abs_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  r.end();
  int64_t i = 0;
  double n = 0;
  if (v.whole(i) && i != INT64_MIN) return std::abs(i);
  if (!v.number(n)) m.fail("'abs' takes a number, not a value of type " + type_name(v));
  return std::fabs(n);
}

/// Returns items by filters of their own, or attributes of them.
Value map_filter(Meter& m, const Value& v, Reading& r, Arguments& a) {
  std::vector<Value> out;
  if (a.given.empty()) {
    const Value path = r.needed("attribute");
    const Value* const otherwise = r.next("default");
    r.end();
    for (const Value& each : items_of(m, v)) {
      Value found = dotted(m, each, path);
      out.push_back(found.undefined() && otherwise ? *otherwise : std::move(found));
    }
    return as_list(std::move(out));
  }
  const std::string name = r.text("filter");
  Arguments rest{{a.given.begin() + 1, a.given.end()}, a.named};
  for (const Value& each : items_of(m, v)) {
    m.charge(1);
    out.push_back(filter(m, name, each, rest));
  }
  return as_list(std::move(out));
}

/// Returns the items that a test, of an attribute or of the item itself, holds for, or those it does not.
Value chosen(Meter& m, const Value& v, Arguments& a, bool of_attribute, bool wanted) {
  size_t used = 0;
  Value path;
  if (of_attribute) {
    if (a.given.empty()) m.fail("'selectattr' needs the name of an attribute");
    path = a.given[used++];
  }
  std::string name;
  if (used < a.given.size()) {
    if (!a.given[used].text()) m.fail("the name of a test is a text");
    name = *a.given[used++].text();
  }
  Arguments rest{{a.given.begin() + static_cast<std::ptrdiff_t>(used), a.given.end()}, a.named};
  std::vector<Value> out;
  for (const Value& each : items_of(m, v)) {
    const Value x = of_attribute ? dotted(m, each, path) : each;
    m.charge(1);
    if ((name.empty() ? x.truth() : test(m, name, x, rest)) == wanted) out.push_back(each);
  }
  return as_list(std::move(out));
}

Value sort_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const bool reverse = r.flag("reverse", false), keeps = r.flag("case_sensitive", false);
  const Value* const path = r.next("attribute");
  r.end();
  std::vector<Value> items = items_of(m, v), keys;
  for (const Value& each : items)
    keys.push_back(without_case(path && !path->none() ? dotted(m, each, *path) : each, keeps));
  return as_list(sorted(m, std::move(items), keys, reverse));
}

Value dictsort_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const bool keeps = r.flag("case_sensitive", false);
  const std::string by = r.text("by", "key");
  const bool reverse = r.flag("reverse", false);
  r.end();
  if (!v.dict()) m.fail("'dictsort' takes a dictionary, not a value of type " + type_name(v));
  std::vector<Value> items = pairs_of(*v.dict()).list()->items, keys;
  for (const auto& [key, value] : v.dict()->entries)
    keys.push_back(without_case(by == "key" ? Value(key) : value, keeps));
  return as_list(sorted(m, std::move(items), keys, reverse));
}

Value unique_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const bool keeps = r.flag("case_sensitive", false);
  r.end();
  std::vector<Value> out, seen;
  for (const Value& each : items_of(m, v)) {
    const Value key = without_case(each, keeps);
    m.charge(1 + seen.size());
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& s) { return equal(s, key); })) continue;
    seen.push_back(key);
    out.push_back(each);
  }
  return as_list(std::move(out));
}

Value extreme(Meter& m, const Value& v, bool largest) {
  const std::vector<Value> items = items_of(m, v);
  Value best = Undefined{"an extreme of no items"};
  for (const Value& each : items) {
    const Value a = without_case(each, false), b = without_case(best, false);
    if (best.undefined() || (largest ? less(m, b, a) : less(m, a, b))) best = each;
  }
  return best;
}

Value sum_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  const Value* const path = r.next("attribute");
  const Value* const start = r.next("start");
  r.end();
  Value total = start ? *start : Value(int64_t{0});
  for (const Value& each : items_of(m, v))
    total = binary(m, "+", total, path && !path->none() ? dotted(m, each, *path) : each);
  return total;
}

Value reverse_filter(Meter& m, const Value& v, Reading& r, Arguments&) {
  r.end();
  std::vector<Value> items = items_of(m, v);
  std::reverse(items.begin(), items.end());
  if (!v.text()) return as_list(std::move(items));
  std::string out;
  for (const Value& each : items) out += *each.text();
  return out;
}

Value escaped(Meter& m, const Value& v) {
  std::string out;
  for (const char c : m.str(v)) {
    const std::string_view by = c == '&'    ? "&amp;"
                                : c == '<'  ? "&lt;"
                                : c == '>'  ? "&gt;"
                                : c == '\'' ? "&#39;"
                                : c == '"'  ? "&#34;"
                                            : std::string_view();
    if (by.empty()) out += c;
    else out += by;
  }
  return m.made(std::move(out));
}

const std::unordered_map<std::string_view, Filter>& filters() {
  using M = Meter;
  using V = const Value;
  using R = Reading;
  using A = Arguments;
  static const auto& all = *new std::unordered_map<std::string_view, Filter>{
      {"default", default_filter},
      {"d", default_filter},
      {"join", join_filter},
      {"tojson", tojson_filter},
      {"indent", indent_filter},
      {"float", real_filter},
      {"int", whole_filter},
      {"round", round_filter},
      {"abs", abs_filter},
      {"map", map_filter},
      {"sort", sort_filter},
      {"dictsort", dictsort_filter},
      {"unique", unique_filter},
      {"sum", sum_filter},
      {"reverse", reverse_filter},
      {"select", [](M& m, V& v, R&, A& a) { return chosen(m, v, a, false, true); }},
      {"reject", [](M& m, V& v, R&, A& a) { return chosen(m, v, a, false, false); }},
      {"selectattr", [](M& m, V& v, R&, A& a) { return chosen(m, v, a, true, true); }},
      {"rejectattr", [](M& m, V& v, R&, A& a) { return chosen(m, v, a, true, false); }},
      {"min", [](M& m, V& v, R& r, A&) { return r.end(), extreme(m, v, false); }},
      {"max", [](M& m, V& v, R& r, A&) { return r.end(), extreme(m, v, true); }},
      {"length", [](M& m, V& v, R& r, A&) -> Value { return r.end(), length_of_value(m, v); }},
      {"count", [](M& m, V& v, R& r, A&) -> Value { return r.end(), length_of_value(m, v); }},
      {"list", [](M& m, V& v, R& r, A&) { return r.end(), as_list(items_of(m, v)); }},
      {"string", [](M& m, V& v, R& r, A&) { return r.end(), m.made(text_of(m, v)); }},
      {"safe", [](M& m, V& v, R& r, A&) { return r.end(), m.made(text_of(m, v)); }},
      {"escape", [](M& m, V& v, R& r, A&) { return r.end(), escaped(m, v); }},
      {"e", [](M& m, V& v, R& r, A&) { return r.end(), escaped(m, v); }},
      {"upper", [](M& m, V& v, R& r, A&) { return r.end(), m.made(upper(text_of(m, v))); }},
      {"lower", [](M& m, V& v, R& r, A&) { return r.end(), m.made(lower(text_of(m, v))); }},
      {"capitalize", [](M& m, V& v, R& r, A&) { return r.end(), m.made(capitalized(text_of(m, v))); }},
      {"trim",
       [](M& m, V& v, R& r, A&) {
         const Value* const characters = r.next("chars");
         r.end();
         const std::string* const set = characters ? characters->text() : nullptr;
         return m.made(stripped(text_of(m, v), set, true, true));
       }},
      {"replace",
       [](M& m, V& v, R& r, A&) {
         const std::string from = r.text("old"), to = r.text("new");
         const int64_t most = r.whole("count", -1);
         r.end();
         return m.made(replaced(m, text_of(m, v), from, to, most));
       }},
      {"items",
       [](M& m, V& v, R& r, A&) -> Value {
         r.end();
         if (v.undefined()) return List{};
         if (!v.dict()) m.fail("'items' takes a dictionary, not a value of type " + type_name(v));
         m.charge(1 + v.dict()->entries.size());
         return pairs_of(*v.dict());
       }},
      {"first",
       [](M& m, V& v, R& r, A&) -> Value {
         r.end();
         const std::vector<Value> items = items_of(m, v);
         return items.empty() ? Value(Undefined{"the first of no items"}) : items.front();
       }},
      {"last",
       [](M& m, V& v, R& r, A&) -> Value {
         r.end();
         const std::vector<Value> items = items_of(m, v);
         return items.empty() ? Value(Undefined{"the last of no items"}) : items.back();
       }},
  };
  return all;
}

}  // namespace

Value filter(Meter& m, const std::string& name, const Value& x, Arguments& a) {
  const auto found = filters().find(name);
  if (found == filters().end()) m.fail("the filter '" + name + "' is not supported");
  Reading r(m, name, a);
  return found->second(m, x, r, a);
}

}  // namespace lazy::text::chat
