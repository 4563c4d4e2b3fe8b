/** Loops whose end is guaranteed by a property of graphs, in calls that violate the property. */
import { describe, expect, it } from 'vitest'
import { criticalCycle } from '../../lib/algebra/critical.js'

describe('a cap', () => {
  it('ends the search for a critical cycle through an edge that is on none', () => {
    const rows = { start: Int32Array.of(0, 1, 1), to: Int32Array.of(1), edge: Int32Array.of(0) }
    expect(() => criticalCycle({ rows } as never, 0)).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_LIMIT' }),
    )
  })
})
