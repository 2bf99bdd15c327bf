#include "lazy/text/chat/render.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lazy/text/chat/builtins.hpp"

namespace lazy::text::chat {
namespace {

using E = ExpressionKind;
using S = StatementKind;

/// Says how a statement ended.
enum class Flow : uint8_t { on, break_, continue_ };

/// Holds the names that a part of the template sets, and the ones around it.
struct Scope {
  const Scope* outer;
  std::map<std::string, Value, std::less<>> names = {};
  const Value* find(const std::string& name) const {
    for (const Scope* s = this; s; s = s->outer)
      if (const auto found = s->names.find(name); found != s->names.end()) return &found->second;
    return nullptr;
  }
};

class Renderer {
 public:
  Renderer(const Dict& names, std::time_t now) : global_{nullptr} {
    meter_.now = now;
    for (const auto& [name, v] : names.entries) global_.names[name] = v;
  }
  Renderer(const Renderer&) = delete;
  ~Renderer() {
    // They may have one another.
    for (const auto& space : spaces_) space->names.clear();
  }

  std::string run(const Statements& all) {
    std::string out;
    try {
      write(all, global_, out);
    } catch (Fault& f) {
      if (f.at == 0) f.at = meter_.at;  // of what does not know
      throw;
    }
    return out;
  }

 private:
  /// Bounds what calls each other while one lives: the stack has room for so much.
  class Deeper {
   public:
    explicit Deeper(Renderer& r) : r_(r) {
      constexpr int kMost = 2000;
      if (++r_.depth_ > kMost) r_.meter_.fail("the template is nested too deep");
    }
    Deeper(const Deeper&) = delete;
    ~Deeper() { --r_.depth_; }

   private:
    Renderer& r_;
  };

  void put(std::string_view text, std::string& out) {
    meter_.charge(text.size() / 16);
    if (out.size() + text.size() > kMostOutput)
      meter_.fail("the text has more than " + std::to_string(kMostOutput) + " bytes");
    out += text;
  }

  Flow write(const Statements& all, Scope& scope, std::string& out) {
    const Deeper deeper(*this);
    for (const Statement& s : all)
      if (const Flow f = write(s, scope, out); f != Flow::on) return f;
    return Flow::on;
  }

  Flow write(const Statement& s, Scope& scope, std::string& out) {
    meter_.at = s.at;
    meter_.charge(1);
    switch (s.kind) {
      case S::text: put(s.text, out); break;
      case S::print: {
        const Value v = value(*s.first, scope);
        put(v.text() ? *v.text() : meter_.str(v), out);
        break;
      }
      case S::if_: return write(value(*s.first, scope).truth() ? s.body : s.otherwise, scope, out);
      case S::for_: return loop(s, scope, out);
      case S::set: set(s, scope); break;
      case S::set_block: {
        Scope inner{&scope};
        std::string text;
        const Flow f = write(s.body, inner, text);
        Value v(std::move(text));
        for (const ExpressionPtr& each : s.filters) v = filtered(*each, std::move(v), scope);
        scope.names[s.targets[0]] = std::move(v);
        return f;
      }
      case S::macro:
        scope.names[s.text] = std::make_shared<const Callable>(Callable{.name = s.text, .macro = &s});
        break;
      case S::block: return write(s.body, scope, out);
      case S::break_: return Flow::break_;
      case S::continue_: return Flow::continue_;
    }
    return Flow::on;
  }

  void assign(const std::vector<std::string>& targets, Value v, Scope& scope) {
    if (targets.size() == 1) return void(scope.names[targets[0]] = std::move(v));
    const std::vector<Value> items = items_of(meter_, v);
    if (items.size() != targets.size())
      meter_.fail(std::to_string(items.size()) + " values for " + std::to_string(targets.size()) + " names");
    for (size_t i = 0; i < items.size(); ++i) scope.names[targets[i]] = items[i];
  }

  void set(const Statement& s, Scope& scope) {
    Value v = value(*s.first, scope);
    meter_.at = s.at;
    if (s.attribute.empty()) return assign(s.targets, std::move(v), scope);
    const Value* const space = scope.find(s.targets[0]);
    if (!space || !space->space())
      meter_.fail("'" + s.targets[0] + "' is no namespace: its attributes can't be set");
    space->space()->names[s.attribute] = std::move(v);
  }

  Flow loop(const Statement& s, Scope& scope, std::string& out) {
    std::vector<Value> items = items_of(meter_, value(*s.first, scope));
    if (s.filter)
      std::erase_if(items, [&](const Value& v) {
        Scope inner{&scope};
        assign(s.targets, v, inner);
        return !value(*s.filter, inner).truth();
      });
    bool completed = false;  // as Jinja has it: `else` also follows a loop no turn of which came to its end
    const auto all = std::make_shared<const std::vector<Value>>(std::move(items));
    ++level_;
    for (size_t i = 0; i < all->size(); ++i) {
      Scope inner{&scope};
      meter_.at = s.at;
      meter_.charge(4);
      assign(s.targets, (*all)[i], inner);
      inner.names["loop"] = std::make_shared<const Loop>(Loop{.items = all, .index = i, .level = level_});
      const Flow f = write(s.body, inner, out);
      completed |= f == Flow::on;
      if (f == Flow::break_) break;
    }
    --level_;
    return completed ? Flow::on : write(s.otherwise, scope, out);
  }

  Value optional(const ExpressionPtr& e, Scope& scope) { return e ? value(*e, scope) : Value(); }

  Value value(const Expression& e, Scope& scope) {
    const Deeper deeper(*this);
    meter_.charge(1);
    const auto part = [&](size_t i) { return value(*e.parts[i], scope); };
    switch (e.kind) {
      case E::constant: return e.value;
      case E::name: return named(e.name, scope);
      case E::list:
      case E::tuple: {
        List l;
        l.tuple = e.kind == E::tuple;
        for (size_t i = 0; i < e.parts.size(); ++i) l.items.push_back(part(i));
        meter_.at = e.at;
        return l;
      }
      case E::dict: {
        Dict d;
        for (size_t i = 0; i < e.parts.size(); i += 2) {
          const Value key = part(i);
          meter_.at = e.at;
          if (!key.text()) meter_.fail("keys are texts, not values of type " + type_name(key));
          d.set(*key.text(), part(i + 1));
        }
        meter_.at = e.at;
        return d;
      }
      case E::attribute: {
        const Value of = part(0);
        meter_.at = e.at;
        return attribute(meter_, of, e.name);
      }
      case E::item: {
        const Value of = part(0), key = part(1);
        meter_.at = e.at;
        return item(meter_, of, key);
      }
      case E::slice: {
        const Value of = part(0), first = optional(e.parts[1], scope), last = optional(e.parts[2], scope),
                    step = optional(e.parts[3], scope);
        meter_.at = e.at;
        return slice(meter_, of, first, last, step);
      }
      case E::call: return called(e, scope);
      case E::filter: return filtered(e, part(0), scope);
      case E::test: {
        const Value x = part(0);
        Arguments a = arguments(e, scope);
        meter_.at = e.at;
        return test(meter_, e.name, x, a);
      }
      case E::negative:
      case E::positive: {
        const Value x = part(0);
        meter_.at = e.at;
        return binary(meter_, e.kind == E::negative ? "-" : "+", int64_t{0}, x);
      }
      case E::not_: return !part(0).truth();
      case E::and_: {
        Value a = part(0);
        return a.truth() ? part(1) : std::move(a);
      }
      case E::or_: {
        Value a = part(0);
        return a.truth() ? std::move(a) : part(1);
      }
      case E::binary: {
        const Value a = part(0), b = part(1);
        meter_.at = e.at;
        return binary(meter_, e.name, a, b);
      }
      case E::compare: return compared(e, scope);
      case E::condition: {
        if (part(1).truth()) return part(0);
        return e.parts[2] ? part(2) : Value(Undefined{"the value of a condition without else"});
      }
    }
    return {};
  }

  static Value named(const std::string& name, const Scope& scope) {
    if (const Value* const v = scope.find(name)) return *v;
    if (has_function(name)) return std::make_shared<const Callable>(Callable{.name = name});
    return Undefined{name};
  }

  bool compared(const Expression& e, Scope& scope) {
    Value left = value(*e.parts[0], scope);
    for (size_t i = 0; i < e.names.size(); ++i) {
      Value right = value(*e.parts[i + 1], scope);
      meter_.at = e.at;
      const std::string& op = e.names[i];
      bool holds = false;
      if (op == "==" || op == "!=") {
        meter_.charge(std::min(left.size(), right.size()) / 16);
        holds = equal(left, right) == (op == "==");
      } else if (op == "in" || op == "not in") {
        holds = contains(meter_, right, left) == (op == "in");
      } else if (op == "<" || op == ">=") {
        holds = less(meter_, left, right) == (op == "<");
      } else {
        holds = less(meter_, right, left) == (op == ">");
      }
      if (!holds) return false;
      left = std::move(right);
    }
    return true;
  }

  /// Returns the arguments of a call, a filter or a test: all parts but the first.
  Arguments arguments(const Expression& e, Scope& scope) {
    Arguments a;
    for (size_t i = 1; i < e.parts.size(); ++i) a.given.push_back(value(*e.parts[i], scope));
    for (const auto& [name, v] : e.arguments) a.named.emplace_back(name, value(*v, scope));
    return a;
  }

  Value filtered(const Expression& e, const Value& x, Scope& scope) {
    Arguments a = arguments(e, scope);
    meter_.at = e.at;
    return filter(meter_, e.name, x, a);
  }

  Value called(const Expression& e, Scope& scope) {
    const Value f = value(*e.parts[0], scope);
    Arguments a = arguments(e, scope);
    meter_.at = e.at;
    if (const Undefined* const u = f.get<Undefined>()) meter_.fail("'" + u->name + "' is undefined");
    const Callable* const c = f.callable();
    if (!c) meter_.fail("a value of type " + type_name(f) + " can't be called");
    if (c->macro) return expanded(*c->macro, a);
    if (c->method) return method(meter_, c->self, c->name, a);
    Value result = function(meter_, c->name, a);
    if (const auto* const space = result.get<std::shared_ptr<Namespace>>()) spaces_.push_back(*space);
    return result;
  }

  /// Returns what a macro writes.
  Value expanded(const Statement& macro, Arguments& a) {
    const Deeper deeper(*this);
    Scope inner{&global_};
    const size_t n = macro.targets.size();
    if (a.given.size() > n) meter_.fail("the macro '" + macro.text + "' takes fewer arguments");
    for (size_t i = 0; i < n; ++i) {
      const std::string& name = macro.targets[i];
      const auto by_name =
          std::find_if(a.named.begin(), a.named.end(), [&](const auto& each) { return each.first == name; });
      if (i < a.given.size()) {
        inner.names[name] = a.given[i];
      } else if (by_name != a.named.end()) {
        inner.names[name] = by_name->second;
      } else if (const size_t plain = n - macro.defaults.size(); i >= plain) {
        inner.names[name] = value(*macro.defaults[i - plain], inner);
      } else {
        inner.names[name] = Undefined{name};
      }
    }
    for (const auto& [name, v] : a.named)
      if (std::find(macro.targets.begin(), macro.targets.end(), name) == macro.targets.end())
        meter_.fail("the macro '" + macro.text + "' has no parameter '" + name + "'");
    std::string out;
    const int64_t level = std::exchange(level_, 0);
    write(macro.body, inner, out);
    level_ = level;
    return meter_.made(std::move(out));
  }

  Meter meter_;
  Scope global_;
  std::vector<std::shared_ptr<Namespace>> spaces_;
  int depth_ = 0;
  int64_t level_ = 0;  // of loops in each other
};

}  // namespace

std::string render(const Statements& all, const Dict& names, std::time_t now) {
  return Renderer(names, now).run(all);
}

}  // namespace lazy::text::chat
