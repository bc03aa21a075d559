// SPDX-License-Identifier: Apache-2.0
// Lets loops over columns use the vector instructions of the processor that runs them.
#ifndef BERTH_SRC_SIMD_VECTOR_CLONES_H_
#define BERTH_SRC_SIMD_VECTOR_CLONES_H_

// Before the definition of a function: compiles it three times, and the loader takes the best one
// that the processor has. All compute the same to the last bit if nothing is fused: compile with
// -ffp-contract=off what computes with floating-point numbers. Nothing where compilers or
// sanitizers do not know how, or with BERTH_NO_VECTOR_CLONES.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&  \
    !defined(BERTH_NO_VECTOR_CLONES)
#define BERTH_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define BERTH_VECTOR_CLONES
#endif

#endif  // BERTH_SRC_SIMD_VECTOR_CLONES_H_
