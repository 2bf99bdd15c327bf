# Runs PROGRAM with ARGUMENTS (separated by |) in the empty folder WORK. Expects exit status STATUS and SAYS on standard
# output and nothing on standard error, or SAYS on standard error if the status is not 0.
set(ENV{LAZY_CACHE} off)  # what they say of compiling is about this run
string(REPLACE "|" ";" ARGUMENTS "${ARGUMENTS}")
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE status OUTPUT_VARIABLE out
                ERROR_VARIABLE err)
if(NOT status EQUAL "${STATUS}")
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}\n${out}${err}")
endif()
if(STATUS EQUAL 0)
  set(said "${out}")
  if(NOT err STREQUAL "")
    message(FATAL_ERROR "unexpected on standard error:\n${err}")
  endif()
else()
  set(said "${err}")
endif()
if(NOT said MATCHES "${SAYS}")
  message(FATAL_ERROR "expected to match\n${SAYS}\nbut it said\n${out}${err}")
endif()
message("${out}${err}")
