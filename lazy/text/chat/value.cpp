#include "lazy/text/chat/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

/// Adds an item to what a list or dictionary knows of itself.
template <class C>
void count(C& c, const Value& v, size_t more) {
  c.depth = std::max(c.depth, v.depth() + 1);
  if (c.depth > kMostDepth)
    throw Fault{0,
                "lists and dictionaries lie in each other more than " + std::to_string(kMostDepth) + " deep"};
  c.size += v.size() + more;
  if (c.size > kMostSize)
    throw Fault{0, "a list or dictionary has more than " + std::to_string(kMostSize) + " bytes"};
}

/// Returns the shortest text that reads as the number, as Python's repr() writes it.
std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char digits[64];
  const auto scientific = std::to_chars(digits, digits + sizeof digits, v, std::chars_format::scientific);
  const std::string_view shortest(digits, static_cast<size_t>(scientific.ptr - digits));
  const size_t e = shortest.find('e');
  const int exponent = std::stoi(std::string(shortest.substr(e + 1)));
  if (exponent < -4 || exponent >= 16) {
    std::string out(shortest.substr(0, e));
    const int size = std::abs(exponent);
    return out + (exponent < 0 ? "e-" : "e+") + (size < 10 ? "0" : "") + std::to_string(size);
  }
  char fixed[64];
  const auto end = std::to_chars(fixed, fixed + sizeof fixed, v, std::chars_format::fixed);
  std::string out(fixed, end.ptr);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

std::string quoted(const std::string& s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  char hex[16];
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') (out += '\\') += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) std::snprintf(hex, sizeof hex, "\\x%02x", byte), out += hex;
    else out += c;
  }
  return out + quote;
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, size_t at) : style_(style), at_(at) {}
  std::string out;

  void write(const Value& v, int64_t level) {
    int64_t n = 0;
    if (v.none()) out += "null";
    else if (const bool* const b = v.get<bool>()) out += *b ? "true" : "false";
    else if (v.whole(n)) out += std::to_string(n);
    else if (const double* const d = v.get<double>()) out += real(*d);
    else if (v.text()) text(*v.text());
    else if (v.list()) list(*v.list(), level);
    else if (v.dict()) dict(*v.dict(), level);
    else throw Fault{at_, "a value of type " + type_name(v) + " can't be written as JSON"};
  }

 private:
  static std::string real(double v) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
    return real_text(v);
  }
  void list(const List& l, int64_t level) {
    if (l.items.empty()) return void(out += "[]");
    out += '[';
    for (size_t i = 0; i < l.items.size(); ++i) {
      begin(i, level + 1);
      write(l.items[i], level + 1);
    }
    end(level);
    out += ']';
  }
  void dict(const Dict& d, int64_t level) {
    if (d.entries.empty()) return void(out += "{}");
    std::vector<const std::pair<std::string, Value>*> all;
    for (const auto& e : d.entries) all.push_back(&e);
    if (style_.sorted)
      std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    out += '{';
    for (size_t i = 0; i < all.size(); ++i) {
      begin(i, level + 1);
      text(all[i]->first);
      out += style_.behind_key;
      write(all[i]->second, level + 1);
    }
    end(level);
    out += '}';
  }
  void begin(size_t i, int64_t level) {
    if (i > 0) out += style_.between;
    end(level);
  }
  void end(int64_t level) {
    if (style_.indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(style_.indent * level), ' ');
  }
  void text(const std::string& s) {
    out += '"';
    char hex[16];
    for (size_t i = 0; i < s.size();) {
      const char c = s[i];
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        const size_t from = i;
        const char32_t code = unicode::next(s, i);
        if (!style_.ascii) {
          out.append(s, from, i - from);
        } else if (code < 0x10000) {
          std::snprintf(hex, sizeof hex, "\\u%04x", static_cast<unsigned>(code)), out += hex;
        } else {
          const auto above = static_cast<unsigned>(code) - 0x10000;
          std::snprintf(hex, sizeof hex, "\\u%04x\\u%04x", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
          out += hex;
        }
        continue;
      }
      ++i;
      if (c == '"' || c == '\\') (out += '\\') += c;
      else if (c == '\n') out += "\\n";
      else if (c == '\r') out += "\\r";
      else if (c == '\t') out += "\\t";
      else if (c == '\b') out += "\\b";
      else if (c == '\f') out += "\\f";
      else if (byte < 0x20) std::snprintf(hex, sizeof hex, "\\u%04x", byte), out += hex;
      else out += c;
    }
    out += '"';
  }

  const JsonStyle& style_;
  size_t at_;
};

}  // namespace

Value::Value(List l) {
  l.depth = 0, l.size = 2;
  for (const Value& v : l.items) count(l, v, 2);
  v_ = std::make_shared<const List>(std::move(l));
}
Value::Value(Dict d) {
  d.depth = 0, d.size = 2;
  for (const auto& [key, v] : d.entries) count(d, v, key.size() + 6);
  v_ = std::make_shared<const Dict>(std::move(d));
}

int Value::depth() const {
  if (list()) return list()->depth;
  return dict() ? dict()->depth : 0;
}

size_t Value::size() const {
  if (text()) return text()->size() + 2;
  if (list()) return list()->size;
  return dict() ? dict()->size : 8;
}

bool Value::whole(int64_t& n) const {
  if (const int64_t* const i = get<int64_t>()) return n = *i, true;
  if (const bool* const b = get<bool>()) return n = *b, true;
  return false;
}
bool Value::number(double& n) const {
  if (const double* const d = get<double>()) return n = *d, true;
  int64_t i = 0;
  return whole(i) ? (n = static_cast<double>(i), true) : false;
}

bool Value::truth() const {
  double n = 0;
  if (undefined() || none()) return false;
  if (number(n)) return n != 0;
  if (text()) return !text()->empty();
  if (list()) return !list()->items.empty();
  if (dict()) return !dict()->entries.empty();
  return true;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, v] : entries)
    if (name == key) return &v;
  return nullptr;
}
void Dict::set(const std::string& key, Value v) {
  for (auto& [name, value] : entries)
    if (name == key) return void(value = std::move(v));
  entries.emplace_back(key, std::move(v));
}

std::string type_name(const Value& v) {
  if (v.undefined()) return "Undefined";
  if (v.none()) return "NoneType";
  if (v.get<bool>()) return "bool";
  if (v.get<int64_t>()) return "int";
  if (v.get<double>()) return "float";
  if (v.text()) return "str";
  if (v.list()) return v.list()->tuple ? "tuple" : "list";
  if (v.dict()) return "dict";
  if (v.space()) return "Namespace";
  return v.loop() ? "LoopContext" : "function";
}

std::string str(const Value& v) {
  if (v.text()) return *v.text();
  return v.undefined() ? std::string() : repr(v);
}

std::string repr(const Value& v) {
  if (v.undefined()) return "Undefined";
  if (v.none()) return "None";
  if (const bool* const b = v.get<bool>()) return *b ? "True" : "False";
  if (const int64_t* const n = v.get<int64_t>()) return std::to_string(*n);
  if (const double* const d = v.get<double>()) return real_text(*d);
  if (v.text()) return quoted(*v.text());
  if (const List* const l = v.list()) {
    std::string out(1, l->tuple ? '(' : '[');
    for (size_t i = 0; i < l->items.size(); ++i) out += (i ? ", " : "") + repr(l->items[i]);
    if (l->tuple && l->items.size() == 1) out += ',';
    return out + (l->tuple ? ')' : ']');
  }
  if (const Dict* const d = v.dict()) {
    std::string out = "{";
    for (size_t i = 0; i < d->entries.size(); ++i)
      out += (i ? ", " : "") + quoted(d->entries[i].first) + ": " + repr(d->entries[i].second);
    return out + '}';
  }
  return "<" + type_name(v) + ">";
}

bool equal(const Value& a, const Value& b) {
  int64_t i = 0, j = 0;
  double x = 0, y = 0;
  if (a.whole(i) && b.whole(j)) return i == j;
  if (a.number(x) && b.number(y)) return x == y;
  if (a.undefined() || b.undefined()) return a.undefined() && b.undefined();
  if (a.none() || b.none()) return a.none() && b.none();
  if (a.text() && b.text()) return *a.text() == *b.text();
  if (const List* const l = a.list(), * const m = b.list(); l && m)
    return l->tuple == m->tuple &&
           std::equal(l->items.begin(), l->items.end(), m->items.begin(), m->items.end(), equal);
  if (const Dict* const d = a.dict(), * const e = b.dict(); d && e) {
    if (d->entries.size() != e->entries.size()) return false;
    return std::all_of(d->entries.begin(), d->entries.end(), [&](const auto& entry) {
      const Value* const other = e->find(entry.first);
      return other && equal(entry.second, *other);
    });
  }
  return a.space() && a.space() == b.space();
}

std::string json(const Value& v, const JsonStyle& style, size_t at) {
  JsonWriter w(style, at);
  w.write(v, 0);
  return std::move(w.out);
}

namespace {

Value value_at(const nlohmann::ordered_json& j, int depth) {
  if (depth > kMostDepth) throw Fault{0, "JSON is nested more than " + std::to_string(kMostDepth) + " deep"};
  if (j.is_null()) return None();
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_unsigned() && j.get<uint64_t>() > INT64_MAX)
    throw Fault{0, "the whole number " + j.dump() + " has more than 64 bits"};
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return j.get<std::string>();
  if (j.is_array()) {
    List l;
    for (const auto& item : j) l.items.push_back(value_at(item, depth + 1));
    return l;
  }
  Dict d;
  for (const auto& [key, item] : j.items()) d.entries.emplace_back(key, value_at(item, depth + 1));
  return d;
}

}  // namespace

Value value_of(const nlohmann::ordered_json& j) { return value_at(j, 0); }

}  // namespace lazy::text::chat
