# Fails if a file of lazy/ asks for a kind of device: what is recorded says what is meant, and is the same for all
# of them. Excepted are devices themselves, what is exchanged with other libraries, autocast, which has a table for
# each kind as others have, and who assembles the backends.
#   cmake -D FOLDER=<lazy/> -P machines.cmake
file(GLOB_RECURSE files ${FOLDER}/*.cpp ${FOLDER}/*.hpp)
set(looked 0)
foreach(file ${files})
  if(file MATCHES "/(amp/autocast\\.[ch]pp|core/device\\.[ch]pp|io/dlpack\\.cpp|runtime\\.cpp)$")
    continue()
  endif()
  math(EXPR looked "${looked} + 1")
  file(READ ${file} text)
  string(REGEX MATCHALL "DeviceKind::[a-z]+|[^a-z_]host\\(\\)|kLanes|avx[0-9]+" found "${text}")
  if(found)
    list(JOIN found ", " found)
    message(SEND_ERROR "${file} goes by the machine: ${found}")
  endif()
endforeach()
if(looked LESS 100)
  message(SEND_ERROR "few files were found in ${FOLDER}")
endif()
