// Table of the templates, for the compilation to PTX and for the launches by the host.
#pragma once

/// X(name, lanes, BM, BN, BK, TM, TN, slices, stages, unroll, loads, steps, state): the parameters are those of Tile in
/// product.cu. Names consist of the function, the number of lanes, the tile size, the length of expressions, and the
/// slices.
///
/// Registers limit the results of a thread: 64 words of all lanes together, and 16 results for longer expressions. For
/// the longest expressions a thread has one result, because of the code size. `bests` is for semirings whose k-steps
/// mostly change no result; it unrolls whole chunks and ignores `unroll`. `few` is for products of so few k-steps that
/// reading elements dominates; it has neither chunks nor stages. The host selects the first row that suits
/// (choice.cpp).
#define MPMML_FOR_EACH_USER_TEMPLATE(X)                                                      \
  X(product1_few, 1, 32, 32, 1, 4, 1, 1, 1, 0, kElements, kStructured, ScalarTile)           \
  X(product1_bests, 1, 64, 64, 16, 4, 4, 1, 3, 0, kChunks, kAll, SkippingTile)               \
  X(product1_large_short, 1, 128, 128, 16, 8, 8, 1, 3, 16, kChunks, kAll, Sums)              \
  X(product1_middle_short_sliced, 1, 64, 64, 8, 8, 8, 4, 3, 4, kChunks, kAll, Sums)          \
  X(product1_middle_short, 1, 64, 64, 16, 4, 4, 1, 3, 8, kChunks, kAll, Sums)                \
  X(product1_middle_structured, 1, 64, 64, 16, 4, 4, 1, 3, 4, kChunks, kStructured, Sums)    \
  X(product1_middle_long, 1, 64, 64, 16, 4, 4, 1, 3, 0, kChunks, kStructured, Sums)          \
  X(product1_narrow_short_sliced, 1, 32, 32, 8, 4, 4, 4, 3, 4, kChunks, kAll, Sums)          \
  X(product1_narrow_short, 1, 32, 32, 16, 4, 4, 1, 3, 4, kChunks, kAll, Sums)                \
  X(product1_small_short_sliced, 1, 32, 16, 8, 4, 4, 8, 3, 4, kElements, kAll, Sums)         \
  X(product1_small_short, 1, 32, 16, 16, 4, 4, 1, 3, 4, kElements, kAll, Sums)               \
  X(product1_small_long, 1, 32, 16, 16, 2, 2, 1, 3, 0, kElements, kStructured, Sums)         \
  X(product1_small_longest, 1, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Sums)      \
  X(witness1_middle_short, 1, 64, 64, 16, 4, 4, 1, 3, 4, kChunks, kStructured, Witnesses)    \
  X(witness1_small_longest, 1, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Witnesses) \
  MPMML_FIRST_USER_TEMPLATES(X, 2, 64)                                                       \
  X(product2_large_short, 2, 128, 64, 8, 8, 4, 1, 3, 4, kChunks, kAll, Sums)                 \
  MPMML_OTHER_USER_TEMPLATES(X, 2, 64, 4, 2, 2, 64, 2)                                       \
  MPMML_FIRST_USER_TEMPLATES(X, 3, 64)                                                       \
  MPMML_OTHER_USER_TEMPLATES(X, 3, 64, 2, 1, 1, 32, 1)                                       \
  MPMML_FIRST_USER_TEMPLATES(X, 4, 32)                                                       \
  MPMML_OTHER_USER_TEMPLATES(X, 4, 32, 2, 1, 1, 32, 1)

/// Rows of 2 to 4 lanes, which differ in BM and in `unroll`: of short expressions, structured products, small tiles, and
/// witnesses.
#define MPMML_FIRST_USER_TEMPLATES(X, lanes, BM)                                               \
  X(product##lanes##_few, lanes, 32, 32, 1, 4, 1, 1, 1, 0, kElements, kStructured, ScalarTile) \
  X(product##lanes##_bests, lanes, BM, 64, 8, 4, 4, 1, 3, 0, kChunks, kAll, SkippingTile)
#define MPMML_OTHER_USER_TEMPLATES(X, lanes, BM, short_steps, structured_steps, small_steps, witness_BM,            \
                                   witness_steps)                                                                   \
  X(product##lanes##_middle_short, lanes, BM, 64, 8, 4, 4, 1, 3, short_steps, kChunks, kAll, Sums)                  \
  X(product##lanes##_middle_structured, lanes, BM, 64, 8, 4, 4, 1, 3, structured_steps, kChunks, kStructured, Sums) \
  X(product##lanes##_middle_long, lanes, BM, 64, 8, 4, 4, 1, 3, 0, kChunks, kStructured, Sums)                      \
  X(product##lanes##_small_short, lanes, 32, 16, 8, 4, 4, 1, 3, small_steps, kElements, kAll, Sums)                 \
  X(product##lanes##_small_long, lanes, 32, 16, 8, 2, 2, 1, 3, 0, kElements, kStructured, Sums)                     \
  X(product##lanes##_small_longest, lanes, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Sums)                 \
  X(witness##lanes##_middle_short, lanes, witness_BM, 64, 8, 4, 4, 1, 3, witness_steps, kChunks, kStructured,       \
    Witnesses)                                                                                                      \
  X(witness##lanes##_small_longest, lanes, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Witnesses)
