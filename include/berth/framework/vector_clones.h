// Lets loops over columns use the vector instructions of the processor that runs them.
#ifndef BERTH_FRAMEWORK_VECTOR_CLONES_H_
#define BERTH_FRAMEWORK_VECTOR_CLONES_H_

// Before the definition of a function: compiles it twice, and the loader takes the better one that
// the processor has. Both compute the same to the last bit: AVX2 alone contracts no operations.
// Nothing where compilers or sanitizers do not know how.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BERTH_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define BERTH_VECTOR_CLONES
#endif

#endif  // BERTH_FRAMEWORK_VECTOR_CLONES_H_
