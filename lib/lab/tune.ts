/** Measures which variants the planner should choose on this GPU. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { signal, throwIfAborted } from '../abort.js'
import { semiringName } from '../built-in-semirings.js'
import { show } from '../describe.js'
import { FileError, OptionError, VariantError } from '../errors.js'
import { writeText } from '../files/text-file.js'
import type { LabLaunches } from '../native.js'
import { listener, Options, type OptionsOf, required } from '../options.js'
import { readTuning, reloadTuning, type TunedChoice, type TuningFile, tuningPath } from '../tuning.js'
import type { Semiring, VariantName } from '../variant-names.js'
import { variants } from '../variants.js'
import { type Measurement, measure } from './kernels.js'
import { machine } from './machine.js'
import { deviceOrFirst, repetitions } from './options.js'

export type { GpuTuning, TunedChoice, TuningFile } from '../tuning.js'

/** Sizes of a product: C is M × N, A is M × K, B is K × N. */
export interface TuneShape {
  /** Rows of A and C. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** The number of products; 1 by default. */
  batch?: number | undefined
}

/** Options of the measurement. */
export interface TuneOptions extends Pick<LabLaunches, 'repetitions' | 'device'> {
  /** The sizes to measure. */
  shapes: readonly TuneShape[]
  /**
   * Semiring whose variants are measured, 'max-plus' by default. Variants of other semirings take equal time.
   */
  semiring?: Semiring | undefined
  /** Aborts the call with ERR_MPMML_ABORTED. */
  signal?: AbortSignal | undefined
  /** Is called before each measurement: `done` is the share of all `total` measurements that are `measured`. */
  onProgress?:
    | ((next: {
        shape: TuneShape
        variant: VariantName
        done: number
        measured: number
        total: number
      }) => void)
    | undefined
}

const tuneOptions = new Options({
  shapes: required(readShapes),
  semiring: semiringName,
  device: deviceOrFirst,
  repetitions,
  signal,
  onProgress: listener<Parameters<NonNullable<TuneOptions['onProgress']>>[0]>(),
} satisfies OptionsOf<TuneOptions>)

function readShapes(value: unknown, name: string): readonly TuneShape[] {
  if (Array.isArray(value)) return value
  throw new OptionError(`option ${name} must be a list of { m, n, k }, but it is ${show(value)}`)
}

/** Kinds of operand values, by the cheapest exact path of the kernels: sums in 16 bits, and in 32 bits. */
const kinds = [
  { path: 'half', minimum: -8000, maximum: 8000 },
  { path: 'direct', minimum: -300_000_000, maximum: 300_000_000 },
]

/**
 * Measures the variants that the planner may choose, for each shape and for values with 16-bit and larger
 * ranges. The fastest variants are stored in the user's cache folder, and the planner uses them from now on.
 * Choices of earlier calls for other shapes stay.
 *
 * @throws Rejects with ERR_MPMML_NO_CUDA if no GPU can be used, ERR_MPMML_ABORTED (then nothing is stored),
 *   ERR_MPMML_OUT_OF_MEMORY, ERR_MPMML_FILE if the file can't be written or there is no folder for it, ERR_MPMML_CUDA.
 * @example
 * const { shapes } = await tune({ shapes: [{ m: 1024, n: 1024, k: 1024 }] })
 * console.log(shapes[0].times[0].variant === shapes[0].choice.variant) // true
 */
export async function tune(options: TuneOptions): Promise<{
  /** The file of the choices. */
  path: string
  /** Measurement of each shape and kind of values. */
  shapes: {
    /** Choice that later plans use. */
    choice: TunedChoice
    /** All measured variants, fastest first. */
    times: {
      /** The variant. */
      variant: VariantName
      /** The median of kernel and packing together, milliseconds. */
      ms: number
    }[]
  }[]
}> {
  const {
    shapes,
    semiring = 'max-plus',
    device,
    repetitions = 5,
    signal,
    onProgress,
  } = tuneOptions.read(options)
  const { gpu, driver, toolkit, mpmml } = machine(device)
  const file = tuningPath()
  if (file === null) {
    throw new FileError(
      'there is no folder for the choices, because the user has no home folder: set HOME, or XDG_CACHE_HOME',
    )
  }
  const candidates = variants().filter(
    (row) => row.backend === 'cuda' && row.automatic && row.semiring === semiring && row.dtype === 'int32',
  )
  const total = shapes.length * kinds.length * candidates.length
  const tuned: ReturnType<typeof fastest>[] = []
  let count = 0
  for (const shape of shapes) {
    for (const { path, minimum, maximum } of kinds) {
      const measured: Measurement[] = []
      for (const { name } of candidates) {
        throwIfAborted(signal, 'tuning')
        onProgress?.({ shape, variant: name, done: count / total, measured: count++, total })
        try {
          measured.push(await measure(name, { ...shape, device, repetitions, minimum, maximum }))
        } catch (error) {
          // A VariantError means that the variant doesn't support these values or this device.
          if (!(error instanceof VariantError)) throw error
        }
      }
      if (measured.length > 0) tuned.push(fastest(shape, path, measured))
    }
  }
  const stored: TuningFile = storedIn(file)
  const name = String(gpu.name)
  const fresh = tuned.map(({ choice }) => choice)
  const retained = (stored.gpus[name]?.choices ?? []).filter(
    (old) => !fresh.some((one) => sameProduct(one, old)),
  )
  stored.gpus[name] = {
    measured: new Date().toISOString(),
    driver,
    toolkit,
    mpmml,
    choices: [...retained, ...fresh],
  }
  await mkdir(dirname(file), { recursive: true })
  await writeText(file, textOf(stored))
  reloadTuning()
  return { path: file, shapes: tuned }
}

/** Returns the content of a tuning file; an empty one for other files. */
function storedIn(path: string): TuningFile {
  try {
    return readTuning(path) ?? { format: 1, gpus: {} }
  } catch {
    return { format: 1, gpus: {} }
  }
}

/** Formats the file as JSON with a line for each choice. */
function textOf(file: TuningFile): string {
  const choice = /\{\s*"m":[^}]*\}/g
  return `${JSON.stringify(file, null, 1).replace(choice, (text) => JSON.stringify(JSON.parse(text)))}\n`
}

function sameProduct(one: TunedChoice, other: TunedChoice): boolean {
  const key = ({ m, n, k, batch, path }: TunedChoice) => [m, n, k, batch, path].join()
  return key(one) === key(other)
}

function fastest({ m, n, k, batch = 1 }: TuneShape, path: string, measured: Measurement[]) {
  const times = measured
    .map(({ variant, kernelMs, prepareMs }) => ({ variant, ms: kernelMs.median + prepareMs.median }))
    .sort((one, other) => one.ms - other.ms)
  const { variant, ms } = times[0]!
  const gops = Math.round((2 * batch * m * n * k) / ms / 1e6)
  return { choice: { m, n, k, batch, path, variant, gops }, times }
}
