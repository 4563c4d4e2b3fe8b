/** Invalid calls, each with its expected error code. */
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type ErrorCode,
  explainBackend,
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmGrouped,
} from '../../lib/index.js'

/** Devices that calls use. */
export interface OperandPlacements {
  device: Device
  /** Second open device. A call can't combine matrices of two devices. */
  elsewhere: Device
}

export interface InvalidCall {
  name: string
  code: ErrorCode
  /** Makes the call, which must be rejected. */
  make(placements: OperandPlacements): Promise<unknown>
}

/** mpmm without type checks of its arguments. */
const multiply = mpmm as unknown as (a: unknown, b: unknown, options?: object) => Promise<unknown>

const ints = (rows: number, cols: number, value = 1): DenseMatrix =>
  matrix(rows, cols, new Int32Array(rows * cols).fill(value))
const floats = (rows: number, cols: number, value = 1) =>
  matrix(rows, cols, new Float32Array(rows * cols).fill(value))
const HIGHEST = 2 ** 31 - 1

/** Uploads matrices, and disposes them after `use`. */
async function withUploaded(
  placements: OperandPlacements,
  sources: DenseMatrix[],
  use: (matrices: DeviceMatrix[]) => Promise<unknown>,
): Promise<void> {
  const matrices = await Promise.all(sources.map((source) => placements.device.upload(source)))
  try {
    await use(matrices)
  } finally {
    for (const one of matrices) one.dispose()
  }
}

/** Awaits a product. Throws an error if the product fails after changing `out`. */
async function keeping(out: DenseMatrix, running: Promise<unknown>): Promise<void> {
  const before = out.data.slice()
  try {
    await running
  } catch (error) {
    if (out.data.every((value, index) => value === before[index])) throw error
    throw new Error('out has changed, although the product failed', { cause: error })
  }
}

/** Requests of CUDA; empty if CUDA is usable, because these requests are valid then. */
const withoutCuda: Record<string, () => Promise<unknown>> =
  explainBackend().backend === 'cuda'
    ? {}
    : { 'a GPU that is not there': () => multiply(ints(3, 4), ints(4, 5), { backend: 'cuda' }) }

type Make = (placements: OperandPlacements) => Promise<unknown>

const byCode: Partial<Record<ErrorCode, Record<string, Make>>> = {
  ERR_MPMML_SHAPE: {
    'inner sizes that differ': () => multiply(ints(3, 4), ints(5, 6)),
    'an array that is too short': () => multiply({ data: new Int32Array(11), shape: [3, 4] }, ints(4, 2)),
    'a size that is no integer': () => multiply({ data: new Int32Array(9), shape: [3, 1.5] }, ints(4, 2)),
    'out of another shape': () => multiply(ints(3, 4), ints(4, 5), { out: ints(3, 6) }),
    'out that is an operand': () => {
      const a = ints(4, 4)
      return multiply(a, ints(4, 4), { out: a })
    },
    'batches of different sizes': () => multiply(matrix([2, 3, 4]), matrix([3, 4, 5])),
    'inner sizes that differ on a device': (placements) =>
      withUploaded(placements, [ints(3, 4), ints(5, 6)], ([a, b]) => multiply(a, b)),
    'a part that is not inside': (placements) =>
      withUploaded(placements, [ints(3, 4)], async ([a]) => a!.view({ rows: [1, 5] })),
    'out that overlaps an operand on a device': (placements) =>
      withUploaded(placements, [ints(6, 4)], async ([a]) => {
        const [upper, lower] = [a!.view({ rows: [0, 4] }), a!.view({ rows: [2, 6] })]
        try {
          await multiply(upper, ints(4, 4), { out: lower })
        } finally {
          upper.dispose()
          lower.dispose()
        }
      }),
    'a group with a product that is wrong': () =>
      mpmmGrouped([
        { a: ints(3, 4), b: ints(4, 5) },
        { a: ints(3, 4), b: ints(5, 4) },
      ]),
  },
  ERR_MPMML_DTYPE: {
    'two element types': () => multiply(ints(3, 4), floats(4, 5)),
    'data that is no typed array': () => multiply({ data: [1, 2], shape: [1, 2] }, ints(2, 1)),
    'an operand that is null': () => multiply(null, ints(2, 1)),
    'data that was transferred away': () => {
      const a = ints(3, 3)
      structuredClone(a.data, { transfer: [a.data.buffer as ArrayBuffer] })
      return multiply(a, ints(3, 3))
    },
    'a semiring without the element type': () => multiply(ints(3, 4), ints(4, 5), { semiring: 'or-and' }),
  },
  ERR_MPMML_OPTION: {
    'an option that does not exist': () => multiply(ints(3, 4), ints(4, 5), { semirng: 'max-plus' }),
    'a semiring that does not exist': () => multiply(ints(3, 4), ints(4, 5), { semiring: 'max-max' }),
    'an overflow policy for floats': () => multiply(floats(3, 4), floats(4, 5), { overflow: 'wrap' }),
    'a backend that the matrices are not on': (placements) =>
      withUploaded(placements, [ints(3, 3)], ([a]) =>
        multiply(a, a, { backend: placements.device.backend === 'cpu' ? 'cuda' : 'cpu' }),
      ),
    'a device that does not exist': () => multiply(ints(3, 4), ints(4, 5), { device: -1 }),
  },
  ERR_MPMML_VARIANT: {
    'a variant that does not exist': () => multiply(ints(3, 4), ints(4, 5), { variant: 'quick' }),
  },
  ERR_MPMML_OVERFLOW: {
    'a sum that overflows': ({ device }) => {
      const out = ints(20, 20, 77)
      const where: MpmmOptions = { backend: device.backend, device: device.index }
      return keeping(out, multiply(ints(20, 20, HIGHEST), ints(20, 20), { ...where, out }))
    },
    'a sum that overflows on a device, and what depends on it': (placements) =>
      withUploaded(
        placements,
        [ints(20, 20, HIGHEST), ints(20, 20), ints(20, 20, 77)],
        async ([a, b, out]) => {
          const [first, second] = [multiply(a, b, { out }), multiply(out, b)]
          const ends = await Promise.allSettled([first, second])
          if (ends[1]!.status === 'fulfilled') throw new Error('a product of a result that failed succeeded')
          if ((await out!.download()).data.some((value) => value !== 77)) {
            throw new Error('out has changed, although the product failed')
          }
          await first
        },
      ),
    'a group with a sum that overflows': (placements) =>
      withUploaded(placements, [ints(9, 9), ints(9, 9, HIGHEST)], ([a, b]) =>
        mpmmGrouped([
          { a: a!, b: a! },
          { a: a!, b: b! },
        ]),
      ),
  },
  ERR_MPMML_VALUE: {
    'a negative element of max-times': () =>
      multiply(floats(3, 4, -1), floats(4, 5), { semiring: 'max-times' }),
  },
  ERR_MPMML_DISPOSED: {
    'a matrix that was disposed': (placements) =>
      withUploaded(placements, [ints(3, 3)], async ([a]) => {
        a!.dispose()
        await multiply(a, ints(3, 3))
      }),
  },
  ERR_MPMML_DEVICE: {
    'matrices of two devices': (placements) =>
      withUploaded(placements, [ints(3, 3)], (mine) =>
        withUploaded({ ...placements, device: placements.elsewhere }, [ints(3, 3)], (others) =>
          multiply(mine[0], others[0]),
        ),
      ),
    'out in an array for a product on a device': (placements) =>
      withUploaded(placements, [ints(3, 3)], ([a]) => multiply(a, a, { out: ints(3, 3) })),
  },
  ERR_MPMML_NO_CUDA: withoutCuda,
}

export const invalidCalls: InvalidCall[] = Object.entries(byCode).flatMap(([code, makes]) =>
  Object.entries(makes).map(([name, make]) => ({
    name,
    code: code as ErrorCode,
    make: async (placements) => make(placements),
  })),
)
