#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "lazy/text/chat/lexer.hpp"
#include "lazy/text/chat/syntax.hpp"

namespace lazy::text::chat {
namespace {

using E = ExpressionKind;
using S = StatementKind;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}

  Statements all() {
    Statements s = statements({});
    return s;
  }

 private:
  /// Bounds the nesting while one lives.
  class Deeper {
   public:
    explicit Deeper(Parser& p) : p_(p) {
      if (++p_.depth_ > kMostNested)
        p_.fail("parts of the template lie in each other more than " + std::to_string(kMostNested) + " deep");
    }
    Deeper(const Deeper&) = delete;
    ~Deeper() { --p_.depth_; }

   private:
    Parser& p_;
  };

  // Tokens.

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_sign(std::string_view s, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::sign && peek(ahead).text == s;
  }
  bool is_word(std::string_view s, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::name && peek(ahead).text == s;
  }
  Token take() { return tokens_[std::min(next_++, tokens_.size() - 1)]; }
  bool skip_sign(std::string_view s) { return is_sign(s) && (++next_, true); }
  bool skip_word(std::string_view s) { return is_word(s) && (++next_, true); }
  [[noreturn]] void fail(const std::string& what) const { throw Fault{peek().at, what}; }
  static std::string described(const Token& t) {
    switch (t.kind) {
      case TokenKind::end: return "the end of the template";
      case TokenKind::text: return "text";
      case TokenKind::open_print: return "'{{'";
      case TokenKind::close_print: return "'}}'";
      case TokenKind::open_block: return "'{%'";
      case TokenKind::close_block: return "'%}'";
      case TokenKind::string: return "a string";
      default: return "'" + t.text + "'";
    }
  }
  [[noreturn]] void expected(const std::string& what) const {
    fail("expected " + what + ", found " + described(peek()));
  }
  void need_sign(std::string_view s) {
    if (!skip_sign(s)) expected("'" + std::string(s) + "'");
  }
  void need(TokenKind kind, const char* what) {
    if (!is(kind)) expected(what);
    ++next_;
  }
  void close_block() { need(TokenKind::close_block, "'%}'"); }
  std::string need_name(const char* what) {
    if (!is(TokenKind::name)) expected(what);
    return take().text;
  }

  // Statements.

  /// Reads up to a tag that begins with one of these words, which is not taken; without words up to the end.
  Statements statements(std::initializer_list<std::string_view> until) {
    const Deeper deeper(*this);
    const size_t begin = peek().at;
    Statements all;
    while (true) {
      if (is(TokenKind::end)) {
        if (until.size() == 0) return all;
        throw Fault{begin, "the block has no {% " + std::string(*(until.end() - 1)) + " %}"};
      }
      if (is(TokenKind::text)) {
        const Token t = take();
        all.push_back({.kind = S::text, .at = t.at, .text = t.text});
      } else if (is(TokenKind::open_print)) {
        const size_t at = take().at;
        all.push_back({.kind = S::print, .at = at, .first = tuple()});
        need(TokenKind::close_print, "'}}'");
      } else {
        const Token& word = peek(1);
        if (word.kind == TokenKind::name && std::find(until.begin(), until.end(), word.text) != until.end())
          return all;
        ++next_;
        all.push_back(tag());
      }
    }
  }

  Statement tag() {
    const size_t at = peek().at;
    const std::string word = need_name("the name of a tag");
    if (word == "if") return if_(at);
    if (word == "for") return for_(at);
    if (word == "set") return set(at);
    if (word == "macro") return macro(at);
    if (word == "generation") {
      close_block();
      Statement s{.kind = S::block, .at = at, .body = statements({"endgeneration"})};
      end_tag();
      return s;
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) throw Fault{at, "'" + word + "' is in no loop"};
      close_block();
      return {.kind = word == "break" ? S::break_ : S::continue_, .at = at};
    }
    for (const std::string_view known :
         {"elif", "else", "endif", "endfor", "endset", "endmacro", "endgeneration"})
      if (word == known) throw Fault{at, "'" + word + "' ends no block"};
    throw Fault{at, "the tag '" + word + "' is not supported"};
  }

  /// Takes the tag that ends a block, which is here.
  std::string end_tag() {
    ++next_;
    std::string word = take().text;
    if (word.starts_with("end")) close_block();
    return word;
  }

  Statement if_(size_t at) {
    Statement s{.kind = S::if_, .at = at, .first = expression()};
    close_block();
    s.body = statements({"elif", "else", "endif"});
    const size_t next_at = peek(1).at;
    const std::string word = end_tag();
    if (word == "elif") {
      const Deeper deeper(*this);
      s.otherwise.push_back(if_(next_at));
    }
    if (word == "else") {
      close_block();
      s.otherwise = statements({"endif"});
      end_tag();
    }
    return s;
  }

  std::vector<std::string> names() {
    std::vector<std::string> all;
    const bool bracket = skip_sign("(");
    do { all.push_back(need_name("a name")); } while (skip_sign(","));
    if (bracket) need_sign(")");
    return all;
  }

  Statement for_(size_t at) {
    Statement s{.kind = S::for_, .at = at, .targets = names()};
    if (!skip_word("in")) expected("'in'");
    s.first = or_();
    if (skip_word("if")) s.filter = expression();
    if (is_word("recursive")) fail("recursive loops are not supported");
    close_block();
    ++loops_;
    s.body = statements({"else", "endfor"});
    --loops_;
    if (end_tag() == "else") {
      close_block();
      s.otherwise = statements({"endfor"});
      end_tag();
    }
    return s;
  }

  Statement set(size_t at) {
    Statement s{.kind = S::set, .at = at};
    s.targets = names();
    if (s.targets.size() == 1 && skip_sign(".")) s.attribute = need_name("an attribute");
    if (skip_sign("=")) {
      s.first = tuple();
      close_block();
      return s;
    }
    if (s.targets.size() > 1 || !s.attribute.empty()) expected("'='");
    s.kind = S::set_block;
    while (skip_sign("|")) s.filters.push_back(filter(nullptr));
    close_block();
    s.body = statements({"endset"});
    end_tag();
    return s;
  }

  Statement macro(size_t at) {
    Statement s{.kind = S::macro, .at = at, .text = need_name("a name")};
    need_sign("(");
    while (!is_sign(")")) {
      if (!s.targets.empty()) need_sign(",");
      if (is_sign(")")) break;
      s.targets.push_back(need_name("a parameter"));
      if (skip_sign("=")) s.defaults.push_back(expression());
      else if (!s.defaults.empty()) fail("a parameter without a default follows one that has one");
    }
    need_sign(")");
    close_block();
    const int loops = std::exchange(loops_, 0);
    s.body = statements({"endmacro"});
    loops_ = loops;
    end_tag();
    return s;
  }

  // Expressions, from what binds least to what binds most.

  static ExpressionPtr make(E kind, size_t at, std::string name = {}) {
    return std::make_unique<Expression>(Expression{.kind = kind, .at = at, .name = std::move(name)});
  }
  template <class... P>
  static ExpressionPtr of(E kind, size_t at, P... parts) {
    ExpressionPtr e = make(kind, at);
    (add(*e, std::move(parts)), ...);
    return e;
  }
  static void add(Expression& to, ExpressionPtr part) {
    if (part) deepen(to, *part);
    to.parts.push_back(std::move(part));
  }
  static void deepen(Expression& e, const Expression& part) {
    e.depth = std::max(e.depth, part.depth + 1);
    if (e.depth > kMostLinked)
      throw Fault{part.at, "more than " + std::to_string(kMostLinked) + " operators follow each other"};
  }

  /// Reads an expression, or several that are separated by commas, a tuple.
  ExpressionPtr tuple() {
    const size_t at = peek().at;
    ExpressionPtr first = expression();
    if (!is_sign(",")) return first;
    ExpressionPtr all = of(E::tuple, at, std::move(first));
    while (skip_sign(",") && !is(TokenKind::close_print) && !is(TokenKind::close_block))
      add(*all, expression());
    return all;
  }

  ExpressionPtr expression() {
    const Deeper deeper(*this);
    ExpressionPtr e = or_();
    while (is_word("if")) {
      const size_t at = take().at;
      ExpressionPtr condition = or_(), otherwise;
      if (skip_word("else")) otherwise = expression();
      e = of(E::condition, at, std::move(e), std::move(condition), std::move(otherwise));
    }
    return e;
  }
  ExpressionPtr or_() {
    ExpressionPtr e = and_();
    while (is_word("or")) {
      const size_t at = take().at;
      e = of(E::or_, at, std::move(e), and_());
    }
    return e;
  }
  ExpressionPtr and_() {
    ExpressionPtr e = not_();
    while (is_word("and")) {
      const size_t at = take().at;
      e = of(E::and_, at, std::move(e), not_());
    }
    return e;
  }
  ExpressionPtr not_() {
    const Deeper deeper(*this);
    if (!is_word("not")) return compare();
    const size_t at = take().at;
    return of(E::not_, at, not_());
  }
  ExpressionPtr compare() {
    ExpressionPtr first = sum();
    ExpressionPtr all;
    while (true) {
      std::string name;
      for (const std::string_view s : {"==", "!=", "<=", ">=", "<", ">"})
        if (is_sign(s)) name = s;
      if (is_word("in")) name = "in";
      const bool not_in = is_word("not") && is_word("in", 1);
      if (not_in) name = "not in";
      if (name.empty()) return all ? std::move(all) : std::move(first);
      const size_t at = take().at;
      if (not_in) ++next_;
      if (!all) all = of(E::compare, at, std::move(first));
      all->names.push_back(name);
      add(*all, sum());
    }
  }
  ExpressionPtr sum() {
    return chain({"+", "-"}, [&] { return chain({"~"}, [&] { return product(); }); });
  }
  ExpressionPtr product() {
    return chain({"*", "/", "//", "%"}, [&] { return chain({"**"}, [&] { return unary(true); }); });
  }
  template <class Next>
  ExpressionPtr chain(std::initializer_list<std::string_view> signs, const Next& next) {
    ExpressionPtr e = next();
    while (true) {
      const bool here =
          is(TokenKind::sign) && std::find(signs.begin(), signs.end(), peek().text) != signs.end();
      if (!here) return e;
      const Token t = take();
      e = of(E::binary, t.at, std::move(e), next());
      e->name = t.text;
    }
  }
  ExpressionPtr unary(bool with_filters) {
    const Deeper deeper(*this);
    ExpressionPtr e;
    if (is_sign("-") || is_sign("+")) {
      const Token t = take();
      e = of(t.text == "-" ? E::negative : E::positive, t.at, unary(false));
    } else {
      e = primary();
    }
    e = postfix(std::move(e));
    return with_filters ? filters(std::move(e)) : std::move(e);
  }

  ExpressionPtr constant(Value v, size_t at) {
    ExpressionPtr e = make(E::constant, at);
    e->value = std::move(v);
    return e;
  }

  ExpressionPtr primary() {
    const Token t = peek();
    switch (t.kind) {
      case TokenKind::name:
        ++next_;
        if (t.text == "true" || t.text == "True") return constant(true, t.at);
        if (t.text == "false" || t.text == "False") return constant(false, t.at);
        if (t.text == "none" || t.text == "None") return constant(None(), t.at);
        return make(E::name, t.at, t.text);
      case TokenKind::string: {
        std::string text;
        while (is(TokenKind::string)) text += take().text;
        return constant(std::move(text), t.at);
      }
      case TokenKind::integer: {
        int64_t n = 0;
        const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), n);
        if (error != std::errc() || end != t.text.data() + t.text.size())
          fail("the number has more than 64 bits");
        ++next_;
        return constant(n, t.at);
      }
      case TokenKind::real: {
        double v = 0;
        std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
        ++next_;
        return constant(v, t.at);
      }
      default: break;
    }
    if (skip_sign("(")) return brackets(t.at);
    if (skip_sign("[")) {
      ExpressionPtr list = make(E::list, t.at);
      items(*list, "]", [&] { add(*list, expression()); });
      return list;
    }
    if (skip_sign("{")) {
      ExpressionPtr dict = make(E::dict, t.at);
      items(*dict, "}", [&] {
        add(*dict, expression());
        need_sign(":");
        add(*dict, expression());
      });
      return dict;
    }
    expected("an expression");
  }

  template <class Item>
  void items(const Expression&, std::string_view closing, const Item& item) {
    while (!skip_sign(closing)) {
      item();
      if (!is_sign(closing)) need_sign(",");
    }
  }

  /// Reads what is in brackets: an expression, or a tuple.
  ExpressionPtr brackets(size_t at) {
    ExpressionPtr all = make(E::tuple, at);
    bool comma = false;
    while (!skip_sign(")")) {
      add(*all, expression());
      if (!is_sign(")")) need_sign(","), comma = true;
    }
    if (all->parts.size() == 1 && !comma) return std::move(all->parts[0]);
    return all;
  }

  ExpressionPtr postfix(ExpressionPtr e) {
    while (true) {
      const size_t at = peek().at;
      if (skip_sign(".")) {
        if (is(TokenKind::integer)) {
          int64_t n = 0;
          const Token t = take();
          std::from_chars(t.text.data(), t.text.data() + t.text.size(), n);
          e = of(E::item, at, std::move(e), constant(n, at));
        } else {
          e = of(E::attribute, at, std::move(e));
          e->name = need_name("an attribute");
        }
      } else if (skip_sign("[")) {
        e = subscript(std::move(e), at);
      } else if (is_sign("(")) {
        e = call(std::move(e));
      } else {
        return e;
      }
    }
  }

  ExpressionPtr subscript(ExpressionPtr of_what, size_t at) {
    ExpressionPtr bounds[3];
    size_t colons = 0;
    while (!is_sign("]")) {
      if (skip_sign(":")) {
        if (++colons > 2) fail("a slice has three parts at most");
      } else {
        if (bounds[colons]) expected("']'");
        bounds[colons] = expression();
      }
    }
    ++next_;
    if (colons > 0)
      return of(E::slice, at, std::move(of_what), std::move(bounds[0]), std::move(bounds[1]),
                std::move(bounds[2]));
    if (!bounds[0]) throw Fault{at, "the brackets are empty"};
    return of(E::item, at, std::move(of_what), std::move(bounds[0]));
  }

  ExpressionPtr call(ExpressionPtr of_what) {
    ExpressionPtr e = of(E::call, peek().at, std::move(of_what));
    arguments(*e);
    return e;
  }
  void arguments(Expression& to) {
    need_sign("(");
    while (!skip_sign(")")) {
      if (is_sign("*") || is_sign("**")) fail("arguments by '" + peek().text + "' are not supported");
      if (is(TokenKind::name) && is_sign("=", 1)) {
        const std::string name = take().text;
        ++next_;
        to.arguments.emplace_back(name, expression());
        deepen(to, *to.arguments.back().second);
      } else {
        if (!to.arguments.empty()) fail("an argument without a name follows one that has a name");
        add(to, expression());
      }
      if (!is_sign(")")) need_sign(",");
    }
  }

  ExpressionPtr filter(ExpressionPtr of_what) {
    const size_t at = peek().at;
    ExpressionPtr e = of(E::filter, at, std::move(of_what));
    e->name = need_name("the name of a filter");
    if (is_sign("(")) arguments(*e);
    return e;
  }

  ExpressionPtr filters(ExpressionPtr e) {
    while (true) {
      if (skip_sign("|")) e = filter(std::move(e));
      else if (is_word("is")) e = test(std::move(e));
      else if (is_sign("(")) e = call(std::move(e));
      else return e;
    }
  }

  ExpressionPtr test(ExpressionPtr of_what) {
    const size_t at = take().at;
    const bool negated = skip_word("not");
    ExpressionPtr e = of(E::test, at, std::move(of_what));
    e->name = need_name("the name of a test");
    const bool operand = is(TokenKind::name)
                             ? !is_word("else") && !is_word("or") && !is_word("and") && !is_word("is") &&
                                   !is_word("if") && !is_word("in") && !is_word("not")
                             : is(TokenKind::string) || is(TokenKind::integer) || is(TokenKind::real) ||
                                   is_sign("[") || is_sign("{");
    if (is_word("is")) fail("tests follow each other: put brackets");
    if (is_sign("(")) arguments(*e);
    else if (operand) add(*e, postfix(primary()));
    return negated ? of(E::not_, at, std::move(e)) : std::move(e);
  }

  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Statements parse(std::string_view source) { return Parser(source).all(); }

}  // namespace lazy::text::chat
