// Tests safetensors files against those that the format's own library wrote (tests/golden/make_files.py).
#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

namespace {

const std::string golden = LAZY_SOURCE_DIR "/tests/golden/files/";

std::string file_of(const std::string& header, const std::string& values) {
  std::string f;
  for (size_t i = 0; i < 8; ++i) f += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return f + header + values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_safetensors)

BOOST_AUTO_TEST_CASE(reads_and_writes_what_others_do) {
  const test::Folder folder;
  const std::string path = folder / "a.safetensors";
  const Safetensors all = load_safetensors(golden + "dtypes.safetensors");
  BOOST_TEST(all.size() == std::size(kAll));
  for (const DType t : kAll) equal(all.at(name_of(t)), t, {2, 3}, ramp(t, 6));
  save_safetensors(path, all);
  BOOST_TEST((read(path) == read(golden + "dtypes.safetensors")));

  const Safetensors named = load_safetensors(golden + "named.safetensors");
  equal(named.at("b.weight"), float32, {3, 2}, ramp(float32, 6));
  equal(named.at("a\"q\\ü"), int8, {3}, ramp(int8, 3));
  equal(named.at("empty"), float16, {0, 4}, {});
  equal(named.at("scalar"), int64, {}, {7});
  BOOST_TEST(named.metadata.at("format") == "np");
  save_safetensors(path, named, named.metadata);
  BOOST_TEST((read(path) == read(golden + "named.safetensors")));
  save_safetensors(path, {});
  BOOST_TEST(load_safetensors(path).empty());
}

// What is computed of mapped weights alone is computed once, and goes with the file.
BOOST_FIXTURE_TEST_CASE(mapped_weights_are_cast_and_packed_once, OnCpu) {
  const test::Folder folder;
  const std::string path = folder / "w.safetensors";
  const auto ramps = [](Shape shape) { return (sin(arange(numel(shape), float32)) * 3.0f).reshape(shape); };
  save_safetensors(path, {{"w", ramps({130, 140}).astype(bfloat16)},
                          {"conv", ramps({16, 8, 3, 3})},
                          {"gamma", ramps({16})},
                          {"var", abs(ramps({16})) + 1}});
  release_memory();
  const uint64_t kept_before = metrics().bytes_kept;
  const Tensor x = ramps({128, 140}).eval(), image = ramps({2, 8, 12, 12}).eval();
  {
    const Safetensors mapped = load_safetensors(path);
    const auto compute = [&](const Safetensors& s) {
      const Tensor y = linear(x, s.at("w").astype(float32));
      const Tensor z =
          conv2d(image, s.at("conv") * (s.at("gamma") / sqrt(s.at("var") + 1e-5f)).reshape({16, 1, 1, 1}));
      std::vector<float> all = y.to_vector<float>();
      for (const float v : z.to_vector<float>()) all.push_back(v);
      return all;
    };
    std::vector<float> expected;
    {
      const config::Override off("LAZY_KEEP_MB", "0");
      expected = compute(mapped);
    }
    BOOST_TEST(metrics().bytes_kept == kept_before);
    BOOST_TEST((compute(mapped) == expected));
    BOOST_TEST((compute(mapped) == expected));  // a pack is kept when it is needed again
    const uint64_t kept = metrics().results_kept, reused = metrics().results_reused;
    BOOST_TEST(metrics().bytes_kept > kept_before + 4 * 130 * 140);
    BOOST_TEST((compute(mapped) == expected));
    BOOST_TEST(metrics().results_kept == kept);
    BOOST_TEST(metrics().results_reused >= reused + 2);
    // A variable that holds a mapped value is updated apart from the file.
    Tensor w = mapped.at("w");
    w(0) = 7.0f;
    w += 1.0f;
    w.eval();
    BOOST_TEST((compute(mapped) == expected));
  }
  BOOST_TEST(metrics().bytes_kept == kept_before);
}

BOOST_FIXTURE_TEST_CASE(shares_the_mapping, OnCpu) {
  const test::Folder folder;
  const std::string path = folder / "a.safetensors";
  save_safetensors(path, {{"x", arange(1000, float32)}, {"y", arange(7, int64)}});
  Tensor x;
  const float* seen = nullptr;
  {
    const Safetensors all = load_safetensors(path);
    x = all.at("x");
    seen = x.data<float>();
    BOOST_TEST(load_safetensors(path).at("x").data<float>() != seen);
    BOOST_TEST(all.at("x").data<float>() == seen);
  }
  // The file is replaced, not written to: what was mapped stays.
  save_safetensors(path, {{"x", zeros({1000})}});
  BOOST_TEST(x.data<float>() == seen);
  equal(x(slice(998, 1000)) + 1, float32, {2}, {999, 1000});
  BOOST_TEST(sum(x).item<double>() == 499500.0);
  equal(load_safetensors(path).at("x")(slice(0, 1)), float32, {1}, {0});
}

BOOST_AUTO_TEST_CASE(copies_what_cannot_be_shared) {
  const test::Folder folder;
  const std::string path = folder / "a.safetensors";
  write(path, file_of(R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},)"
                      R"("x":{"dtype":"I32","shape":[2],"data_offsets":[3,11]}})",
                      std::string("\0\7\1\1\0\0\0\2\0\0\0", 11)));
  const Safetensors all = load_safetensors(path);
  equal(all.at("b"), bool_, {3}, {0, 1, 1});
  equal(sum(all.at("b")), int64, {}, {2});
  equal(all.at("x") * 3, int32, {2}, {3, 6});
}

BOOST_AUTO_TEST_CASE(wrong_files) {
  const test::Folder folder;
  const std::string path = folder / "a.safetensors";
  const auto refuses = [&]<class E = IoError>(const std::string& bytes, const std::string& part, E* = nullptr,
                                              const Site& s = Site::current()) {
    write(path, bytes);
    fails<E>([&] { load_safetensors(path); }, "load_safetensors", part, s);
  };
  for (const char* file : {"dtypes", "named"}) {
    const std::string good = read(golden + file + ".safetensors");
    for (size_t n = 0; n < good.size(); ++n) {
      write(path, good.substr(0, n));
      BOOST_CHECK_THROW(load_safetensors(path), IoError);
    }
    refuses(good + "x", "bytes at the end belong to no tensor");
  }
  const std::string four(4, 'x');
  const auto one = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  write(path, file_of(one(good), four));
  BOOST_TEST(load_safetensors(path).size() == 1u);
  refuses(file_of("[]", ""), "begins with '{'");
  refuses(file_of(one(good) + "}", four), "expected JSON in UTF-8");
  refuses(file_of(one(good) + std::string("\0x", 2), four), "expected JSON in UTF-8, found a byte 0");
  refuses(file_of("{\"\xff\":{" + good + "}}", four), "expected JSON in UTF-8");
  refuses(file_of("{\"a\":{" + good + "},\"a\":{" + good + "}}", four), "'a' is there twice");
  refuses(file_of(one(good + ",\"dtype\":\"F32\""), four), "an unexpected or second 'dtype'");
  refuses(file_of(one(good + ",\"more\":1"), four), "an unexpected or second 'more'");
  refuses(file_of(one(R"("dtype":"F32","shape":[1])"), four), "needs dtype, shape and data_offsets");
  refuses(file_of(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), four), "has a negative number");
  refuses(file_of(one(R"("dtype":"F32","shape":[1e0],"data_offsets":[0,4])"), four), "has a number");
  refuses(file_of(one(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), four), "has a list");
  refuses(file_of(one(R"("dtype":"F32","shape":{"x":1},"data_offsets":[0,4])"), four), "has an object");
  refuses(file_of(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), four), "8 bytes, but has 4");
  refuses(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), four), "more than two");
  refuses(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), four), "in order");
  refuses(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), four + four),
          "belong to no tensor");
  refuses(file_of(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), four),
          "above 2^63 - 1");
  refuses(file_of("{\"a\":{" + good + "},\"b\":{" + good + "}}", four), "tensors overlap");
  refuses(file_of(R"({"__metadata__":{"x":1}})", ""), "found a number where it has no place");
  refuses(file_of(R"({"__metadata__":{"x":"1","x":"2"}})", ""), "__metadata__ has 'x' twice");
  refuses(file_of("{\"a\":" + std::string(100000, '['), ""), "has a list where it has no place");
  refuses(std::string("\0\xe1\xf5\5\0\0\0\0", 8) + "{}", "expected 100000000 bytes of the header");
  refuses(std::string("\1\xe1\xf5\5\0\0\0\0", 8) + "{}", "above 100 MB");
  ShapeError* const shape = nullptr;
  DtypeError* const dtype = nullptr;
  refuses(file_of(one(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"), four), "dtype 'F8_E4M3'",
          dtype);
  refuses(file_of(one(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"), four),
          "more than 8 dimensions", shape);
  fails<Error>([&] { save_safetensors(path, {{"\xff", tensor(1)}}); }, "save_safetensors", "is not UTF-8");
  fails<Error>(
      [&] {
        save_safetensors(path, {{"__metadata__", tensor(1)}});
      },
      "save_safetensors", "__metadata__");
}

BOOST_FIXTURE_TEST_CASE(several_files, OnCpu) {
  const ShardedSafetensors model = load_safetensors_index(golden + "model.safetensors.index.json");
  BOOST_TEST(model.size() == 2u);
  BOOST_TEST((model.names() == std::vector<std::string>{"first", "second"}));
  BOOST_TEST(model.contains("second"));
  BOOST_TEST(model.opened() == 0u);
  equal(model.at("second"), float32, {2, 2}, {1, 2, 3, 4});
  BOOST_TEST(model.opened() == 1u);
  equal(model.at("first"), float32, {2, 2}, {0, 1, 2, 3});
  BOOST_TEST(model.at("first").data<float>() == model.at("first").data<float>());
  BOOST_TEST(model.opened() == 2u);
  THROWS(IndexError, model.at("third"), "at: the index has no 'third'");
  BOOST_TEST(ShardedSafetensors().size() == 0u);

  const test::Folder folder;
  const std::string path = folder / "model.safetensors.index.json";
  const auto refuses = [&](const std::string& text, const std::string& part,
                           const Site& s = Site::current()) {
    write(path, text);
    fails<IoError>([&] { load_safetensors_index(path); }, "load_safetensors_index", part, s);
  };
  refuses("", "expected JSON");
  refuses("[]", "found a list");
  refuses("{}", "expected an object with weight_map");
  refuses(R"({"weight_map":{"a":1}})", "found a number");
  refuses(R"({"weight_map":[]})", "found a list");
  refuses(R"({"weight_map":{},"weight_map":{}})", "is there twice");
  refuses(R"({"weight_map":{"a":"x","a":"y"}})", "has 'a' twice");
  refuses(R"({"weight_map":{"a":"../x"}})", "found '../x'");
  refuses(R"({"weight_map":{"a":"/etc/passwd"}})", "found '/etc/passwd'");
  refuses("{\"metadata\":" + std::string(1000, '['), "nested deeper than 64");
  write(path, R"({"weight_map":{"a":"none.safetensors"}})");
  const ShardedSafetensors none = load_safetensors_index(path);
  fails<IoError>([&] { (void)none.at("a"); }, "load_safetensors", "cannot open");
  save_safetensors(folder / "none.safetensors", {{"b", tensor(1)}});
  fails<IoError>([&] { (void)none.at("a"); }, "at", "expected 'a'");
}

BOOST_AUTO_TEST_SUITE_END()
