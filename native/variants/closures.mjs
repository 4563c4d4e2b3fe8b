// The kernels that process pivots of closures on a GPU (native/cuda/kernels/closure.cuh). They aren't
// variants of products.
//
// The rows are in order of preference: a session selects the first one that supports the request.

import { semiringTypes } from './rows.mjs'

/**
 * Maximum number of pivots, and number of other nodes that a thread block relaxes. With 0, all nodes must be
 * pivots. 64-bit elements have fewer other nodes, because more would spill registers.
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
