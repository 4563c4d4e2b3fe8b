// The templates, for the compiler that makes PTX of them, and for the host, which launches them.
#pragma once

/// X(name, lanes, BM, BN, BK, TM, TN, slices, stages, unroll, loads, steps, state): the parameters are those of Tile in product.cu. A name
/// says what it does, for how many lanes, for tiles of which size, for expressions of which length, and if there are slices.
///
/// Registers decide the results of a thread: 64 words of all lanes together, and 16 results of longer expressions. Of the longest it
/// has one, because their code is as long as all else. `bests` is for semirings of which most steps change nothing; it writes out
/// chunks as a whole, whatever `unroll` says. `few` is for products of so few steps that only elements have to be read; it has
/// neither chunks nor stages. The host takes the first row that suits (choice.cpp).
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
  X(product2_few, 2, 32, 32, 1, 4, 1, 1, 1, 0, kElements, kStructured, ScalarTile)           \
  X(product2_bests, 2, 64, 64, 8, 4, 4, 1, 3, 0, kChunks, kAll, SkippingTile)                \
  X(product2_large_short, 2, 128, 64, 8, 8, 4, 1, 3, 4, kChunks, kAll, Sums)                 \
  X(product2_middle_short, 2, 64, 64, 8, 4, 4, 1, 3, 4, kChunks, kAll, Sums)                 \
  X(product2_middle_structured, 2, 64, 64, 8, 4, 4, 1, 3, 2, kChunks, kStructured, Sums)     \
  X(product2_middle_long, 2, 64, 64, 8, 4, 4, 1, 3, 0, kChunks, kStructured, Sums)           \
  X(product2_small_short, 2, 32, 16, 8, 4, 4, 1, 3, 2, kElements, kAll, Sums)                \
  X(product2_small_long, 2, 32, 16, 8, 2, 2, 1, 3, 0, kElements, kStructured, Sums)          \
  X(product2_small_longest, 2, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Sums)      \
  X(witness2_middle_short, 2, 64, 64, 8, 4, 4, 1, 3, 2, kChunks, kStructured, Witnesses)     \
  X(witness2_small_longest, 2, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Witnesses) \
  X(product3_few, 3, 32, 32, 1, 4, 1, 1, 1, 0, kElements, kStructured, ScalarTile)           \
  X(product3_bests, 3, 64, 64, 8, 4, 4, 1, 3, 0, kChunks, kAll, SkippingTile)                \
  X(product3_middle_short, 3, 64, 64, 8, 4, 4, 1, 3, 2, kChunks, kAll, Sums)                 \
  X(product3_middle_structured, 3, 64, 64, 8, 4, 4, 1, 3, 1, kChunks, kStructured, Sums)     \
  X(product3_middle_long, 3, 64, 64, 8, 4, 4, 1, 3, 0, kChunks, kStructured, Sums)           \
  X(product3_small_short, 3, 32, 16, 8, 4, 4, 1, 3, 1, kElements, kAll, Sums)                \
  X(product3_small_long, 3, 32, 16, 8, 2, 2, 1, 3, 0, kElements, kStructured, Sums)          \
  X(product3_small_longest, 3, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Sums)      \
  X(witness3_middle_short, 3, 32, 64, 8, 4, 4, 1, 3, 1, kChunks, kStructured, Witnesses)     \
  X(witness3_small_longest, 3, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Witnesses) \
  X(product4_few, 4, 32, 32, 1, 4, 1, 1, 1, 0, kElements, kStructured, ScalarTile)           \
  X(product4_bests, 4, 32, 64, 8, 4, 4, 1, 3, 0, kChunks, kAll, SkippingTile)                \
  X(product4_middle_short, 4, 32, 64, 8, 4, 4, 1, 3, 2, kChunks, kAll, Sums)                 \
  X(product4_middle_structured, 4, 32, 64, 8, 4, 4, 1, 3, 1, kChunks, kStructured, Sums)     \
  X(product4_middle_long, 4, 32, 64, 8, 4, 4, 1, 3, 0, kChunks, kStructured, Sums)           \
  X(product4_small_short, 4, 32, 16, 8, 4, 4, 1, 3, 1, kElements, kAll, Sums)                \
  X(product4_small_long, 4, 32, 16, 8, 2, 2, 1, 3, 0, kElements, kStructured, Sums)          \
  X(product4_small_longest, 4, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Sums)      \
  X(witness4_middle_short, 4, 32, 64, 8, 4, 4, 1, 3, 1, kChunks, kStructured, Witnesses)     \
  X(witness4_small_longest, 4, 16, 16, 16, 1, 1, 1, 3, 0, kElements, kStructured, Witnesses)
