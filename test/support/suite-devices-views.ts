/** Parts and transposes of matrices on a device. */
import { expect, it } from 'vitest'
import { type Device, mpmm } from '../../lib/index.js'
import { expectThrown } from './expect.js'
import { randomMatrix } from './generators.js'
import { expectMatrix } from './resident.js'

export function views(open: () => Device): void {
  const source = randomMatrix(20, 30, 3)
  const part = (rows: [number, number], cols: [number, number]) => ({
    data: source.data,
    shape: [rows[1] - rows[0], cols[1] - cols[0]],
    strides: [30, 1],
    offset: rows[0] * 30 + cols[0],
  })

  it('are parts, and parts of parts, and transposes', async () => {
    const whole = await open().upload(source)
    expectMatrix(await whole.view().download(), source)
    const middle = whole.view({ rows: [3, 15], cols: [4, 28] })
    expect(middle.shape).toEqual([12, 24])
    expectMatrix(await middle.download(), part([3, 15], [4, 28]))
    const inner = middle.view({ cols: [5, 6] })
    expectMatrix(await inner.download(), part([3, 15], [9, 10]))
    const transposed = middle.transpose()
    expect(transposed.shape).toEqual([24, 12])
    expectMatrix(await transposed.download(), {
      ...part([3, 15], [4, 28]),
      shape: [24, 12],
      strides: [1, 30],
    })
    expectMatrix(await transposed.transpose().download(), part([3, 15], [4, 28]))
    const corner = transposed.view({ rows: [0, 2], cols: [10, 12] })
    expectMatrix(await corner.download(), { ...part([13, 15], [4, 6]), strides: [1, 30] })
    expectMatrix(await whole.view({ rows: [19, 20] }).download(), part([19, 20], [0, 30]))
    expect((await whole.view({ rows: [7, 7] }).download()).shape).toEqual([0, 30])
    expect(
      (
        await whole
          .view({ rows: [20, 20], cols: [30, 30] })
          .transpose()
          .download()
      ).shape,
    ).toEqual([0, 0])
  })

  it('may be of batches: one matrix, or a part of each', async () => {
    const { data } = randomMatrix(24, 5, 4)
    const batch = await open().upload({ data, shape: [4, 6, 5] })
    const one = batch.view({ batch: 2 })
    expect(one.shape).toEqual([6, 5])
    expectMatrix(await one.download(), { data, shape: [6, 5], offset: 60 })
    const parts = batch.view({ rows: [1, 3], cols: [2, 5] })
    expect(parts.shape).toEqual([4, 2, 3])
    expectMatrix(await parts.download(), { data, shape: [4, 2, 3], strides: [30, 5, 1], offset: 7 })
    const transposed = batch.transpose()
    expectMatrix(await transposed.download(), { data, shape: [4, 5, 6], strides: [30, 1, 5] })
    expectMatrix(await transposed.view({ batch: 3, rows: [4, 5] }).download(), {
      data,
      shape: [1, 6],
      strides: [1, 5],
      offset: 94,
    })
    const single = await open().upload({ data, shape: [1, 6, 5] })
    expect(single.view().shape).toEqual([1, 6, 5])
    expect(single.view({ batch: 0 }).shape).toEqual([6, 5])
  })

  it('share memory: writes into one appear in the other', async () => {
    const whole = await open().full([4, 4], 0)
    const [one, zero] = [await open().full([2, 2], 1), await open().full([2, 2], 0)]
    await mpmm(one, zero, { out: whole.view({ rows: [1, 3], cols: [2, 4] }) })
    expect([...(await whole.download()).data]).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0])
  })

  it('reject parts outside of the matrix', async () => {
    const whole = await open().upload(source)
    const view = whole.view.bind(whole) as (part: unknown) => unknown
    const refused = (value: unknown, code: string, ...patterns: (string | RegExp)[]) =>
      expectThrown(() => view(value), code, ...patterns)
    for (const rows of [[-1, 5], [5, 4], [0, 21], [0.5, 2], [0], [0, 1, 2], ['0', 1], 5, null, 'all']) {
      refused({ rows }, 'SHAPE', /^rows must be \[from, to\]/, '20')
    }
    refused({ cols: [0, 31] }, 'SHAPE', /^cols/, '30', /\[0, 31\]/)
    refused({ batch: 0 }, 'SHAPE', /^batch/, "isn't a batch")
    refused({ row: [0, 1] }, 'OPTION', "'row'", "'rows', 'cols' or 'batch'")
    refused(5, 'OPTION', '5')
    const batch = await open().full([3, 2, 2], 0)
    for (const index of [-1, 3, 1.5, '0', null, Number.NaN]) {
      expectThrown(() => batch.view({ batch: index as number }), 'SHAPE', /^batch must be the index/, '3')
    }
  })
}
