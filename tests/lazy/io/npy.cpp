// Tests .npy and .npz files against those that NumPy wrote (tests/golden/make_files.py).
#include <pthread.h>
#include <unistd.h>
#include <complex>

#include <atomic>
#include <filesystem>
#include <thread>

#include "lazy/io/zip.hpp"
#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

namespace {

const std::string golden = LAZY_SOURCE_DIR "/tests/golden/files/";

/// Returns a .npy file of version 1.0 with this dictionary and these elements.
std::string npy(const std::string& dictionary, const std::string& elements) {
  std::string f("\x93NUMPY\1\0", 8);
  f += static_cast<char>(dictionary.size() & 0xff);
  f += static_cast<char>(dictionary.size() >> 8);
  return f + dictionary + elements;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_npy)

BOOST_AUTO_TEST_CASE(reads_what_numpy_wrote) {
  for (const DType t : kAll) equal(load(golden + name_of(t) + ".npy"), t, {2, 3}, ramp(t, 6));
  for (const DType t : {int16, int32, uint64, float16, float32})
    equal(load(golden + "big_" + name_of(t) + ".npy"), t, {2, 3}, ramp(t, 6));
  equal(load(golden + "scalar.npy"), float32, {}, {2.5});
  equal(load(golden + "empty.npy"), int16, {3, 0, 2}, {});
  equal(load(golden + "vector.npy"), float64, {7}, ramp(float64, 7));
  equal(load(golden + "rank8.npy"), int32, {1, 2, 1, 2, 1, 2, 1, 3}, ramp(int32, 24));
  equal(load(golden + "version2.npy"), int32, {2, 2}, ramp(int32, 4));
  equal(load(golden + "version3.npy"), int32, {2, 2}, ramp(int32, 4));
  equal(load(golden + "special.npy"), float32, {6},
        {check::NaN, check::inf, -check::inf, -0.0, double(1e-40f), double(3.4028235e38f)});
  const Tensor columns = load(golden + "fortran.npy");
  equal(columns, float32, {3, 4, 2}, ramp(float32, 24));
  equal(columns(1, slice(1, 3)) * 2, float32, {2, 2}, {20, 22, 24, 26});
  equal(load(golden + "fortran_big.npy"), float64, {3, 2}, ramp(float64, 6));
}

BOOST_AUTO_TEST_CASE(writes_what_numpy_writes) {
  const test::Folder folder;
  const std::string path = folder / "a.npy";
  for (const DType t : kAll) {
    save(path, asarray(ramp(t, 6), t).reshape({2, 3}));
    BOOST_TEST((read(path) == read(golden + name_of(t) + ".npy")), name_of(t));
  }
  save(path, tensor(2.5f));
  BOOST_TEST((read(path) == read(golden + "scalar.npy")));
  save(path, zeros({3, 0, 2}, int16));
  BOOST_TEST((read(path) == read(golden + "empty.npy")));
  save(path, arange(7, float64));
  BOOST_TEST((read(path) == read(golden + "vector.npy")));
  save(path, arange(24, int32).reshape({1, 2, 1, 2, 1, 2, 1, 3}));
  BOOST_TEST((read(path) == read(golden + "rank8.npy")));
  // Strided values are written row by row, and files that are there are replaced.
  save(path, arange(12, float32).reshape({3, 4}).T()(slice(1, 3)));
  equal(load(path), float32, {2, 3}, {1, 5, 9, 2, 6, 10});
  BOOST_TEST(folder.files().size() == 1u);
}

BOOST_AUTO_TEST_CASE(archives) {
  const test::Folder folder;
  const std::string path = folder / "a.npz";
  for (const char* file : {"stored.npz", "compressed.npz"}) {
    const NamedTensors all = load_npz(golden + file);
    BOOST_TEST(all.size() == 4u);
    BOOST_TEST(all.begin()->first == "weight");
    equal(all.at("weight"), float32, {4, 5}, ramp(float32, 20));
    equal(all.at("bias"), float64, {5}, ramp(float64, 5));
    equal(all.at("steps"), int64, {}, {12});
    equal(all.at("päth/name"), bool_, {3}, {0, 1, 0});
    for (const bool compressed : {false, true}) {
      save_npz(path, all, compressed);
      const NamedTensors again = load_npz(path);
      BOOST_TEST(again.size() == 4u);
      for (const auto& [name, x] : all) check::same(again.at(name), x);
    }
  }
  save_npz(path, {{"x", zeros({1000, 1000})}, {"y", tensor({1, 2})}}, true);
  BOOST_TEST(read(path).size() < 10000u);
  check::same(load_npz(path).at("x"), zeros({1000, 1000}));
  save_npz(path, {});
  BOOST_TEST(load_npz(path).empty());
}

// Sizes and offsets of 64 bits, as files above 4 GiB have them: in a file of NumPy's for which Python's
// zipfile was told that 10 bytes are large, and in one that is written so.
BOOST_AUTO_TEST_CASE(large_archives) {
  const NamedTensors all = load_npz(golden + "zip64.npz");
  BOOST_TEST(all.size() == 2u);
  equal(all.at("a"), float32, {2, 3}, ramp(float32, 6));
  equal(all.at("b"), int64, {3}, ramp(int64, 3));
  const test::Folder folder;
  const std::string path = folder / "a.npz";
  for (const uint64_t large : {uint64_t{1}, uint64_t{100}, uint64_t{200}}) {
    detail::NewFile file("save_npz", path, Site::current());
    detail::ZipWriter zip(file, "save_npz", Site::current(), large);
    for (const char* name : {"float32", "int8", "rank8"})
      zip.add(name + std::string(".npy"), read(golden + name + ".npy"), "", name[0] == 'r');
    zip.finish();
    file.finish();
    const NamedTensors again = load_npz(path);
    BOOST_TEST(again.size() == 3u);
    equal(again.at("float32"), float32, {2, 3}, ramp(float32, 6));
    equal(again.at("int8"), int8, {2, 3}, ramp(int8, 6));
    equal(again.at("rank8").flatten(), int32, {24}, ramp(int32, 24));
  }
}

BOOST_AUTO_TEST_CASE(names) {
  const NamedTensors all{{"b", tensor(1)}, {"a", tensor(2)}};
  BOOST_TEST(all.contains("a"));
  BOOST_TEST(!all.contains("c"));
  equal(all.at("a"), int64, {}, {2});
  THROWS(IndexError, all.at("c"), "at: there is no 'c' among 'b', 'a'");
  THROWS(IndexError, NamedTensors().at("c"), "at: there is no 'c' among no tensors");
  THROWS(Error, NamedTensors({{"b", tensor(1)}, {"b", tensor(2)}}),
         "NamedTensors: the name 'b' is there twice");
}

BOOST_AUTO_TEST_CASE(wrong_files) {
  const test::Folder folder;
  const std::string path = folder / "a.npy", good = read(golden + "float32.npy");
  const auto refuses = [&]<class E = IoError>(const std::string& bytes, const std::string& part, E* = nullptr,
                                              const Site& s = Site::current()) {
    write(path, bytes);
    fails<E>([&] { load(path); }, "load", part, s);
  };
  for (size_t n = 0; n < good.size(); ++n) {
    write(path, good.substr(0, n));
    BOOST_CHECK_THROW(load(path), IoError);
  }
  refuses("", "at byte 0: expected 10 bytes of a .npy header, but the file has 0");
  refuses("no such thing", "expected a .npy file");
  refuses(read(golden + "stored.npz"), "load_npz reads these");
  refuses(good.substr(0, 150),
          "at byte 128: expected 24 bytes of elements of [2, 3] float32, but the file has 22");
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'descr': '<f4'}", "12345678"),
          "once each");
  refuses(npy("{'descr': '<f4', 'fortran_order': False}", ""), "expected descr, fortran_order and shape");
  refuses(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", "12345678"), "True or False");
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "12345678"), "an extent from 0");
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
          "an extent from 0");
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "12345678"), "nothing after '}'");
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "1234"),
          "expected 4000000000000 bytes");
  ShapeError* const shape = nullptr;
  DtypeError* const dtype = nullptr;
  refuses(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9)}", ""),
          "more elements than can be addressed", shape);
  refuses(read(golden + "rank9.npy"), "at most 8 dimensions, not 9", shape);
  refuses(npy("{'descr': '<c32', 'fortran_order': False, 'shape': (1,)}", std::string(32, ' ')),
          "no tensor has elements of NumPy's dtype '<c32'", dtype);
  const auto ones_of_complex = lazy::load(golden + "complex.npy").to_vector<std::complex<float>>();
  BOOST_TEST((ones_of_complex == std::vector<std::complex<float>>(2, 1)));
  refuses(read(golden + "text.npy"), "dtype '<U2'", dtype);
  refuses(read(golden + "record.npy"), "records", dtype);
  std::string huge = good;
  huge[6] = 2;
  huge.replace(8, 4, "\xff\xff\xff\x7f");
  refuses(huge, "above 1 MiB");
  // Other forms of a good header.
  write(path, npy("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"=i4\"}",
                  std::string("\1\0\0\0\2\0\0\0", 8)));
  equal(load(path), int32, {2}, {1, 2});
  write(path, npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", std::string("\0\2\1", 3)));
  equal(load(path), bool_, {3}, {0, 1, 1});
  equal(sum(load(path)), int64, {}, {2});
}

BOOST_AUTO_TEST_CASE(wrong_archives) {
  const test::Folder folder;
  const std::string path = folder / "a.npz";
  const auto refuses = [&](const std::string& bytes, const std::string& part,
                           const Site& s = Site::current()) {
    write(path, bytes);
    fails<IoError>([&] { load_npz(path); }, "load_npz", part, s);
  };
  for (const char* file : {"stored.npz", "compressed.npz"}) {
    const std::string good = read(golden + file);
    for (size_t n = 0; n < good.size(); ++n) {
      write(path, good.substr(0, n));
      BOOST_CHECK_THROW(load_npz(path), IoError);
    }
    std::string other = good;
    other[good.find("NUMPY") == std::string::npos ? 80 : good.find("NUMPY") + 130] ^= 1;
    write(path, other);
    BOOST_CHECK_THROW(load_npz(path), IoError);
  }
  refuses(read(golden + "float32.npy"), "load reads these");
  // A directory that lists one member twice under two names: both have the same bytes.
  save_npz(path, {{"a", tensor(1)}});
  const std::string one = read(path);
  const size_t central = one.find("PK\1\2"), end = one.find("PK\5\6");
  std::string entry = one.substr(central, end - central);
  std::string twice = one.substr(0, end) + entry + one.substr(end);
  twice[twice.size() - 22 + 8] = twice[twice.size() - 22 + 10] = 2;
  twice[twice.size() - 22 + 12] = static_cast<char>(2 * entry.size());
  refuses(twice, "is there twice");
  twice[end + 46] = 'b';
  refuses(twice, "'b.npy' of the directory is 'a.npy' in its own header");
  save_npz(path, {{"a", tensor(1)}, {"b", tensor(2)}});
  const std::string two = read(path);
  const size_t first = two.find("PK\1\2"), second = two.find("PK\1\2", first + 1);
  std::string moved = two;
  moved[second + 42] = 0;  // the second member at the place of the first
  refuses(moved, "'b.npy' of the directory is 'a.npy' in its own header");
  // A member within another.
  {
    const std::string inner = two.substr(two.find("PK\3\4", 4), first - two.find("PK\3\4", 4));
    detail::NewFile file("save_npz", path, Site::current());
    detail::ZipWriter zip(file, "save_npz", Site::current());
    zip.add("a.npy", inner, "", false);
    zip.add("b.npy", inner.substr(inner.find("\x93NUMPY")), "", false);
    zip.finish();
    file.finish();
  }
  std::string within = read(path);
  const size_t entry_of_b = within.find("PK\1\2", within.find("PK\1\2") + 1);
  const auto at = static_cast<uint32_t>(within.find("PK\3\4", 4));
  std::memcpy(&within[entry_of_b + 42], &at, sizeof at);
  refuses(within, "share bytes");
  // The directory against itself: its counts, its end, its names.
  const size_t last = two.find("PK\5\6");
  std::string other = two;
  other[last + 10] = 0;
  refuses(other, "the directory has 0 members in one place, 2 in another");
  other[last + 8] = 0;
  refuses(other, "the directory has more than the 0 members that it counts");
  other[last + 8] = other[last + 10] = 1;
  refuses(other, "the directory has more than the 1 members that it counts");
  other = two;
  other[last + 16] ^= 1;
  refuses(other, "the directory should end here");
  other = two;
  other[second + 46] = 'c';
  refuses(other, "'c.npy' of the directory is 'b.npy' in its own header");
}

// A small file must not stand for much memory: an array is unpacked no further than its header says.
BOOST_AUTO_TEST_CASE(members_are_as_long_as_they_say) {
  const test::Folder folder;
  const std::string path = folder / "a.npz";
  for (const bool compressed : {false, true}) BOOST_TEST_CONTEXT("compressed: " << compressed) {
      detail::NewFile file("save_npz", path, Site::current());
      detail::ZipWriter zip(file, "save_npz", Site::current());
      zip.add("a.npy", read(golden + "float32.npy"), std::string(1 << 20, '\0'), compressed);
      zip.finish();
      file.finish();
      fails<IoError>([&] { load_npz(path); }, "load_npz",
                     "a.npz[a.npy]: at byte 128: expected 24 bytes of elements, found 1048600");
    }
}

// Threads may have stacks of 64 KiB.
BOOST_AUTO_TEST_CASE(archives_on_a_small_stack) {
  const test::Folder folder;
  const std::string path = folder / "a.npz";
  const Tensor x = arange(1000).eval();
  const auto work = [&] {
    save_npz(path, {{"a", x}}, true);
    equal(load_npz(path).at("a"), int64, {1000}, x.to_vector<double>());
  };
  pthread_attr_t small;
  pthread_attr_init(&small);
  BOOST_REQUIRE(pthread_attr_setstacksize(&small, 64 << 10) == 0);
  pthread_t thread{};
  BOOST_REQUIRE(pthread_create(
                    &thread, &small,
                    [](void* f) -> void* {
                      (*static_cast<decltype(work)*>(f))();
                      return nullptr;
                    },
                    const_cast<void*>(static_cast<const void*>(&work))) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

BOOST_AUTO_TEST_CASE(places) {
  const test::Folder folder;
  fails<IoError>([&] { load(folder / "none.npy"); }, "load", "cannot open");
  fails<IoError>([&] { load(folder.path()); }, "load", "Is a directory");
  fails<IoError>([&] { save(folder / "none/a.npy", tensor(1)); }, "save", "cannot write");
  fails<IoError>([&] { save("/dev/full", arange(100000)); }, "save", "No space left");
  fails<Error>([&] { save_npz(folder / "a.npz", {{"", tensor(1)}}); }, "save_npz", "a name has 1 to");
  BOOST_TEST(folder.files().empty());
}

// A file that is cut short while it is read is an error, or read as it was: it does not end the program.
BOOST_AUTO_TEST_CASE(files_that_shrink) {
  const test::Folder folder;
  const std::string npy = folder / "a.npy", npz = folder / "a.npz", csv = folder / "a.csv";
  save(npy, zeros({1 << 18}));
  save_npz(npz, {{"a", zeros({1 << 18})}});
  write(csv, std::string(1 << 20, '\n'));
  std::atomic<bool> stop{false}, truncates{true};
  std::thread shrinks([&] {
    while (!stop)
      for (const std::string& path : {npy, npz, csv}) {
        const auto size = static_cast<off_t>(std::filesystem::file_size(path));
        if (truncate(path.c_str(), 4096) != 0 || truncate(path.c_str(), size) != 0) truncates = false;
      }
  });
  for (int i = 0; i < 200; ++i)
    for (const std::string& path : {npy, npz, csv}) try {
        if (path == npy) load(path);
        else if (path == npz) load_npz(path);
        else read_csv(path);
      } catch (const IoError&) {}
  stop = true;
  shrinks.join();
  BOOST_TEST(truncates);
}

BOOST_AUTO_TEST_CASE(what_is_not_whole_has_no_name) {
  const test::Folder folder;
  const std::string path = folder / "a.npy";
  save(path, tensor(1));
  detail::NewFile file("save", path, Site::current());
  file.put(std::string(1 << 20, 'x'));
  if (folder.files().size() != 1u) BOOST_TEST_MESSAGE("the file system has no files without names");
  else BOOST_TEST(folder.files().at(0) == "a.npy");
  equal(load(path), int64, {}, {1});
  file.finish();
  BOOST_TEST(folder.files().size() == 1u);
  BOOST_TEST(read(path) == std::string(1 << 20, 'x'));
}

BOOST_AUTO_TEST_SUITE_END()
