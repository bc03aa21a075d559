// SPDX-License-Identifier: Apache-2.0
// The libraries of functions that an environment is made of.
#ifndef BERTH_SRC_CEL_LIBRARIES_LIBRARIES_H_
#define BERTH_SRC_CEL_LIBRARIES_LIBRARIES_H_

#include "cel/environment.h"

namespace berth::cel {

// The standard definitions of CEL, in four parts.
void AddOperators(Environment& environment);
void AddConversions(Environment& environment);
void AddStandardFunctions(Environment& environment);
void AddTimes(Environment& environment);
// Optional values, version 2.
void AddOptionals(Environment& environment);

// Extensions of cel-go: strings version 2, sets, lists version 3, and what macros with two
// variables need.
void AddStrings(Environment& environment);
void AddSets(Environment& environment);
void AddLists(Environment& environment);
void AddMapInsertion(Environment& environment);

// Libraries of Kubernetes, apiserver pkg/cel/library.
void AddKubernetesLists(Environment& environment);
void AddRegex(Environment& environment);
void AddQuantities(Environment& environment);
void AddSemver(Environment& environment);
void AddUrls(Environment& environment);
void AddAddresses(Environment& environment);
void AddFormats(Environment& environment);
void AddAuthorizer(Environment& environment);

// All of them, as kube-scheduler v1.35 has them for device selectors.
void AddKubernetesLibraries(Environment& environment);

// What implementations have as arguments.
using Arguments = absl::Span<Value>;

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LIBRARIES_LIBRARIES_H_
