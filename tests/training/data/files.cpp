// Tests readers of sets of pictures and of text: what they read, and what they say of files that are wrong.
#include "lazy/data/files.hpp"

#include <filesystem>
#include <fstream>

#include "lazy/data/loader.hpp"
#include "lazy/io/zlib.hpp"
#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;
using check::equal;

namespace {

const std::string golden = LAZY_SOURCE_DIR "/tests/golden/files/";

void write(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string big(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
          static_cast<char>(v)};
}
/// Returns an IDX file of the type with that code.
std::string idx(char type, const std::vector<uint32_t>& shape, const std::string& elements) {
  std::string f{0, 0, type, static_cast<char>(shape.size())};
  for (const uint32_t n : shape) f += big(n);
  return f + elements;
}
/// Packs as gzip does (RFC 1952).
std::string gzip(const std::string& bytes) {
  std::string f("\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
  f += lazy::detail::deflate("test", bytes, lazy::detail::Wrapping::none, Site::current());
  const uint32_t ends[] = {lazy::detail::crc32(0, bytes), static_cast<uint32_t>(bytes.size())};
  return f.append(reinterpret_cast<const char*>(ends), sizeof ends);
}
std::string ramp(size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i % 251);
  return s;
}
std::string record(const std::string& labels, char first) {
  std::string pixels(3072, '\7');
  pixels[0] = first;
  return labels + pixels;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(data_files)

BOOST_AUTO_TEST_CASE(idx_files) {
  const test::Folder folder;
  const std::string path = folder / "x";
  write(path, idx(8, {2, 3}, "\1\2\3\4\5\xff"));
  equal(data::read_idx(path), uint8, {2, 3}, {1, 2, 3, 4, 5, 255});
  write(path, gzip(idx(9, {2}, "\1\xff")));
  equal(data::read_idx(path), int8, {2}, {1, -1});
  write(path, gzip(idx(9, {2}, "")) + gzip("\1\xff"));  // two members, as `cat a.gz b.gz` makes them
  equal(data::read_idx(path), int8, {2}, {1, -1});
  write(path, idx(11, {2}, std::string("\1\0\xff\xfe", 4)));
  equal(data::read_idx(path), int16, {2}, {256, -2});
  write(path, idx(12, {1}, "\x12\x34\x56\x78"));
  equal(data::read_idx(path), int32, {1}, {0x12345678});
  write(path, idx(13, {1}, std::string("\x40\x20\0\0", 4)));
  equal(data::read_idx(path), float32, {1}, {2.5});
  write(path, idx(14, {1, 1}, std::string("\x40\x04\0\0\0\0\0\0", 8)));
  equal(data::read_idx(path), float64, {1, 1}, {2.5});
  write(path, idx(8, {}, "\5"));
  equal(data::read_idx(path), uint8, {}, {5});
  write(path, idx(8, {3, 0, 2}, ""));
  equal(data::read_idx(path), uint8, {3, 0, 2}, {});
}

BOOST_AUTO_TEST_CASE(wrong_idx_files) {
  const test::Folder folder;
  const std::string path = folder / "x";
  const auto says = [&](const std::string& bytes, const std::string& what) {
    write(path, bytes);
    THROWS(IoError, data::read_idx(path), "read_idx: " + path + ": at byte " + what);
  };
  says("", "0: expected 4 bytes of an IDX header, but the file has 0");
  says("abcd", "0: expected two zeros, as an IDX file begins");
  says(idx(10, {1}, "a"), "2: there is no IDX type 10");
  says(idx(8, {1, 2}, "a").substr(0, 9), "4: expected 8 bytes of extents, but the file has 5");
  says(idx(8, {3}, "ab"), "8: expected 3 bytes of elements, but the file has 2");
  says(idx(8, {3}, "abcd"), "11: bytes at the end belong to no element");
  says(gzip(idx(8, {3}, "abc")).substr(0, 20), "0: damaged: gzip can't unpack it");
  says(gzip(idx(8, {3}, "abc")) + "x", "0: damaged: gzip can't unpack it");
  // Nothing is unpacked behind what the header says: a few bytes may stand for very many.
  const std::string bomb = gzip(idx(8, {3}, "abc" + std::string(1 << 20, 'x')));
  says(bomb.substr(0, bomb.size() - 8), "11: bytes at the end belong to no element");
  write(path, idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a"));
  BOOST_CHECK_THROW((void)data::read_idx(path), ShapeError);
  write(path, idx(8, {~0u, ~0u, ~0u}, "a"));
  BOOST_CHECK_THROW((void)data::read_idx(path), ShapeError);
  THROWS(IoError, data::read_idx("/nowhere"), "read_idx: cannot open /nowhere: No such file or directory");
}

BOOST_AUTO_TEST_CASE(mnist_folder) {
  const test::Folder folder;
  write(folder / "train-images-idx3-ubyte.gz", gzip(idx(8, {3, 2, 2}, ramp(12))));
  write(folder / "t10k-images.idx3-ubyte", idx(8, {1, 2, 2}, ramp(4)));
  write(folder / "t10k-labels-idx1-ubyte", idx(8, {2}, "ab"));
  const auto labels = std::string{7, 0, 1};
  write(folder / "train-labels-idx1-ubyte", idx(8, {3}, labels));
  const data::TensorDataset d = data::mnist(folder.path());
  BOOST_TEST(d.size() == 3);
  equal(d.get(1).x.tensor(), uint8, {2, 2}, {4, 5, 6, 7});
  equal(d.y().tensor(), int64, {3}, {7, 0, 1});
  THROWS(IoError, data::mnist(folder.path(), false),
         "mnist: " + (folder / "t10k-labels-idx1-ubyte") +
             ": at byte 4: expected 1 labels, as there are pictures, found 2");
  write(folder / "t10k-images.idx3-ubyte", idx(8, {4, 2}, ramp(8)));
  THROWS(IoError, data::mnist(folder.path(), false),
         "mnist: " + (folder / "t10k-images.idx3-ubyte") +
             ": at byte 0: expected uint8 of rank 3, found uint8 [4, 2]");
  THROWS(IoError, data::mnist("/nowhere"),
         "mnist: cannot open /nowhere/train-images-idx3-ubyte: No such file or directory");
}

BOOST_AUTO_TEST_CASE(cifar) {
  const test::Folder folder;
  for (int i = 1; i <= 5; ++i)
    write(folder / ("data_batch_" + std::to_string(i) + ".bin"),
          record(std::string(1, static_cast<char>(i)), static_cast<char>(10 * i)) +
              record(std::string(1, '\0'), 1));
  const data::TensorDataset d = data::cifar10(folder.path());
  BOOST_TEST(d.size() == 10);
  equal(d.y().tensor(), int64, {10}, {1, 0, 2, 0, 3, 0, 4, 0, 5, 0});
  equal(d.x().tensor()(_, 0, 0, slice(0, 2)), uint8, {10, 2},
        {10, 7, 1, 7, 20, 7, 1, 7, 30, 7, 1, 7, 40, 7, 1, 7, 50, 7, 1, 7});
  BOOST_TEST((d.get(0).x.shape() == Shape{3, 32, 32}));
  write(folder / "test.bin", record("\x13\x63", 1));
  equal(data::read_cifar100(folder / "test.bin").y, int64, {1}, {0x63});
  equal(data::cifar100(folder.path(), false, true).y().tensor(), int64, {1}, {0x13});
  write(folder / "bad.bin", record("\2", 1) + record("\12", 1));
  THROWS(IoError, data::read_cifar10(folder / "bad.bin"),
         "read_cifar10: " + (folder / "bad.bin") + ": at byte 3073: class 10 of 10");
  write(folder / "bad.bin", record("\2", 1) + "abc");
  THROWS(
      IoError, data::read_cifar10(folder / "bad.bin"),
      "read_cifar10: " + (folder / "bad.bin") + ": at byte 3073: expected records of 3073 bytes, 3 are left");
}

BOOST_AUTO_TEST_CASE(jpeg) {
  for (const std::string name : {"colours", "grey", "progressive", "restarts", "wide", "full", "refined",
                                 "narrow", "pixel", "grey_refined", "rgb"})
    BOOST_TEST_CONTEXT(name) {
      check::same(read_jpeg(golden + name + ".jpg"), load(golden + name + "_jpg.npy"));
    }
}

BOOST_AUTO_TEST_CASE(wrong_jpeg) {
  const test::Folder folder;
  std::ifstream in(golden + "progressive.jpg", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::string path = folder / "x.jpg";
  for (size_t n = 0; n < whole.size(); n += 7) BOOST_TEST_CONTEXT("the first " << n << " bytes") {
      write(path, whole.substr(0, n));
      BOOST_CHECK_THROW((void)read_jpeg(path), IoError);
    }
  const std::string at = "read_jpeg: " + path + ": at byte ";
  write(path, whole.substr(0, whole.size() - 2));
  THROWS(
      IoError, read_jpeg(path),
      at + std::to_string(whole.find("\xff\xda")) + ": the picture from here on: Premature end of JPEG file");
  write(path, whole.substr(0, 30));
  THROWS(IoError, read_jpeg(path), at + "22: expected 67 bytes of a segment, but the file has 8");
  std::string large = whole;
  const size_t frame = large.find("\xff\xc2");
  for (size_t i = 5; i < 9; ++i) large[frame + i] = '\x7f';
  write(path, large);
  THROWS(IoError, read_jpeg(path), at + "0: a picture of 32639 x 32639 pixels");
  THROWS(IoError, read_jpeg(golden + "grey.png"),
         "read_jpeg: " + golden + "grey.png: at byte 0: not a JPEG file");
}

BOOST_AUTO_TEST_CASE(folders_of_pictures) {
  const test::Folder folder;
  std::filesystem::create_directories(folder / "b");
  std::filesystem::create_directories(folder / "a/deep");
  write_png(folder / "b/2.png", tensor({{1, 2}, {3, 4}, {5, 6}}, uint8));
  write_png(folder / "b/1.PNG", reshape(arange(0, 24, 1, uint8), {2, 3, 4}));
  write_pnm(folder / "a/x.ppm", reshape(arange(0, 6, 1, uint8), {1, 2, 3}));
  write(folder / "a/notes.txt", "x");
  std::filesystem::copy_file(golden + "grey.jpg", folder / "b/3.jpeg");
  const data::ImageFolder colours(folder.path()), grey(folder.path(), 1);
  BOOST_TEST(colours.size() == 4);
  BOOST_TEST(colours.classes() == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  equal(colours.get(0).x.tensor(), uint8, {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  equal(grey.get(0).x.tensor(), uint8, {1, 1, 2}, {1, 4});
  equal(colours.get(0).y.tensor(), int64, {}, {0});
  equal(colours.get(1).x.tensor(), uint8, {3, 2, 3},
        {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22});
  equal(colours.get(2).x.tensor(), uint8, {3, 3, 2}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  equal(grey.get(2).x.tensor(), uint8, {1, 3, 2}, {1, 2, 3, 4, 5, 6});
  equal(grey.get(3).y.tensor(), int64, {}, {1});
  BOOST_TEST((grey.get(3).x.shape() == Shape{1, 21, 29}));
  BOOST_CHECK_THROW((void)grey.get(4), IndexError);
  write(folder / "a/x.ppm", "P6\n");
  data::DataLoader loader(colours, {.workers = 1});
  try {
    (void)loader.begin();
    BOOST_ERROR("nothing was thrown");
  } catch (const IoError& e) {
    BOOST_TEST(std::string(e.what()).starts_with("read_pnm: " + (folder / "a/x.ppm") + ": at byte "));
    BOOST_TEST(std::string(e.what()).ends_with("(files.cpp:" + std::to_string(__LINE__ - 4) + ")"));
  }
  THROWS(ShapeError, data::ImageFolder(folder.path(), 2),
         "ImageFolder: pictures have 1 or 3 channels, not 2");
  THROWS(IoError, data::ImageFolder("/nowhere"),
         "ImageFolder: cannot read /nowhere: No such file or directory");
  const test::Folder empty;
  THROWS(IoError, data::ImageFolder(empty.path()),
         "ImageFolder: " + empty.path() + " has no folders with pictures");
}

BOOST_AUTO_TEST_CASE(text) {
  const test::Folder folder;
  const std::string s("hello\0\xff!", 8);
  write(folder / "t", s);
  const std::string read = data::read_text(folder / "t");
  BOOST_TEST((read == s));
  const data::CharVocabulary v(read);
  BOOST_TEST(v.size() == 7);
  const auto numbers = v.encode("hello");
  BOOST_TEST(numbers == (std::vector<int64_t>{3, 2, 4, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST((v.decode(v.encode(s)) == s));
  THROWS(Error, v.encode("hex"), "encode: the vocabulary does not have 'x'");
  THROWS(IndexError, v.decode(std::vector<int64_t>{7}), "decode: 7 of 7 characters");
  THROWS(IoError, data::read_text("/nowhere"), "read_text: cannot open /nowhere: No such file or directory");
  const data::TextDataset d(numbers, 3);
  BOOST_TEST(d.size() == 2);
  equal(d.get(1).x.tensor(), int64, {3}, {2, 4, 4});
  equal(d.get(1).y.tensor(), int64, {3}, {4, 4, 5});
  THROWS(ShapeError, data::TextDataset(numbers, 5), "TextDataset: pieces of 5 of a text of 5");
  THROWS(ShapeError, data::TextDataset(numbers, 0), "TextDataset: pieces of 0 of a text of 5");
}

BOOST_AUTO_TEST_SUITE_END()
