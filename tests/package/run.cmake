# Installs the library that was built to a new prefix, builds the consumer against it and, apart, against the sources, and
# runs both. Then builds the example in README.md and compares what it prints with what README.md says.
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
  run(${CMAKE_COMMAND} -S ${WORK}/consumer -B ${tree} -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
      -D CMAKE_CXX_COMPILER=${CXX} -D HOW=${how} -D CMAKE_PREFIX_PATH=${WORK}/prefix -D LAZY_SOURCE=${LAZY_SOURCE})
  run(${CMAKE_COMMAND} --build ${tree})
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer DESTINATION ${WORK})

# The first C++ block of README.md is the example, the text block after it what it prints.
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

foreach(how find_package fetch_content)
  build(${how})
  execute_process(COMMAND ${WORK}/${how}/consumer OUTPUT_VARIABLE printed_${how} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
same("consumer of the package" "6 12\n[2. 4.]\nconsumer.cpp:" "${printed_find_package}")
same("consumer of the sources" "${printed_find_package}" "${printed_fetch_content}")

execute_process(COMMAND ${WORK}/find_package/example OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
same("example of README.md" "${example_prints}" "${printed}")
