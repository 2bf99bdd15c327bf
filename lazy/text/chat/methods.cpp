#include <algorithm>
#include <unordered_map>

#include "lazy/text/chat/builtins.hpp"
#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

using TextMethod = Value (*)(Meter&, const std::string&, Reading&);

/// Splits by a separator, or by whitespace without one; `most` times, from the left or the right.
Value split(Meter& m, const std::string& s, Reading& r, bool from_right) {
  const Value* const given = r.next("sep");
  const int64_t most = r.whole("maxsplit", -1);
  m.charge(1 + s.size());
  List out;
  if (given && !given->none()) {
    if (!given->text() || given->text()->empty()) m.fail("a text is split by a text that is not empty");
    const std::string& by = *given->text();
    std::vector<size_t> cuts;
    if (from_right) {
      for (size_t at = s.size(); static_cast<int64_t>(cuts.size()) != most && at >= by.size();) {
        at = s.rfind(by, at - by.size());
        if (at == s.npos) break;
        cuts.insert(cuts.begin(), at);
        m.charge(cuts.size());
      }
    } else {
      for (size_t at = 0; static_cast<int64_t>(cuts.size()) != most && (at = s.find(by, at)) != s.npos;
           at += by.size())
        cuts.push_back(at);
    }
    size_t begin = 0;
    for (const size_t cut : cuts) {
      out.items.emplace_back(s.substr(begin, cut - begin));
      begin = cut + by.size();
    }
    out.items.emplace_back(s.substr(begin));
    m.charge(8 * out.items.size());
    return out;
  }
  if (from_right && most >= 0) m.fail("'rsplit' by whitespace is supported without 'maxsplit'");
  const auto space = [](char32_t c) { return unicode::is_whitespace(c) || (c >= 0x1C && c <= 0x1F); };
  size_t at = 0;
  while (true) {
    size_t next = at;
    while (at < s.size() && space(unicode::next(s, next))) at = next;
    if (at >= s.size()) break;
    if (static_cast<int64_t>(out.items.size()) == most) {
      out.items.emplace_back(stripped(s.substr(at), nullptr, false, true));
      break;
    }
    const size_t begin = at;
    next = at;
    while (at < s.size() && !space(unicode::next(s, next))) at = next;
    out.items.emplace_back(s.substr(begin, at - begin));
    m.charge(8);
  }
  return out;
}

Value split_lines(Meter& m, const std::string& s, bool keep) {
  m.charge(1 + s.size());
  List out;
  size_t begin = 0;
  for (size_t at = 0; at < s.size();) {
    const size_t end = at;
    const char32_t c = unicode::next(s, at);
    const bool ends =
        (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    if (c == '\r' && at < s.size() && s[at] == '\n') ++at;
    out.items.emplace_back(s.substr(begin, (keep ? at : end) - begin));
    begin = at;
    m.charge(8);
  }
  if (begin < s.size()) out.items.emplace_back(s.substr(begin));
  return out;
}

/// Returns whether a text begins or ends with another, or one of several.
bool touches(Meter& m, const std::string& s, Reading& r, bool begins) {
  const Value& with = r.needed("prefix");
  const auto one = [&](const Value& v) {
    if (!v.text()) m.fail("a text begins and ends with texts, not with a value of type " + type_name(v));
    m.charge(1 + v.text()->size() / 16);
    return begins ? s.starts_with(*v.text()) : s.ends_with(*v.text());
  };
  if (!with.list()) return one(with);
  return std::any_of(with.list()->items.begin(), with.list()->items.end(), one);
}

Value place(const std::string& s, size_t at) {
  if (at == s.npos) return int64_t{-1};
  return static_cast<int64_t>(unicode::count(std::string_view(s).substr(0, at)));
}

bool all_are(const std::string& s, bool (*is)(char32_t)) {
  for (size_t i = 0; i < s.size();)
    if (!is(unicode::next(s, i))) return false;
  return !s.empty();
}

Value strip(Meter& m, const std::string& s, Reading& r, bool left, bool right) {
  const Value* const characters = r.next("chars");
  if (characters && !characters->none() && !characters->text()) m.fail("'strip' takes a text of characters");
  return m.made(stripped(s, characters ? characters->text() : nullptr, left, right));
}

const std::unordered_map<std::string_view, TextMethod>& text_methods() {
  using M = Meter;
  using S = const std::string;
  using R = Reading;
  static const auto& all = *new std::unordered_map<std::string_view, TextMethod>{
      {"strip", [](M& m, S& s, R& r) { return strip(m, s, r, true, true); }},
      {"lstrip", [](M& m, S& s, R& r) { return strip(m, s, r, true, false); }},
      {"rstrip", [](M& m, S& s, R& r) { return strip(m, s, r, false, true); }},
      {"split", [](M& m, S& s, R& r) { return split(m, s, r, false); }},
      {"rsplit", [](M& m, S& s, R& r) { return split(m, s, r, true); }},
      {"splitlines", [](M& m, S& s, R& r) { return split_lines(m, s, r.flag("keepends", false)); }},
      {"startswith", [](M& m, S& s, R& r) -> Value { return touches(m, s, r, true); }},
      {"endswith", [](M& m, S& s, R& r) -> Value { return touches(m, s, r, false); }},
      {"upper", [](M& m, S& s, R&) { return m.made(upper(s)); }},
      {"lower", [](M& m, S& s, R&) { return m.made(lower(s)); }},
      {"capitalize", [](M& m, S& s, R&) { return m.made(capitalized(s)); }},
      {"title", [](M& m, S& s, R&) { return m.made(titled(s)); }},
      {"replace",
       [](M& m, S& s, R& r) {
         const std::string from = r.text("old"), to = r.text("new");
         return m.made(replaced(m, s, from, to, r.whole("count", -1)));
       }},
      {"join",
       [](M& m, S& s, R& r) -> Value {
         std::string out;
         bool first = true;
         for (const Value& v : items_of(m, r.needed("iterable"))) {
           if (!v.text()) m.fail("'join' takes texts, not a value of type " + type_name(v));
           if (!first) out += s;
           first = false;
           out += *v.text();
           m.charge(1 + (s.size() + v.text()->size()) / 16);
         }
         return out;
       }},
      {"find", [](M&, S& s, R& r) { return place(s, s.find(r.text("sub"))); }},
      {"rfind", [](M&, S& s, R& r) { return place(s, s.rfind(r.text("sub"))); }},
      {"count",
       [](M& m, S& s, R& r) -> Value {
         const std::string what = r.text("sub");
         if (what.empty()) return static_cast<int64_t>(unicode::count(s)) + 1;
         m.charge(1 + s.size() / 16);
         int64_t n = 0;
         for (size_t at = 0; (at = s.find(what, at)) != s.npos; at += what.size()) ++n;
         return n;
       }},
      {"removeprefix",
       [](M& m, S& s, R& r) {
         const std::string& with = r.text("prefix");
         return m.made(s.starts_with(with) ? s.substr(with.size()) : s);
       }},
      {"removesuffix",
       [](M& m, S& s, R& r) {
         const std::string& with = r.text("suffix");
         return m.made(s.ends_with(with) ? s.substr(0, s.size() - with.size()) : s);
       }},
      {"isdigit",
       [](M&, S& s, R&) -> Value { return all_are(s, [](char32_t c) { return c >= '0' && c <= '9'; }); }},
      {"isspace", [](M&, S& s, R&) -> Value { return all_are(s, unicode::is_whitespace); }},
      {"isalpha", [](M&, S& s, R&) -> Value { return all_are(s, unicode::is_letter); }},
  };
  return all;
}

constexpr std::string_view kDictMethods[] = {"get", "items", "keys", "values"};
constexpr std::string_view kListMethods[] = {"index", "count"};
// Names that Python has and that are not supported: a call says so.
constexpr std::string_view kOtherOfTexts[] = {"casefold",  "center",  "encode",  "expandtabs", "format",
                                              "index",     "isalnum", "islower", "isupper",    "ljust",
                                              "partition", "rindex",  "rjust",   "rpartition", "swapcase",
                                              "translate", "zfill"};
constexpr std::string_view kOtherOfDicts[] = {"clear",   "copy",       "fromkeys", "pop",
                                              "popitem", "setdefault", "update"};
constexpr std::string_view kOtherOfLists[] = {"append", "clear",  "copy",    "extend", "insert",
                                              "pop",    "remove", "reverse", "sort"};

template <size_t N>
bool has(const std::string_view (&names)[N], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value dict_method(Meter& m, const Dict& d, const std::string& name, Reading& r) {
  m.charge(1 + d.entries.size());
  if (name == "get") {
    const Value& key = r.needed("key");
    const Value* const otherwise = r.next("default");
    const Value* const found = key.text() ? d.find(*key.text()) : nullptr;
    return found ? *found : otherwise ? *otherwise : Value(None());
  }
  List all;
  for (const auto& [key, v] : d.entries) {
    if (name == "keys") all.items.emplace_back(key);
    else if (name == "values") all.items.push_back(v);
    else all.items.emplace_back(List{.items = {key, v}, .tuple = true});
  }
  return all;
}

Value list_method(Meter& m, const List& l, const std::string& name, Reading& r) {
  const Value& what = r.needed("value");
  m.charge(1 + l.size / 16);
  if (name == "count")
    return static_cast<int64_t>(
        std::count_if(l.items.begin(), l.items.end(), [&](const Value& v) { return equal(v, what); }));
  for (size_t i = 0; i < l.items.size(); ++i)
    if (equal(l.items[i], what)) return static_cast<int64_t>(i);
  m.fail("the value is not in the list");
}

}  // namespace

bool has_method(const Value& self, const std::string& name) {
  if (self.text()) return text_methods().contains(name) || has(kOtherOfTexts, name);
  if (self.dict()) return has(kDictMethods, name) || has(kOtherOfDicts, name);
  if (self.list()) return has(kListMethods, name) || has(kOtherOfLists, name);
  return self.loop() && name == "cycle";
}

Value method(Meter& m, const Value& self, const std::string& name, Arguments& a) {
  Reading r(m, name, a);
  Value result;
  if (const Loop* const l = self.loop()) {
    if (a.given.empty()) m.fail("'cycle' needs an argument");
    return a.given[l->index % a.given.size()];
  }
  if (const auto found = text_methods().find(name); self.text() && found != text_methods().end()) {
    m.charge(1 + self.text()->size() / 16);
    result = found->second(m, *self.text(), r);
  } else if (self.dict() && has(kDictMethods, name)) {
    result = dict_method(m, *self.dict(), name, r);
  } else if (self.list() && has(kListMethods, name)) {
    result = list_method(m, *self.list(), name, r);
  } else {
    m.fail("the method '" + name + "' of a value of type " + type_name(self) + " is not supported");
  }
  r.end();
  return result;
}

}  // namespace lazy::text::chat
