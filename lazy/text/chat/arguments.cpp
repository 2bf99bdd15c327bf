#include "lazy/text/chat/builtins.hpp"

namespace lazy::text::chat {

const Value* Reading::next(const char* name) {
  for (auto& [given, v] : arguments_.named)
    if (given == name) {
      ++named_;
      return &v;
    }
  return position_ < arguments_.given.size() ? &arguments_.given[position_++] : nullptr;
}

const Value& Reading::needed(const char* name) {
  const Value* const v = next(name);
  if (!v) meter_.fail("'" + name_ + "' needs an argument, '" + name + "'");
  return *v;
}

const std::string& Reading::text(const char* name) {
  const Value& v = needed(name);
  if (!v.text())
    meter_.fail("'" + name_ + "' takes a text as its '" + name + "', not a value of type " + type_name(v));
  return *v.text();
}

std::string Reading::text(const char* name, const std::string& otherwise) {
  const Value* const v = next(name);
  if (!v || v->none()) return otherwise;
  if (!v->text())
    meter_.fail("'" + name_ + "' takes a text as its '" + name + "', not a value of type " + type_name(*v));
  return *v->text();
}

int64_t Reading::whole(const char* name, int64_t otherwise) {
  const Value* const v = next(name);
  int64_t n = otherwise;
  if (v && !v->none() && !v->whole(n))
    meter_.fail("'" + name_ + "' takes a whole number as its '" + name + "', not a value of type " +
                type_name(*v));
  return n;
}

bool Reading::flag(const char* name, bool otherwise) {
  const Value* const v = next(name);
  return v ? v->truth() : otherwise;
}

void Reading::end() {
  if (position_ < arguments_.given.size() || named_ < arguments_.named.size())
    meter_.fail("'" + name_ + "' takes fewer arguments, or none of such a name");
}

}  // namespace lazy::text::chat
