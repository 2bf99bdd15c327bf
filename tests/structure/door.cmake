# Fails if a file of lazy/ other than record.hpp and record.cpp puts ops into the graph: observers would not
# see them.
#   cmake -D FOLDER=<lazy/> -P door.cmake
file(GLOB_RECURSE files ${FOLDER}/*.cpp ${FOLDER}/*.hpp)
set(doors 0)
foreach(file ${files})
  file(READ ${file} text)
  string(REGEX MATCHALL "jit::(record|record_call|record_expanded|constant|iota|transfer)[(]|using (lazy::)?jit::(record|constant|iota|transfer) *|using namespace (lazy::)?jit *"
         found "${text}")
  list(LENGTH found count)
  if(file MATCHES "/record[.][ch]pp$")
    math(EXPR doors "${doors} + ${count}")
  elseif(found)
    list(JOIN found " ... " found)
    message(SEND_ERROR "${file} does not use the door (record.hpp): ${found} ...")
  endif()
endforeach()
if(doors LESS 4)
  message(SEND_ERROR "the door itself was not found in ${FOLDER}")
endif()
