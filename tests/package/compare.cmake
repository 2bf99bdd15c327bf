# Fails unless PROGRAM prints what the file PAGE holds.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "${PAGE} is out of date: build the target `docs`. It should be:\n${printed}")
endif()
