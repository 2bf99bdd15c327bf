// Makes the prompt of a conversation, as a model's chat template says.
//
//   const lazy::text::Tokenizer tokenizer = lazy::text::load_tokenizer("zephyr/");
//   const lazy::text::ChatTemplate chat(tokenizer);
//   const std::string prompt = chat.apply({{"system", "Answer briefly."}, {"user", "What is a tensor?"}},
//                                         {.add_generation_prompt = true});
//   std::vector<int64_t> ids = tokenizer.encode(prompt, {.special_tokens = false}).ids;   // the prompt has
//   them
//
// Templates are programs in Jinja. They run here, in a language of their own that reads nothing but what it
// is given, with bounds on steps and on what they write. What transformers' apply_chat_template() renders is
// what is supported: for, if, set, macro, generation, break and continue, namespace(), loop,
// raise_exception(), strftime_now(), and the filters, tests and methods that published templates use
// (docs/text.md).
#pragma once
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lazy/text/tokenizer.hpp"

namespace lazy::text {

struct ChatMessage {
  std::string role, content;  // UTF-8
};

struct ChatOptions {
  bool add_generation_prompt = false;  // the prompt ends where the answer begins
  std::string tools = {};              // JSON: a list of what the model may call; empty: none
  std::string variables = {};  // JSON: an object of further names that the template knows; empty: none
  std::optional<std::time_t> now = {};  // what time strftime_now() has; none: that of the call
};

/// Holds a template that was read. Copies share it; any thread may apply it.
class ChatTemplate {
 public:
  /// Holds nothing: applying it throws Error.
  ChatTemplate() = default;
  /// Reads a tokenizer's template, which knows the texts of its bos_token, eos_token, pad_token and
  /// unk_token. Error if it has none, and as below.
  explicit ChatTemplate(const Tokenizer& tokenizer, Site s = Site::current());
  /// Reads a template. `special_tokens` is a JSON object of names that it knows: {"bos_token": "<s>"}. Error,
  /// with line and column, for what is no template or not supported; for a text that is no UTF-8, or has 1
  /// MiB.
  explicit ChatTemplate(std::string_view source, std::string_view special_tokens = {},
                        Site s = Site::current());

  /// Returns the prompt of a conversation. Error, with line and column in the template, for what the template
  /// refuses (raise_exception) or does wrong, and where it takes more than 2^23 steps or writes more than 64
  /// MiB.
  std::string apply(std::span<const ChatMessage> messages, const ChatOptions& options = {},
                    Site s = Site::current()) const;
  std::string apply(std::initializer_list<ChatMessage> messages, const ChatOptions& options = {},
                    Site s = Site::current()) const {
    return apply(std::span(messages.begin(), messages.size()), options, s);
  }
  /// Does so for messages in JSON, a list of objects with "role", "content" and whatever the template knows
  /// besides: "tool_calls", contents that are lists of parts. Error for what is no such JSON.
  std::string apply_json(std::string_view messages, const ChatOptions& options = {},
                         Site s = Site::current()) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace lazy::text
