/** The sweep over all kernels of the thesis: its text, and its section of the report. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { kernelSweeps } from '../../bench/lab/kernel-sweeps.js'
import { Data } from '../../bench/report/data.js'
import { reportPage } from '../../bench/report/page.js'
import { type KernelPoint, newResults, type Results, readResults } from '../../lib/lab.js'
import { kernelPoint } from '../support/made-up.js'

const { space } = kernelSweeps

/** Returns a point with a speed of `gops`, named like the variant with these parameters. */
function point(gops: number, changed: Record<string, number> = {}): KernelPoint {
  const p = {
    X: 8,
    Y: 8,
    BS_i: 16,
    BS_j: 16,
    S: 16,
    MEMSEL_A: 0,
    MEMSEL_B: 0,
    Sub_X: 4,
    Sub_Y: 4,
    Transpose: 0,
    m: 8192,
    n: 8192,
    k: 8192,
    batch: 1,
    ...changed,
  }
  const name = `mpmml_maxplus_i32_${p.X}x${p.Y}_${p.BS_i}x${p.BS_j}_s${p.S}_case${p.MEMSEL_A}${p.MEMSEL_B}_sub${p.Sub_X}x${p.Sub_Y}${p.Transpose ? '_at' : ''}`
  return kernelPoint('space', name, p, { gops })
}
const points = [
  point(26800),
  point(28200, { BS_j: 8, S: 32 }),
  point(27800, { BS_j: 8 }),
  point(15300, { MEMSEL_B: 1 }),
  point(26700, { Sub_X: 8, Sub_Y: 8 }),
  point(26600, { Sub_X: 1, Sub_Y: 1 }),
  point(27100, { Transpose: 1 }),
  // This kernel has one patch along X, and two patches along Y.
  point(26750, { X: 4, Y: 8 }),
  // A smaller product is ignored.
  point(29000, { m: 1024, n: 1024, k: 1024 }),
]
const best = 'mpmml_maxplus_i32_8x8_16x8_s32_case00_sub4x4'

describe('sweep space', () => {
  it("prints the best kernel of the largest size next to the thesis' result", () => {
    const text = space.describe!(points)
    expect(text).toMatch(new RegExp(`^best +28\\.2 TOPS at 8K: ${best}$`, 'm'))
    expect(text).toMatch(/^the thesis +3065 to 3631 GOPS on GTX 980/m)
    // The text lists the greatest speed of each value, starting with the best value.
    expect(text).toMatch(/^case +00: 28\.2 TOPS, 01: 15\.3 TOPS +00 is clearly the fastest/m)
    expect(text).toMatch(
      /^pattern +block-cyclic: 28\.2 TOPS, block: 26\.7 TOPS, cyclic: 26\.6 TOPS +very close/m,
    )
    expect(text).toMatch(/^A +as it is: 28\.2 TOPS, transposed: 27\.1 TOPS +significantly slower/m)
    expect(text).toMatch(/^BS_i×BS_j +16×8: 28\.2 TOPS, 16×16: 27\.1 TOPS/m)
    expect(text).toMatch(/^S +32: 28\.2 TOPS, 16: 27\.8 TOPS/m)
    // The kernels are sorted by speed, the fastest one first.
    const order = [...text.matchAll(/mpmml_maxplus_i32_\S+$/gm)].map(([name]) => name)
    expect(order[0]).toBe(best)
    // The text names each point once, and the best point also in its first lines.
    expect(order).toHaveLength(points.length + 1)
  })

  it('keeps kernels that could not run, with the reason', () => {
    const { result: _, ...refused } = point(0, { BS_i: 32, BS_j: 32 })
    const text = space.describe!([...points, { ...refused, failure: 'too many registers' }])
    expect(text).toContain(`${refused.name}: too many registers`)
    expect(text).toMatch(/^best +28\.2 TOPS/m)
    expect(space.describe!([{ ...refused, failure: 'too many registers' }])).toContain('too many registers')
  })

  it('measures products of 8192³ unless sizes are named', () => {
    expect(space.sizes).toEqual([8192])
  })
})

describe('the section of the report', () => {
  let machine: Results['machine']
  beforeAll(async () => {
    const file = fileURLToPath(new URL('../cli/fixtures/h200.json', import.meta.url))
    machine = (await readResults(file)).machine
  })

  it('draws a bar for each kernel, and is left out if nothing was measured', () => {
    const { page, claims } = reportPage({ ...newResults(machine), points })
    expect(page).toContain('<section id="all-kernels-of-the-thesis"')
    for (const { name } of points.slice(0, 8)) expect(page).toContain(name.replace('mpmml_maxplus_i32_', ''))
    expect(page).toContain('3065 to 3631 GOPS')
    expect(claims.find(({ id }) => id === 'large')!.measured).toContain(best)
    expect(reportPage({ ...newResults(machine), points: [] }).page).not.toContain('all-kernels-of-the-thesis')
  })

  it('takes the best kernel as that of the family', () => {
    const data = new Data({ ...newResults(machine), points })
    expect(data.fastestKernel(4096)!.name).toBe(best)
  })
})
