// SPDX-License-Identifier: Apache-2.0
#include "cel/libraries/libraries.h"

namespace berth::cel {

// The order is that of apiserver pkg/cel/environment/base.go; it shows in nothing but costs of
// functions that several libraries have.
void AddKubernetesLibraries(Environment& environment) {
  AddOperators(environment);
  AddConversions(environment);
  AddStandardFunctions(environment);
  AddTimes(environment);
  AddUrls(environment);
  AddRegex(environment);
  AddOptionals(environment);
  AddQuantities(environment);
  AddAuthorizer(environment);
  AddStrings(environment);
  AddSets(environment);
  AddAddresses(environment);
  AddFormats(environment);
  AddMapInsertion(environment);
  AddSemver(environment);
  AddLists(environment);
  AddKubernetesLists(environment);
}

}  // namespace berth::cel
