# lazy_require(<package> <debian package> [find_package arguments]): find_package with an error that says what to install.
macro(lazy_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "lazy needs ${package}, which was not found. On Debian: apt-get install ${debian} "
                        "(packages.txt lists everything).")
  endif()
endmacro()

# The warnings that all of the project's own targets are built with. g++ 12 sees overlaps in std::string that are not there
# (GCC bug 105651).
function(lazy_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${LAZY_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
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

# lazy_floor(<name> <folder> [libraries...]): the objects of one floor. With CMAKE_POSITION_INDEPENDENT_CODE (or BUILD_SHARED_LIBS)
# shared objects may be linked from them, at 2% more instructions an op. In an archive nothing is visible outside of what is
# linked from it, so that two shared objects of one process may each have it.
function(lazy_floor name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/lazy/models/")  # a library of its own
  set(floor lazy_floor_${name})
  add_library(${floor} OBJECT ${sources})
  lazy_rooms(${sources})
  set_target_properties(${floor} PROPERTIES UNITY_BUILD ${LAZY_UNITY} UNITY_BUILD_MODE GROUP)
  target_include_directories(${floor} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${floor} PRIVATE cxx_std_20)
  # Fusing must not change a bit, so the compiler may not contract a * b + c in the reference loops either.
  target_compile_options(${floor} PRIVATE -ffp-contract=off)
  if(BUILD_SHARED_LIBS OR CMAKE_POSITION_INDEPENDENT_CODE)
    # What a thread has for itself is a few hundred bytes: they fit what the loader keeps free for libraries that come later.
    set_target_properties(${floor} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${floor} PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
  endif()
  if(NOT BUILD_SHARED_LIBS)
    set_target_properties(${floor} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  if(LAZY_OPTIMIZE AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "(^| )-O")
    target_compile_options(${floor} PRIVATE -O3)
    target_compile_definitions(${floor} PRIVATE NDEBUG)
  endif()
  target_link_libraries(${floor} PRIVATE ${ARGN} Threads::Threads)
  lazy_warnings(${floor})
endfunction()
