#include "lazy/text/chat_template.hpp"

#include "lazy/text/chat/render.hpp"
#include "lazy/text/unicode/utf8.hpp"
#include "support/error.hpp"

namespace lazy::text {

struct ChatTemplate::State {
  std::string source;
  chat::Statements statements;
  chat::Dict names;  // that the template always knows
};

namespace {

constexpr const char* kRead = "ChatTemplate";

/// Returns the template as Jinja reads it: lines end with \n, and a last one that is empty does not count.
std::string with_lines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

[[noreturn]] void raise(const char* op, const std::string& source, const chat::Fault& f, const Site& s) {
  const std::string_view before = std::string_view(source).substr(0, f.at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t begin = before.rfind('\n') + 1;
  throw Error(std::string(op) + ": line " + std::to_string(line) + ", column " +
                  std::to_string(unicode::count(before.substr(begin)) + 1) + " of the template: " + f.what,
              s);
}

/// Returns what JSON has, which is to be an object or a list.
chat::Value value_of_json(const char* op, const char* what, std::string_view text, bool object,
                          const Site& s) {
  const std::string who = std::string(op) + ": " + what;
  nlohmann::ordered_json j;
  try {
    j = nlohmann::ordered_json::parse(text);
    if (object ? !j.is_object() : !j.is_array())
      throw Error(who + " are " + (object ? "an object" : "a list") + " of JSON, found another value", s);
    return chat::value_of(j);
  } catch (const nlohmann::json::exception& e) {
    throw Error(who + " are JSON: " + e.what(), s);
  } catch (const chat::Fault& f) { throw Error(who + ": " + f.what, s); }
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, std::string_view special_tokens, Site s) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (source.size() >= kMostBytes) throw Error(std::string(kRead) + ": the template has 1 MiB or more", s);
  if (const size_t at = unicode::first_malformed(source); at != std::string_view::npos)
    throw Error(std::string(kRead) + ": byte " + std::to_string(at) + " of the template is no UTF-8", s);
  auto state = std::make_shared<State>();
  state->source = with_lines(source);
  if (!special_tokens.empty())
    state->names = *value_of_json(kRead, "the special tokens", special_tokens, true, s).dict();
  try {
    state->statements = chat::parse(state->source);
  } catch (const chat::Fault& f) { raise(kRead, state->source, f, s); }
  state_ = std::move(state);
}

ChatTemplate::ChatTemplate(const Tokenizer& tokenizer, Site s) {
  const std::string source = tokenizer.chat_template(s);
  if (source.empty()) throw Error(std::string(kRead) + ": the tokenizer has no chat template", s);
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  const auto name = [&](const char* key, std::optional<int64_t> id) {
    if (!id) return;
    if (const std::optional<std::string> token = tokenizer.token(*id, s)) names[key] = *token;
  };
  name("bos_token", tokenizer.bos(s));
  name("eos_token", tokenizer.eos(s));
  name("pad_token", tokenizer.pad(s));
  name("unk_token", tokenizer.unk(s));
  *this = ChatTemplate(source, names.dump(), s);
}

std::string ChatTemplate::apply(std::span<const ChatMessage> messages, const ChatOptions& options,
                                Site s) const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ChatMessage& m : messages) {
    for (const std::string* text : {&m.role, &m.content})
      if (unicode::first_malformed(*text) != std::string::npos)
        throw Error("apply: message " + std::to_string(&m - messages.data()) + " is no UTF-8", s);
    all.push_back({{"role", m.role}, {"content", m.content}});
  }
  return apply_json(all.dump(), options, s);
}

std::string ChatTemplate::apply_json(std::string_view messages, const ChatOptions& options, Site s) const {
  constexpr const char* op = "apply";
  if (!state_) throw Error(std::string(op) + ": the template is default-constructed", s);
  chat::Dict names = state_->names;
  names.set("messages", value_of_json(op, "the messages", messages, false, s));
  names.set("tools", options.tools.empty() ? chat::Value(chat::None())
                                           : value_of_json(op, "the tools", options.tools, false, s));
  names.set("documents", chat::None());
  names.set("add_generation_prompt", options.add_generation_prompt);
  if (!options.variables.empty()) {
    const chat::Value more = value_of_json(op, "the variables", options.variables, true, s);
    for (const auto& [name, v] : more.dict()->entries) names.set(name, v);
  }
  try {
    return chat::render(state_->statements, names, options.now.value_or(std::time(nullptr)));
  } catch (const chat::Fault& f) { raise(op, state_->source, f, s); }
}

}  // namespace lazy::text
