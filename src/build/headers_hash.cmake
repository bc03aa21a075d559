# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header with the version and a hash of all public headers below INCLUDE, unless it says the same already:
#
#   cmake -DINCLUDE=include -DVERSION=0.1.0 -DOUTPUT=headers_hash.h -P headers_hash.cmake
cmake_policy(VERSION 3.25)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/berth/*.h)
list(SORT headers)
set(all "")
foreach(header IN LISTS headers)
  file(SHA256 ${INCLUDE}/${header} hash)
  string(APPEND all "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 12 hash)
# Written only when it changes, so that nothing is compiled again for nothing.
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY NEWLINE_STYLE UNIX CONTENT [==[
// SPDX-License-Identifier: Apache-2.0
// Made by src/build/headers_hash.cmake.
#ifndef BERTH_HEADERS_HASH_H_
#define BERTH_HEADERS_HASH_H_

#define BERTH_VERSION_TEXT "@VERSION@"
#define BERTH_HEADERS_HASH "@hash@"

#endif  // BERTH_HEADERS_HASH_H_
]==])
