# Profiles PROGRAM (arguments separated by |), makes the page with REPORT and opens it in CHROMIUM with
# #selftest, which makes the page try its filter, its tables, its timeline and its graph. Nothing may be
# printed on the console.
string(REPLACE "|" ";" PROGRAM "${PROGRAM}")
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(must)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${status}\n${out}${err}")
  endif()
endfunction()
must(${CMAKE_COMMAND} -E env LAZY_PROFILE=trace.json LAZY_NUM_THREADS=2 ${PROGRAM})
set(against "")
if(AGAINST)
  list(GET PROGRAM 0 other)
  must(${CMAKE_COMMAND} -E env LAZY_PROFILE=other.json LAZY_NUM_THREADS=2 ${other} ${AGAINST})
  set(against --against other.json)
endif()
must(${REPORT} trace.json -o report.html ${against})
file(STRINGS ${WORK}/report.html outside REGEX "(src|href)=\"?(https?:)?//")
if(outside)
  message(FATAL_ERROR "the page asks the network: ${outside}")
endif()
if(NOT CHROMIUM)
  message("SKIPPED: no chromium to open the page in (Debian: apt-get install chromium)")
  return()
endif()
# test_page(<width> <scheme>): opens the page in a frame of this width (windows are never as narrow as a telephone), in light
# or dark colors.
function(test_page width scheme)
  set(colors "")
  if(scheme STREQUAL "dark")
    set(colors --blink-settings=preferredColorScheme=0)
  endif()
  file(WRITE ${WORK}/frame.html
       "<!doctype html><link rel=\"icon\" href=\"data:,\"><iframe id=\"page\" style=\"width: ${width}px; height: 900px; border: 0\" src=\"report.html#selftest\"></iframe>"
       "<pre id=\"said\"></pre><script>const f = document.getElementById('page'); f.onload = () =>"
       "{ document.getElementById('said').textContent = f.contentDocument.getElementById('selftest').textContent; };</script>")
  execute_process(
    COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir=${WORK}/chromium
            --virtual-time-budget=10000 --window-size=1600,1000 --allow-file-access-from-files ${colors} --dump-dom file://${WORK}/frame.html
    RESULT_VARIABLE status OUTPUT_FILE ${WORK}/dom.html ERROR_VARIABLE log TIMEOUT 240)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "chromium: ${status}\n${log}")
  endif()
  if(log MATCHES "CONSOLE[^\n]*")
    message(FATAL_ERROR "on the console: ${CMAKE_MATCH_0}")
  endif()
  file(STRINGS ${WORK}/dom.html outcome REGEX "selftest: (passed|[0-9]+ failed), [0-9]+ checks|^FAILED ")
  message("${width} px, ${scheme}: ${outcome}")
  if(NOT outcome MATCHES "selftest: passed, [1-9][0-9]* checks, ${width} px, ${scheme}")
    message(FATAL_ERROR "the page's self-test at ${width} px, ${scheme}: ${outcome}")
  endif()
endfunction()
test_page(1400 light)
test_page(800 dark)
test_page(400 light)
test_page(1400 dark)
