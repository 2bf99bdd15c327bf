// Cuts a chat template into text and the tokens of its tags, as Jinja does with trim_blocks and
// lstrip_blocks: a tag {% %} alone on a line leaves nothing of the line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lazy::text::chat {

enum class TokenKind : uint8_t {
  text,        // what is written as it stands
  open_print,  // {{
  close_print,
  open_block,  // {%
  close_block,
  name,
  string,
  integer,
  real,
  sign,  // an operator or a bracket
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // of a string what it stands for
  size_t at = 0;     // byte of the template
};

/// Returns the tokens, the last of which is an end. Fault for what is none.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace lazy::text::chat
