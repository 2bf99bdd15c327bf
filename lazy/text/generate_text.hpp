// Goes on with a text.
//
//   lazy::pretrained::Model model = lazy::pretrained::load("gpt2/");
//   const lazy::text::Tokenizer tokenizer = lazy::text::load_tokenizer("gpt2/");
//   std::cout << lazy::text::generate_text(model, tokenizer, "Once upon a time").text;
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/causal_model.hpp"
#include "lazy/text/generation.hpp"
#include "lazy/text/tokenizer.hpp"

namespace lazy::text {

struct TextOptions {
  Sampling sampling = {};
  bool special_tokens = true;  // those that the tokenizer puts around a prompt; a chat template's has its own
  int64_t max_new_tokens = 128;        // fewer where the model has no more positions
  std::vector<std::string> stop = {};  // texts that end it, and are no part of it
  int64_t beams = 1;                   // of more than 1 the best continuation is taken, and nothing is drawn
  double length_penalty = 1;           // of beams
  Generator* generator = nullptr;      // null: the default one
  // Is called for each new token with the text that can be said now, which may be empty; returns whether it
  // goes on. The texts joined are the result. With beams they are empty until all of it comes at the end.
  std::function<bool(std::string_view added)> on_text = {};
};

struct GeneratedText {
  std::string text;                // what was added to the prompt
  std::vector<int64_t> tokens;     // that were drawn; a text that ended it may be among their texts
  Finish finish = Finish::length;  // what ended it
  int64_t prompt_tokens = 0;
};

/// Goes on with a prompt, until a token that ends texts (the tokenizer's eos() and those of the model's
/// file), a text of `stop`, or the last token that there may be. One flush a token. Error for a prompt
/// without tokens, a tokenizer that has tokens the model has no scores of, an empty text of `stop`, fewer
/// than one beam and what generate() has; ShapeError for a prompt of more tokens than the model has
/// positions.
GeneratedText generate_text(const CausalModel&, const Tokenizer&, std::string_view prompt,
                            const TextOptions& options = {}, Site s = Site::current());

}  // namespace lazy::text
