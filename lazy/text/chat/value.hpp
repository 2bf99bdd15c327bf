// Holds what a chat template computes with: the values of Jinja, which are Python's.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lazy::text::chat {

/// Is thrown for what a template does wrong; whoever knows the template says where `at` is.
struct Fault {
  size_t at;  // byte of the template
  std::string what;
};

class Value;
struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Callable;

struct Undefined {
  std::string name;  // what was asked for
};
struct None {};
using Text = std::shared_ptr<const std::string>;

/// Bound how deep lists and dictionaries lie in each other, and what one is made of, written out.
inline constexpr int kMostDepth = 64;
inline constexpr size_t kMostSize = size_t{1} << 26;

/// Holds a value. Texts, lists and dictionaries are shared and never change.
class Value {
 public:
  Value() = default;  // undefined
  Value(None) : v_(None()) {}
  Value(Undefined u) : v_(std::move(u)) {}
  Value(bool b) : v_(b) {}
  Value(int64_t n) : v_(n) {}
  Value(double n) : v_(n) {}
  Value(std::string s) : v_(std::make_shared<const std::string>(std::move(s))) {}
  Value(const char* s) : Value(std::string(s)) {}
  Value(List);
  Value(Dict);
  Value(std::shared_ptr<Namespace> n) : v_(std::move(n)) {}
  Value(std::shared_ptr<const Loop> l) : v_(std::move(l)) {}
  Value(std::shared_ptr<const Callable> c) : v_(std::move(c)) {}

  template <class T>
  const T* get() const {
    return std::get_if<T>(&v_);
  }
  bool undefined() const { return get<Undefined>(); }
  bool none() const { return get<None>(); }
  /// Returns the text, list, dictionary or namespace, null for other values.
  const std::string* text() const { return pointed<Text>(); }
  const List* list() const { return pointed<std::shared_ptr<const List>>(); }
  const Dict* dict() const { return pointed<std::shared_ptr<const Dict>>(); }
  Namespace* space() const { return pointed<std::shared_ptr<Namespace>>(); }
  const Loop* loop() const { return pointed<std::shared_ptr<const Loop>>(); }
  const Callable* callable() const { return pointed<std::shared_ptr<const Callable>>(); }
  /// Returns whether it is a whole number, as which Python takes bools, too, and which.
  bool whole(int64_t& n) const;
  /// Returns whether it is a number, and which.
  bool number(double& n) const;

  /// Returns whether it counts as true.
  bool truth() const;
  /// Returns how deep lists and dictionaries lie in it: 0 of other values.
  int depth() const;
  /// Returns what writing it takes, in bytes more or less: shared parts count each time.
  size_t size() const;

 private:
  template <class P>
  auto pointed() const -> decltype(std::declval<P>().get()) {
    const P* const p = std::get_if<P>(&v_);
    return p ? p->get() : nullptr;
  }
  std::variant<Undefined, None, bool, int64_t, double, Text, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, std::shared_ptr<Namespace>, std::shared_ptr<const Loop>,
               std::shared_ptr<const Callable>>
      v_;
};

struct List {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 0;  // as Value::depth() and size(), set when it becomes a value
  size_t size = 0;
};
/// Holds entries in the order in which they were added. Keys are texts.
struct Dict {
  std::vector<std::pair<std::string, Value>> entries;
  int depth = 0;
  size_t size = 0;
  const Value* find(std::string_view key) const;
  void set(const std::string& key, Value v);
};
/// Holds what namespace() makes: the one value that changes.
struct Namespace {
  std::map<std::string, Value, std::less<>> names;
};
/// Holds what the name `loop` stands for in a loop.
struct Loop {
  std::shared_ptr<const std::vector<Value>> items;
  size_t index = 0;
  int64_t level = 1;  // of loops in each other
};

/// Returns the name of the type, as Python has it.
std::string type_name(const Value&);
/// Return text as Python's str() and repr() have it.
std::string str(const Value&);
std::string repr(const Value&);
/// Returns whether two values are equal. Texts and numbers are compared by what they hold, namespaces are if
/// they are the same.
bool equal(const Value&, const Value&);
/// Returns JSON as Python's json.dumps(ensure_ascii=False) has it; with an indent of 0 or more, on lines.
/// Fault for what JSON has not.
struct JsonStyle {
  int64_t indent = -1;
  bool ascii = false, sorted = false;
  std::string between = ", ", behind_key = ": ";  // what separates items, and keys from values
};
std::string json(const Value&, const JsonStyle&, size_t at);
/// Returns what a document holds. Fault for one that is nested too deep and for whole numbers of more than 64
/// bits.
Value value_of(const nlohmann::ordered_json&);

}  // namespace lazy::text::chat
