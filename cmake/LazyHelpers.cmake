# lazy_require(<package> <debian package> [find_package arguments]): find_package with an error that says what to install.
macro(lazy_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "lazy needs ${package}, which was not found. On Debian: apt-get install ${debian} "
                        "(packages.txt lists everything).")
  endif()
endmacro()

# The warnings that all of the project's own targets are built with. g++ 12 sees overlaps and overflows in std::string that are not
# there (GCC bugs 105651 and 105329).
function(lazy_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${LAZY_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endfunction()

# lazy_rooms(<sources>...): has the files of a folder compiled together, in parts of some LAZY_UNITY_BYTES: nine tenths of what
# the compiler reads for one file is the standard library. A name of an unnamed namespace is therefore one of its folder. What is
# compiled for one instruction set, *_avx2.cpp, stays alone.
function(lazy_rooms)
  set(last "")
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_avx[0-9]+\\.cpp$")
      continue()
    endif()
    get_filename_component(room ${source} DIRECTORY)
    file(SIZE ${source} size)
    if(NOT room STREQUAL last)
      set(part 0)
      set(bytes 0)
    elseif(bytes GREATER LAZY_UNITY_BYTES)
      math(EXPR part "${part} + 1")
      set(bytes 0)
    endif()
    math(EXPR bytes "${bytes} + ${size}")
    set(last ${room})
    file(RELATIVE_PATH group ${PROJECT_SOURCE_DIR} ${room})
    string(REPLACE "/" "_" group ${group})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
  endforeach()
endfunction()

# lazy_part(<name> <level> <folders>...): the objects of some folders of the library, optimised with -O<level>. A file is of the first
# part that names its folder. With CMAKE_POSITION_INDEPENDENT_CODE (or BUILD_SHARED_LIBS) shared objects may be linked from them, at 2%
# more instructions an op. In an archive nothing is visible outside of what is linked from it, so that two shared objects of one
# process may each have it.
function(lazy_part name level)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE patterns)
  list(TRANSFORM patterns APPEND /*.cpp)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  get_property(taken GLOBAL PROPERTY LAZY_SOURCES)
  list(REMOVE_ITEM sources ${taken})
  set_property(GLOBAL APPEND PROPERTY LAZY_SOURCES ${sources})
  set(part lazy_part_${name})
  add_library(${part} OBJECT ${sources})
  lazy_rooms(${sources})
  set_target_properties(${part} PROPERTIES UNITY_BUILD ${LAZY_UNITY} UNITY_BUILD_MODE GROUP)
  target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${part} PRIVATE cxx_std_20)
  # Fusing must not change a bit, so the compiler may not contract a * b + c in the reference loops either.
  target_compile_options(${part} PRIVATE -ffp-contract=off -ffunction-sections -fdata-sections)
  if(BUILD_SHARED_LIBS OR CMAKE_POSITION_INDEPENDENT_CODE)
    # What a thread has for itself is a few hundred bytes: they fit what the loader keeps free for libraries that come later.
    set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${part} PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
  endif()
  if(NOT BUILD_SHARED_LIBS)
    set_target_properties(${part} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_compile_options(${part} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  if(level EQUAL 3)
    # What is inlined must not depend on how many files are compiled together.
    target_compile_options(${part} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
  endif()
  if(LAZY_OPTIMIZE AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "(^| )-O")
    target_compile_options(${part} PRIVATE -O${level})
    target_compile_definitions(${part} PRIVATE NDEBUG)
  endif()
  target_link_libraries(${part} PRIVATE lazy_asmjit TBB::tbb Zydis::Zydis xxhash::xxhash nlohmann_json::nlohmann_json Threads::Threads)
  lazy_warnings(${part})
  get_property(first GLOBAL PROPERTY LAZY_PCH_${level})  # g++ takes one of another level, too, and then crashes at times
  if(LAZY_PCH AND first)
    target_precompile_headers(${part} REUSE_FROM ${first})
  elseif(LAZY_PCH)
    target_precompile_headers(${part} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard.hpp)
    set_property(GLOBAL PROPERTY LAZY_PCH_${level} ${part})
  endif()
endfunction()

# lazy_apart(<folders>...): leaves folders out of all parts: they are shared objects of their own.
function(lazy_apart)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE patterns)
  list(TRANSFORM patterns APPEND /*.cpp)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  set_property(GLOBAL APPEND PROPERTY LAZY_SOURCES ${sources})
endfunction()

# lazy_library(<target> <parts>...): a library of parts, with their headers.
function(lazy_library name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:lazy_part_\\1>" OUTPUT_VARIABLE objects)
  add_library(${name} ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/lazy-jit>)
  target_compile_features(${name} PUBLIC cxx_std_20)
endfunction()
