/** Loops that end by an argument about graphs, called where the argument doesn't hold. */
import { describe, expect, it } from 'vitest'
import { criticalCycle } from '../../lib/algebra/critical.js'

describe('a cap', () => {
  it('ends the search for a critical cycle through a place that is on none', () => {
    const rows = { start: Int32Array.of(0, 1, 1), to: Int32Array.of(1), edge: Int32Array.of(0) }
    expect(() => criticalCycle({ rows } as never, 0)).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_LIMIT' }),
    )
  })
})
