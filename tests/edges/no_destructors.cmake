# Fails if the library has an object with a constructor to run before main, or a destructor to run at a
# thread's or the process's end: such an object doesn't exist yet, or any more, for other code that runs then.
#   cmake -D NM=<nm> -D LIBRARY=<archive> -P no_destructors.cmake
execute_process(COMMAND ${NM} --print-file-name ${LIBRARY} OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*(__cxa_thread_atexit|__cxa_atexit|_GLOBAL__sub_I)[^\n]*" found "${symbols}")
if(found)
  list(JOIN found "\n" found)
  message(FATAL_ERROR "objects with constructors or destructors to run outside main:\n${found}")
endif()
