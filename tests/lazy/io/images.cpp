// Tests PNG, PGM and PPM against files that Pillow wrote (tests/golden/make_files.py).
#include <algorithm>

#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

namespace {

const std::string golden = LAZY_SOURCE_DIR "/tests/golden/files/";

/// Returns a picture whose every sample differs from its neighbours'.
Tensor noise(const Shape& shape, DType t) {
  const Tensor i = arange(numel(shape), int64).reshape(shape);
  return (i * 40503 + (i * i) * 31).astype(t);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_images, OnCpu)

BOOST_AUTO_TEST_CASE(writes_jpeg) {
  const test::Folder folder;
  const Tensor y = reshape(arange(0, 40, 1, int64), {40, 1, 1}),
               x = reshape(arange(0, 50, 1, int64), {1, 50, 1}),
               c = reshape(arange(0, 3, 1, int64), {1, 1, 3});
  const Tensor smooth = (y * 3 + x * 2 + c * 11).astype(uint8).eval();
  const auto worst = [](const Tensor& a, const Tensor& b) {
    return max(abs(a.astype(float32) - b.astype(float32))).item<float>();
  };
  write_jpeg(folder / "a.jpg", smooth, 95);
  BOOST_TEST(worst(read_jpeg(folder / "a.jpg"), smooth) <= 6);
  write_jpeg(folder / "b.jpg", smooth(_, _, 0));
  BOOST_TEST((read_jpeg(folder / "b.jpg").shape() == Shape{40, 50}));
  BOOST_TEST(worst(read_jpeg(folder / "b.jpg"), smooth(_, _, 0)) <= 6);
  write_jpeg(folder / "c.jpg", smooth, 20);
  BOOST_TEST(std::filesystem::file_size(folder / "c.jpg") < std::filesystem::file_size(folder / "a.jpg"));
  fails<DtypeError>([&] { write_jpeg(folder / "d.jpg", smooth.astype(uint16)); }, "write_jpeg", "8 bits");
  fails<ShapeError>([&] { write_jpeg(folder / "d.jpg", zeros({2, 2, 4}, uint8)); }, "write_jpeg", "1 or 3");
  fails<Error>([&] { write_jpeg(folder / "d.jpg", smooth, 0); }, "write_jpeg", "quality of 0");
  BOOST_TEST(!std::filesystem::exists(folder / "d.jpg"));
}

BOOST_AUTO_TEST_CASE(kinds_by_name_and_content) {
  const test::Folder folder;
  const Tensor picture = noise({6, 9, 3}, uint8);
  for (const char* name : {"a.png", "b.ppm", "c.PNG"}) {
    imwrite(folder / name, picture);
    check::same(imread(folder / name), picture);
  }
  imwrite(folder / "d.jpeg", picture);
  BOOST_TEST((imread(folder / "d.jpeg").shape() == Shape{6, 9, 3}));
  imwrite(folder / "e.png", tensor({{0.0f, 0.5f}, {1.0f, 7.0f}}));
  equal(imread(folder / "e.png"), uint8, {2, 2}, {0, 128, 255, 255});
  fails<Error>([&] { imwrite(folder / "f.gif", picture); }, "imwrite", "does not end with");
  fails<Error>([&] { imwrite(folder / "png", picture); }, "imwrite", "does not end with");
  write_csv(folder / "g.png", zeros({2, 2}));
  fails<IoError>([&] { (void)imread(folder / "g.png"); }, "imread", "expected a PNG");
}

BOOST_AUTO_TEST_CASE(reads_what_others_wrote) {
  const std::vector<double> grey = ramp(uint8, 35);
  std::vector<double> wide, bits, both;
  for (const double v : grey) {
    wide.push_back(v * 601);
    bits.push_back(static_cast<int>(v) % 2 ? 255 : 0);
    both.push_back(v);
    both.push_back(255 - v);
  }
  equal(read_png(golden + "grey.png"), uint8, {5, 7}, grey);
  equal(read_png(golden + "rgb.png"), uint8, {5, 7, 3}, ramp(uint8, 105));
  equal(read_png(golden + "rgba.png"), uint8, {5, 7, 4}, ramp(uint8, 140));
  equal(read_png(golden + "grey_alpha.png"), uint8, {5, 7, 2}, both);
  equal(read_png(golden + "grey16.png"), uint16, {5, 7}, wide);
  equal(read_png(golden + "bits.png"), uint8, {5, 7}, bits);
  check::same(read_png(golden + "palette.png"), load(golden + "palette.npy"));
  equal(read_pnm(golden + "grey.pgm"), uint8, {5, 7}, grey);
  equal(read_pnm(golden + "rgb.ppm"), uint8, {5, 7, 3}, ramp(uint8, 105));
  equal(read_pnm(golden + "grey16.pgm"), uint16, {5, 7}, wide);
}

// Every kind of PNG, interlaced or not, with and without transparency, written by tests/golden/make_files.py
// from the same samples, beside the samples that it stands for.
BOOST_AUTO_TEST_CASE(every_kind) {
  for (const std::string kind :
       {"grey1", "grey2", "grey4", "grey8", "grey16", "rgb8", "rgb16", "palette1", "palette2", "palette4",
        "palette8", "grey_alpha8", "grey_alpha16", "rgba8", "rgba16"})
    for (const std::string form : {"", "_interlaced", "_transparent"}) {
      const std::string name = golden + "kind_" + kind + form;
      if (form == "_transparent" && kind.find("a8") + kind.find("a16") != 2 * std::string::npos) continue;
      BOOST_TEST_CONTEXT(name) { check::same(read_png(name + ".png"), load(name + ".npy")); }
    }
}

BOOST_AUTO_TEST_CASE(there_and_back) {
  const test::Folder folder;
  for (const DType t : {uint8, uint16})
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{17, 31, 1}, Shape{17, 31, 2}, Shape{64, 7, 3},
                               Shape{5, 64, 4}, Shape{200, 300, 3}}) {
      const Tensor x = noise(shape, t);
      const Tensor seen = shape.size() == 3 && shape[2] == 1 ? squeeze(x, 2) : x;
      write_png(folder / "a.png", x);
      check::same(read_png(folder / "a.png"), seen);
      if (shape.size() == 3 && shape[2] % 2 == 0) continue;
      write_pnm(folder / "a.ppm", x);
      check::same(read_pnm(folder / "a.ppm"), seen);
    }
  const Tensor x = noise({6, 4, 3}, uint8);
  write_png(folder / "a.png", x.transpose({1, 0, 2}));
  check::same(read_png(folder / "a.png"), x.transpose({1, 0, 2}));
  fails<DtypeError>([&] { write_png(folder / "b.png", ones({2, 2})); }, "write_png", "not float32");
  fails<ShapeError>([&] { write_png(folder / "b.png", zeros({0, 2}, uint8)); }, "write_png", "[0, 2]");
  fails<ShapeError>([&] { write_png(folder / "b.png", zeros({2, 2, 5}, uint8)); }, "write_png", "[2, 2, 5]");
}

BOOST_AUTO_TEST_CASE(pnm_as_text) {
  const test::Folder folder;
  const std::string path = folder / "a.pgm";
  write(path, "P2 # a comment\n#another\n3 2\n 15\n0 15 3\n 7 8 #x\n 1");
  equal(read_pnm(path), uint8, {2, 3}, {0, 255, 51, 119, 136, 17});
  write(path, "P3\n1 1\n1000\n0 500 1000\n");
  equal(read_pnm(path), uint16, {1, 1, 3}, {0, 32768, 65535});
  const auto refuses = [&](const std::string& text, const std::string& part,
                           const Site& s = Site::current()) {
    write(path, text);
    fails<IoError>([&] { read_pnm(path); }, "read_pnm", part, s);
  };
  refuses("", "expected 2 bytes of a PGM or PPM file");
  refuses("P1 1 1 1", "P2, P3, P5 or P6");
  refuses("P2 1", "expected a height");
  refuses("P2 1 1 0 0", "a maximum of 0");
  refuses("P2 1 1 65536 0", "a maximum of 65536");
  refuses("P2 999999999 1 1 1", "too large");
  refuses("P2 99999 99999 1 1", "2^28 pixels");
  refuses("P2 9999 9999 1 1", "no room");
  refuses("P2 1 2 15 16 1", "a sample of 16 is above the maximum of 15");
  refuses("P5 2 2 255 abc", "expected 4 bytes of samples, but the file has 3");
  refuses("P5 2 2 300 abc", "expected 8 bytes of samples");
}

BOOST_AUTO_TEST_CASE(wrong_png) {
  const test::Folder folder;
  const std::string path = folder / "a.png", good = read(golden + "rgb.png");
  for (const char* file : {"rgb.png", "palette.png", "kind_grey16_interlaced.png"}) {
    const std::string whole = read(golden + file);
    for (size_t n = 0; n < whole.size(); ++n) {
      write(path, whole.substr(0, n));
      BOOST_CHECK_THROW(read_png(path), IoError);
    }
    for (size_t n = 0; n < whole.size(); ++n) {
      std::string other = whole;
      other[n] ^= 16;
      write(path, other);
      BOOST_CHECK_THROW(read_png(path), IoError);
    }
  }
  write(path, "P6 1 1 255 abc");
  fails<IoError>([&] { read_png(path); }, "read_png", "not a PNG file");
  fails<IoError>([&] { read_png(folder / "none.png"); }, "read_png", "cannot open");
}

BOOST_AUTO_TEST_SUITE_END()
