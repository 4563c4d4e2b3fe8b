/**
 * Cycle means, eigenvectors and critical graphs in publications and in the documentation of other libraries.
 */
import { describe, expect, it } from 'vitest'
import { cycleTimes, eigenvectors, maximumCycleMean, minimumCycleMean } from '../../lib/algebra.js'
import { int32, none, type Rows } from '../support/cycle-means.js'

describe('published examples', () => {
  const book: Rows = [
    [3, 7],
    [2, 4],
  ]
  it('include F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity: [3 7; 2 4] has the eigenvalue 4.5 and the eigenvector (2.5, 0)', async () => {
    const { eigenvalue, vectors } = (await eigenvectors(int32(book)))!
    expect(eigenvalue).toMatchObject({ numerator: 9, denominator: 2, value: 4.5, cycle: [0, 1] })
    expect(vectors.length).toBe(1)
    expect(vectors[0]!.values[0]! - vectors[0]!.values[1]!).toBe(2.5)
  })

  it('include the MaxPlus.jl documentation: A*A*A of A = [4 3; 7 ε] is [14 13; 17 14], whose eigenvalue is three times that of A', async () => {
    const a: Rows = [
      [4, 3],
      [7, none],
    ]
    expect(await maximumCycleMean(int32(a))).toMatchObject({ numerator: 5, denominator: 1, cycle: [0, 1] })
    const power3: Rows = [
      [14, 13],
      [17, 14],
    ]
    expect(await maximumCycleMean(int32(power3))).toMatchObject({ numerator: 15, denominator: 1 })
  })

  // mpeigen(S) returns λ and v; v is an eigenvector of each block.
  it.each<[Rows, number[], number[]]>([
    [
      [
        [1, 2],
        [3, 4],
      ],
      [4, 4],
      [2, 4],
    ],
    [
      [
        [none, 2, none],
        [0, none, none],
        [none, none, 2],
      ],
      [1, 1, 2],
      [1, 0, 2],
    ],
    [
      [
        [1, 1],
        [none, 2],
      ],
      [2, 2],
      [1, 2],
    ],
    [
      [
        [3, 7],
        [2, none],
      ],
      [4.5, 4.5],
      [4.5, 2],
    ],
    [
      [
        [3, none],
        [2, 4],
      ],
      [3, 4],
      [3, 4],
    ],
  ])('include test/test_howard.jl of MaxPlus.jl: mpeigen(%j) is %j, %j', async (rows, lambda, v) => {
    expect([...(await cycleTimes(int32(rows))).values]).toEqual(lambda)
    // MaxPlus.jl returns one vector. Its entries for nodes with the greatest cycle time are an eigenvector of
    // A.
    const { eigenvalue, vectors } = (await eigenvectors(int32(rows)))!
    expect(eigenvalue.value).toBe(Math.max(...lambda))
    const support = lambda.flatMap((value, i) => (value === eigenvalue.value ? [i] : []))
    const { values } = vectors[0]!
    for (const i of support) expect(values[i]! - values[support[0]!]!).toBe(v[i]! - v[support[0]!]!)
  })

  it('include howard of ScicosLab: [2 1; ε 0] has the eigenvalue 2 with the eigenvector (v(1), ε)', async () => {
    const { eigenvalue, vectors } = (await eigenvectors(
      int32([
        [2, 1],
        [none, 0],
      ]),
    ))!
    expect(eigenvalue.value).toBe(2)
    expect(vectors.map(({ values }) => [...values])).toEqual([[0, -Infinity]])
  })

  it('include extremum_cycle_mean of Sage: 3 in max-plus, 5/3 in min-plus, and the closure of the matrix minus the mean', async () => {
    const rows: Rows = [
      [-2, 1, -3],
      [3, 0, 3],
      [5, 2, 1],
    ]
    expect(await maximumCycleMean(int32(rows))).toMatchObject({ numerator: 3, denominator: 1 })
    const least: Rows = [
      [none, 1, 10, none],
      [none, none, 3, none],
      [none, none, none, 2],
      [8, 0, none, none],
    ]
    const weights = int32(least, 'min-plus')
    expect(await minimumCycleMean(weights)).toMatchObject({ numerator: 5, denominator: 3, cycle: [1, 2, 3] })
    // The columns of critical nodes in weak_transitive_closure() of the matrix minus 5/3 are eigenvectors.
    const { vectors } = (await eigenvectors(weights, { semiring: 'min-plus' }))!
    expect(vectors.map(({ node, numerators, denominator }) => [node, denominator, ...numerators])).toEqual([
      [1, 3, -2, 0, -4, -5],
    ])
  })

  it('include maxplusmaxalgol of Scilab: λ = 8 and v = (15, 15, 17, 10, 16, 13)', async () => {
    const rows: Rows = [
      [none, 3, none, none, 7, none],
      [2, none, 6, none, 7, 2],
      [none, 7, 8, 9, none, none],
      [none, none, none, 1, 2, none],
      [8, none, 7, none, none, 2],
      [0, none, none, 6, 5, none],
    ]
    const { eigenvalue, vectors } = (await eigenvectors(int32(rows)))!
    expect(eigenvalue).toMatchObject({ numerator: 8, denominator: 1, cycle: [2] })
    expect(vectors.length).toBe(1)
    expect([...vectors[0]!.values].map((value) => value + 17)).toEqual([15, 15, 17, 10, 16, 13])
    expect(
      await cycleTimes(
        int32([
          [7, none],
          [0, 3],
        ]),
      ),
    ).toMatchObject({ values: Float64Array.of(7, 7) })
    expect(
      await cycleTimes(
        int32([
          [8, none],
          [0, 11],
        ]),
      ),
    ).toMatchObject({ values: Float64Array.of(8, 11) })
  })
})
