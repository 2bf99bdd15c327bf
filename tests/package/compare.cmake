# Fails unless PROGRAM with ARGUMENTS (separated by |) prints what the file PAGE holds.
string(REPLACE "|" ";" ARGUMENTS "${ARGUMENTS}")
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "${PAGE} is out of date: build the target `docs`. It should be:\n${printed}")
endif()
