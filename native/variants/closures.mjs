// The kernels that pass pivots on a GPU (native/cuda/kernels/closure.cuh). They aren't variants of products.
//
// The rows are in order of preference: a session takes the first one that can do what is asked.

import { semiringTypes } from './rows.mjs'

/**
 * The most pivots, and how many other nodes a block of threads improves. With 0 all nodes must be pivots. Elements of 64
 * bits have fewer others, because otherwise the kernel spills.
 */
const rows = [
  { pivots: 32, others: 0 },
  { pivots: 64, others: 0 },
  { pivots: 64, others: 64, maxBytes: 4 },
  { pivots: 64, others: 32, minBytes: 8 },
]

/** All kernels: each row for each semiring and type. */
export const closures = semiringTypes()
  .filter(({ semiring }) => semiring.idempotent !== false)
  .flatMap(({ semiring, dataType }) =>
    rows
      .filter(({ minBytes = 0, maxBytes = 8 }) => dataType.bytes >= minBytes && dataType.bytes <= maxBytes)
      .map(({ pivots, others }) => ({
        semiring,
        dataType,
        template: `ClosureConfig<${pivots}, ${others}>`,
        name: `closure_${semiring.name.replaceAll('-', '')}_${dataType.short}_${pivots}x${others}`,
      })),
  )
