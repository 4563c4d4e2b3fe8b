/** Closures and powers that `auto` computes by WebGPU, on an adapter that is presented as a GPU. */
import { expect, it, vi } from 'vitest'
import { power, star } from '../../lib/algebra.js'
import { matrix } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { describeUnless } from '../support/skip.js'
import { withoutWebGpu } from '../support/webgpu.js'

// `auto` and the reasons would name CUDA on a host that has it.
vi.hoisted(() => {
  process.env.MPMML_ADDON = 'cpu'
})

const state = vi.hoisted(() => ({ isFaster: true, kinds: [] as object[] }))

vi.mock('../../lib/platform.js', async (original) => ({
  ...(await original<object>()),
  exists: () => true,
}))
vi.mock('../../lib/webgpu/look.js', async (original) => {
  const actual = await original<typeof import('../../lib/webgpu/look.js')>()
  const lookForGpu = async () => {
    const { adapter, ...found } = await actual.lookForGpu()
    return { ...found, adapter: adapter && { ...adapter, isFallback: false } }
  }
  return { ...actual, lookForGpu }
})
vi.mock('../../lib/webgpu/choice.js', async (original) => ({
  ...(await original<object>()),
  takesWebGpu: async (_: string, kind: object) => {
    state.kinds.push(kind)
    return state.isFaster
  },
}))

const reason = await withoutWebGpu()

const n = 513
const NONE = 2 ** 31 - 1

describeUnless(reason, 'webgpu', () => {
  /** Weights of a directed ring: an edge of weight 1 from each node to the next one. */
  const ring = (nodes: number, weight = 1) => {
    const data = new Int32Array(nodes * nodes).fill(NONE)
    for (let i = 0; i < nodes; i++) data[i * nodes + ((i + 1) % nodes)] = weight
    return matrix(nodes, nodes, data)
  }
  const expectRing = (data: ArrayLike<number>) => {
    const wrong = Array.from(data).findIndex(
      (distance, at) => distance !== ((at % n) - Math.floor(at / n) + n) % n,
    )
    expect(wrong).toBe(-1)
  }

  it('closes a large graph on the CPU if a device of WebGPU can’t be opened', async () => {
    const short = Object.assign(new Error('simulated'), { code: 'ERR_MPMML_OUT_OF_MEMORY' })
    const opening = vi.spyOn(addon, 'openDevice').mockRejectedValueOnce(short)
    const { c, backend } = await star(ring(n), { semiring: 'min-plus' })
    expect(opening).toHaveBeenCalledTimes(2)
    opening.mockRestore()
    expect(backend).toBe('cpu')
    expectRing(c.data)
  })

  it.each([true, false])(
    'closes a large graph by the faster backend: WebGPU is faster: %s',
    async (isFaster) => {
      Object.assign(state, { isFaster, kinds: [] })
      const { c, backend } = await star(ring(n), { semiring: 'min-plus' })
      expect(backend).toBe(isFaster ? 'webgpu' : 'cpu')
      expect(state.kinds).toEqual([{ semiring: 'min-plus', dtype: 'int32', witness: false, m: n, n, k: n }])
      expectRing(c.data)
    },
  )

  it('closes small graphs, other types and weights that WebGPU refuses on the CPU', async () => {
    Object.assign(state, { isFaster: true, kinds: [] })
    expect((await star(ring(300), { semiring: 'min-plus' })).backend).toBe('cpu')
    const bytes = matrix(n, n, new Uint8Array(n * n))
    expect((await star(bytes, { semiring: 'or-and' })).backend).toBe('cpu')
    expect(state.kinds).toEqual([])
    expect((await star(ring(n, 2 ** 20), { semiring: 'min-plus' })).backend).toBe('cpu')
    expect(state.kinds).toHaveLength(1)
  })

  it('computes powers by WebGPU', async () => {
    const { c, backend } = await power(ring(n), 3, { semiring: 'min-plus' })
    expect(backend).toBe('webgpu')
    expect([c.data[3], c.data[2]]).toEqual([3, NONE])
  })
})
