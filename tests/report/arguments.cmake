# Runs PROGRAM with ARGUMENTS (separated by |) in the empty folder WORK. Expects exit status STATUS and SAYS on standard output,
# or on standard error if the status is not 0.
string(REPLACE "|" ";" ARGUMENTS "${ARGUMENTS}")
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE status OUTPUT_VARIABLE out
                ERROR_VARIABLE err)
if(NOT status EQUAL "${STATUS}")
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}\n${err}")
endif()
if(STATUS EQUAL 0)
  set(said "${out}")
else()
  set(said "${err}")
endif()
if(NOT said MATCHES "${SAYS}")
  message(FATAL_ERROR "expected to match\n${SAYS}\nbut it said\n${said}")
endif()
