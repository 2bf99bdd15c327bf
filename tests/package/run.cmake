# Installs the library that was built to a new prefix, builds the consumer against it and, apart, against the sources, and
# runs both. Then builds the example in README.md and compares what it prints with what README.md says.
cmake_minimum_required(VERSION 3.25)
set(ENV{LAZY_CACHE} off)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " line)
    message(FATAL_ERROR "${line}\nfailed (${status}):\n${output}")
  endif()
endfunction()

function(same what expected got)
  if(NOT expected STREQUAL got)
    message(FATAL_ERROR "${what}: expected\n${expected}\nbut got\n${got}")
  endif()
  message(STATUS "${what}: as expected")
endfunction()

function(build how)
  set(tree ${WORK}/${how})
  run(${CMAKE_COMMAND} -S ${WORK}/consumer -B ${tree} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX} -D HOW=${how}
      -D CMAKE_PREFIX_PATH=${WORK}/prefix -D LAZY_SOURCE=${LAZY_SOURCE} ${ARGN})
  run(${CMAKE_COMMAND} --build ${tree})
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer DESTINATION ${WORK})

# Reads README.md: its first C++ block is the example, the text block after it the expected output.
file(READ ${LAZY_SOURCE}/README.md readme)
string(REPLACE ";" "\\;" readme "${readme}")
if(NOT readme MATCHES "```cpp\n([^`]*)```[^`]*```text\n([^`]*)```")
  message(FATAL_ERROR "README.md: no ```cpp block followed by a ```text block")
endif()
string(REPLACE "\\;" ";" example "${CMAKE_MATCH_1}")
string(REPLACE "\\;" ";" example_prints "${CMAKE_MATCH_2}")
file(WRITE ${WORK}/consumer/example.cpp "${example}")

run(${CMAKE_COMMAND} --install ${LAZY_BINARY} --prefix ${WORK}/prefix)
file(GLOB stray RELATIVE ${WORK}/prefix ${WORK}/prefix/include/*)
same("everything is in include/lazy-jit" "include/lazy-jit" "${stray}")

# What is installed is what public headers need: they compile there, and nothing else is there.
include(${LAZY_SOURCE}/cmake/public_headers.cmake)
lazy_public_headers(public ${LAZY_SOURCE})
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix/include/lazy-jit ${WORK}/prefix/include/lazy-jit/*)
list(SORT installed)
same("public headers" "${public}" "${installed}")
set(all "")
foreach(header ${LAZY_PUBLIC_HEADERS})
  if(NOT header MATCHES "eigen")
    string(APPEND all "#include <${header}>\n")
  endif()
endforeach()
file(WRITE ${WORK}/all.cpp "${all}int main() {}\n")
run(${CXX} -std=c++20 -Wall -Wextra -Wshadow -Werror -fsyntax-only -I${WORK}/prefix/include/lazy-jit ${WORK}/all.cpp)

build(find_package -D CMAKE_BUILD_TYPE=${BUILD_TYPE})

# Takes what the library's own build has compiled by the same commands, for time's sake; that is all of the library.
if(GENERATOR STREQUAL "Ninja")
  set(here ${WORK}/fetch_content/_deps/lazy-build)
  file(MAKE_DIRECTORY ${here})
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${LAZY_BINARY} -- -t commands
                  COMMAND sed -f ${CMAKE_CURRENT_LIST_DIR}/reuse.sed OUTPUT_FILE ${here}/commands COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${CMAKE_CURRENT_LIST_DIR}/reuse.sh;${LAZY_BINARY};${here}")
endif()
build(fetch_content -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D LAZY_PCH=ON)
unset(ENV{CMAKE_CXX_COMPILER_LAUNCHER})
if(GENERATOR STREQUAL "Ninja" AND BUILD_TYPE STREQUAL "Release")
  file(STRINGS ${here}/compiled compiled REGEX "lazy-build")
  same("objects of the library that another project compiles in another way" "" "${compiled}")
endif()
foreach(how find_package fetch_content)
  execute_process(COMMAND ${WORK}/${how}/consumer OUTPUT_VARIABLE printed_${how} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
same("consumer of the package" "6 12\n[2. 4.]\nconsumer.cpp:" "${printed_find_package}")
same("consumer of the sources" "${printed_find_package}" "${printed_fetch_content}")

# Tests clang++, where there is one: its programs use a library of g++'s, errors name their lines; one that is
# too old is rejected.
find_program(CLANG NAMES clang++-19 clang++-18 clang++-17 clang++-16)
if(CLANG)
  run(${CMAKE_COMMAND} -S ${WORK}/consumer -B ${WORK}/clang -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CLANG}
      -D HOW=find_package -D CMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${WORK}/clang --target consumer)
  execute_process(COMMAND ${WORK}/clang/consumer OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  same("consumer by ${CLANG}" "${printed_find_package}" "${printed}")
endif()
find_program(OLD_CLANG NAMES clang++-15 clang++-14)
if(OLD_CLANG)
  execute_process(COMMAND ${OLD_CLANG} -std=c++20 -fsyntax-only -I${WORK}/prefix/include/lazy-jit ${WORK}/consumer/consumer.cpp
                  RESULT_VARIABLE status ERROR_VARIABLE output)
  string(REGEX MATCH "error:[^\n]*" first "${output}")
  if(status EQUAL 0 OR NOT first MATCHES "lazy needs [^\n]*clang\\+\\+ 16 or newer")
    message(FATAL_ERROR "${OLD_CLANG} should be told what is needed first:\n${output}")
  endif()
endif()

# Containers with another layout are rejected by the linker, not by a crash.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/consumer -B ${WORK}/debug_mode -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
                        -D HOW=find_package -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_FLAGS=-D_GLIBCXX_DEBUG
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/debug_mode --target consumer RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "undefined reference to [^\n]*compiled_with_GLIBCXX_DEBUG")
  message(FATAL_ERROR "-D_GLIBCXX_DEBUG: the link should fail at a symbol with that name (${status}):\n${output}")
endif()

# Taken in without a build type the library optimises itself, and prints so; told not to, or under a build
# type, it doesn't.
function(optimises expected)
  file(REMOVE_RECURSE ${WORK}/untyped)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/consumer -B ${WORK}/untyped -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
                          -D HOW=fetch_content -D LAZY_SOURCE=${LAZY_SOURCE} -D CMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN}
                  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-- lazy: no CMAKE_BUILD_TYPE, so the library optimises itself" lines "${said}")
  list(LENGTH lines lines)
  same("optimises itself, it says, with '${ARGN}'" ${expected} ${lines})
  file(STRINGS ${WORK}/untyped/compile_commands.json commands REGEX "\"command\".*-O3.*unity_lazy_core_0_cxx")
  list(LENGTH commands commands)
  same("optimises itself with '${ARGN}'" ${expected} ${commands})
  file(STRINGS ${WORK}/untyped/compile_commands.json commands REGEX "\"command\".*-O.*consumer.cpp")
  same("leaves the rest with '${ARGN}'" "" "${commands}")
endfunction()
optimises(1)
optimises(0 -D LAZY_OPTIMIZE=OFF)
optimises(0 -D CMAKE_BUILD_TYPE=Debug)

execute_process(COMMAND ${WORK}/find_package/example OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
same("example of README.md" "${example_prints}" "${printed}")

# The Debian package installs, serves a program that asks pkg-config, and leaves nothing when it is removed.
find_program(DPKG dpkg)
find_program(PKG_CONFIG pkg-config)
if(DPKG AND PKG_CONFIG)
  set(root ${WORK}/root)
  file(MAKE_DIRECTORY ${root}/var/lib/dpkg/info ${root}/var/lib/dpkg/updates)
  file(TOUCH ${root}/var/lib/dpkg/status ${root}/var/lib/dpkg/available)
  run(${CMAKE_CPACK_COMMAND} --config ${LAZY_BINARY}/CPackConfig.cmake -G DEB -B ${WORK}/deb)
  file(GLOB package ${WORK}/deb/liblazy-dev_*.deb)
  set(dpkg ${DPKG} --root=${root} --log=/dev/null --force-not-root --force-depends)
  run(${dpkg} --install ${package})
  file(GLOB_RECURSE pc ${root}/usr/*/lazy.pc)
  get_filename_component(folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs lazy OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} ${WORK}/consumer/example.cpp -o ${WORK}/by_pkg_config ${flags})
  execute_process(COMMAND ${WORK}/by_pkg_config OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  same("example of README.md by pkg-config" "${example_prints}" "${printed}")
  foreach(tool lazy-cache lazy-report lazy-run)
    run(${root}/usr/bin/${tool} --help)
  endforeach()
  run(${dpkg} --purge liblazy-dev)
  file(GLOB_RECURSE left LIST_DIRECTORIES true ${root}/usr/*)
  same("removed" "" "${left}")
endif()
