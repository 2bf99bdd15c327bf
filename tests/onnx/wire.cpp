// Tests the reader of the wire format: what is wrong in a file throws, and says where.
#include "tests/onnx/models.hpp"

using namespace lazy;
using namespace onnx_test;

namespace {

std::string small_model() {
  return model({.inputs = {value("x", {"2"})},
                .outputs = {value("y", {"2"})},
                .nodes = {node("Add", {"x", "w"}, {"y"})},
                .initializers = {floats("w", {2}, {1, 2})}})
      .bytes();
}

/// Returns what loading throws; an empty text if it does not.
std::string error_of(const std::string& bytes) {
  try {
    (void)load_model(bytes);
  } catch (const Error& e) { return e.what(); }
  return {};
}

bool says(const std::string& error, const std::string& part) { return error.find(part) != error.npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(onnx_wire)

BOOST_AUTO_TEST_CASE(reads_a_model) {
  const onnx::Model m = load_model(small_model());
  check::equal(m(tensor({10.f, 20.f})), float32, {2}, {11, 22});
}

// Whatever is cut off, nothing is read behind the end: the file is refused, or it is a model with less in it.
BOOST_AUTO_TEST_CASE(each_truncation_is_refused_or_read) {
  const std::string whole = small_model();
  size_t refused = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string error = error_of(whole.substr(0, n));
    refused += !error.empty();
  }
  BOOST_TEST(refused > whole.size() / 2);
}

BOOST_AUTO_TEST_CASE(each_changed_byte_is_refused_or_read) {
  const std::string whole = small_model();
  for (size_t i = 0; i < whole.size(); ++i)
    for (const char c : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[i] = c;
      (void)error_of(changed);
    }
}

BOOST_AUTO_TEST_CASE(wrong_lengths_say_where) {
  BOOST_TEST(says(error_of(std::string("\x3a\x7f", 2)),
                  "at byte 0: field 7 has 127 bytes, but what it is in has 0 more"));
  BOOST_TEST(says(error_of(std::string("\x08\xff", 2)), "at byte 1: a number goes beyond the end"));
  BOOST_TEST(says(error_of("\x08" + std::string(11, '\xff')), "at byte 1: a number has more than 64 bits"));
  BOOST_TEST(says(error_of(std::string("\x0b", 1)), "at byte 0: field 1 is of wire type 3"));
  BOOST_TEST(says(error_of(std::string("\x00\x00", 2)), "at byte 0: expected a field's number"));
  BOOST_TEST(says(error_of(std::string("\x3d\x01", 2)), "at byte 0: a number goes beyond the end"));
}

BOOST_AUTO_TEST_CASE(a_field_of_another_type_is_refused) {
  BOOST_TEST(says(error_of(Message().integer(7, 1).bytes()),
                  "expected a message, which is written as bytes, found wire type 0"));
  BOOST_TEST(
      says(error_of(Message().text(1, "8").bytes()), "expected ir_version, which is written as a number"));
}

BOOST_AUTO_TEST_CASE(a_file_without_a_graph_is_no_model) {
  BOOST_TEST(says(error_of(""), "expected an ONNX model"));
  BOOST_TEST(says(error_of(Message().integer(1, 8).bytes()), "expected an ONNX model"));
}

BOOST_AUTO_TEST_CASE(messages_lie_in_each_other_up_to_a_limit) {
  Message g = Graph{.inputs = {}, .outputs = {}, .nodes = {}}.message();
  for (int i = 0; i < 60; ++i)
    g = Graph{.inputs = {},
              .outputs = {},
              .nodes = {node("If", {"c"}, {"y"}, {graph_attribute("then_branch", g)})}}
            .message();
  BOOST_TEST(
      says(error_of(Message().message(7, g).bytes()), "messages lie in each other more than 100 deep"));
}

BOOST_AUTO_TEST_CASE(values_that_do_not_fit_their_shape_are_refused) {
  const auto with = [](const Message& w) {
    return model({.inputs = {}, .outputs = {value("w", {})}, .nodes = {}, .initializers = {w}}).bytes();
  };
  BOOST_TEST(says(error_of(with(floats("w", {3}, {1, 2}))),
                  "tensor 'w' is [3] float32, 12 bytes, but raw_data has 8"));
  BOOST_TEST(says(error_of(with(Message().integer(1, 2).integer(2, kInt64).text(8, "w").integer(7, 1))),
                  "tensor 'w' is [2], 2 elements, but int64_data has 1"));
  BOOST_TEST(!error_of(with(floats("w", {-1}, {}))).empty());
  BOOST_TEST(!error_of(with(floats("w", {INT64_MAX, INT64_MAX}, {}))).empty());
  BOOST_TEST(!error_of(with(floats("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}))).empty());
}

BOOST_AUTO_TEST_CASE(typed_fields_are_read_packed_or_not) {
  const auto value_of = [](const Message& w) {
    Message copy = w;
    const onnx::Model m = load_model(
        Graph{.inputs = {}, .outputs = {any("w")}, .nodes = {}, .initializers = {copy.text(8, "w")}});
    return m(NamedTensors{}).at("w");
  };
  const float two[] = {1.5f, -2};
  const std::string packed(reinterpret_cast<const char*>(two), sizeof two);
  check::equal(value_of(Message().integer(1, 2).integer(2, kFloat).text(4, packed)), float32, {2}, {1.5, -2});
  check::equal(value_of(Message().integer(1, 2).integer(2, kFloat).real(4, 1.5f).real(4, -2)), float32, {2},
               {1.5, -2});
  check::equal(value_of(Message().integer(1, 2).integer(2, kInt32).integer(5, -3).integer(5, 7)), int32, {2},
               {-3, 7});
  check::equal(value_of(Message().integer(1, 2).integer(2, kBool).text(5, std::string("\x01\x00", 2))), bool_,
               {2}, {1, 0});
  check::equal(value_of(Message().integer(1, 1).integer(2, 10).integer(5, 0x3c00)), float16, {1},
               {1});  // bits
}

BOOST_AUTO_TEST_SUITE_END()
