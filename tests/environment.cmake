# Clears the user's LAZY_* variables: ctest reads this before it runs a test, whose result must not depend on
# them. A test's variables are in its properties; LAZY_TEST_* are for the tests.
execute_process(COMMAND env OUTPUT_VARIABLE variables)
string(REGEX MATCHALL "(^|\n)LAZY_[A-Z0-9_]+=" variables "${variables}")
foreach(variable IN LISTS variables)
  string(REGEX REPLACE "[\n=]" "" variable "${variable}")
  if(NOT variable MATCHES "^LAZY_TEST_")
    message(STATUS "tests: ${variable} is ignored")
    unset(ENV{${variable}})
  endif()
endforeach()
set(ENV{LAZY_TEST_ENVIRONMENT} 1)
