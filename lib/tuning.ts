/**
 * Measured choices of kernels: the fastest variant for products of given sizes on a GPU model. The package
 * contains some choices, and {@link tune} stores others in the user's cache folder. Without a measured
 * choice, the planner estimates.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownCacheFolder } from './environment.js'
import { systemReason } from './files/files.js'
import { addon, type NativeVariant, root } from './native.js'

/** One measured choice. */
export interface TunedChoice {
  /** Rows of A and C. The choice applies to products of similar sizes. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** The number of products. */
  batch: number
  /** Cheapest exact arithmetic path of the measured values. */
  path: string
  /** The name of the fastest variant. */
  variant: string
  /** 10^9 operations per second, packing included. */
  gops: number
}

/** Measurements of a GPU model. */
export interface GpuTuning {
  /** Time of the measurement, ISO 8601, and version of the library. */
  measured: string
  /** The version of CUDA that the driver supports. */
  driver: string
  /** The version of the toolkit that built the library. */
  toolkit: string
  /** The version of the library. */
  mpmml: string
  /** Choices by shape and kind of values. */
  choices: TunedChoice[]
}

/** The content of a file of choices, by the names of the GPU models. */
export interface TuningFile {
  /** The version of the format. */
  format: 1
  /** Measurements by the names of the GPU models. */
  gpus: Record<string, GpuTuning>
}

/** Returns the path of the user's choices; null if no cache folder exists. */
export function tuningPath(): string | null {
  const folder = ownCacheFolder()
  return folder && join(folder, 'tuning.json')
}

/** Path of the choices in the package; '' in a bundle, which doesn't contain the file. */
const shippedPath = root && join(root, 'native', 'variants', 'tuning.json')

function isChoice(value: unknown): value is TunedChoice {
  const { m, n, k, batch, path, variant, gops } = (value ?? {}) as Record<string, unknown>
  return (
    [m, n, k, batch].every((size) => Number.isSafeInteger(size) && (size as number) > 0) &&
    [path, variant].every((name) => typeof name === 'string') &&
    typeof gops === 'number'
  )
}

/** Reads a file of choices; null if it doesn't exist. Throws Error if it is no such file. */
export function readTuning(path: string): TuningFile | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(systemReason(error))
  }
  const file = JSON.parse(text) as TuningFile | null
  if (file?.format !== 1 || typeof file.gpus !== 'object' || file.gpus === null) {
    throw new Error('it is not of format 1')
  }
  for (const [name, gpu] of Object.entries(file.gpus)) {
    if (!Array.isArray(gpu?.choices) || !gpu.choices.every(isChoice)) {
      throw new Error(`its choices for ${name} are malformed`)
    }
  }
  return file
}

/** Key of variants that differ only in the semiring and therefore take the same time. */
const likeness = ({ family, dtype, parameters }: NativeVariant) => JSON.stringify([family, dtype, parameters])

/**
 * Passes the choices for a GPU model to native code. Choices of variants that this build lacks are skipped.
 */
function applyTuning(gpu: string, choices: readonly TunedChoice[]): void {
  const alike = new Map<string, number[]>()
  addon.variants.forEach((variant, index) => {
    if (!variant.automatic) return
    const key = likeness(variant)
    alike.set(key, [...(alike.get(key) ?? []), index])
  })
  addon.setMeasuredChoices(
    gpu,
    choices.flatMap(({ m, n, k, batch, path, variant: name }) => {
      const variant = addon.variants.find((row) => row.name === name && row.automatic)
      const pathIndex = addon.paths.indexOf(path)
      if (!variant || pathIndex < 0) return []
      return alike
        .get(likeness(variant))!
        .map((index) => ({ variant: index, path: pathIndex, m, n, k, batch }))
    }),
  )
}

let loaded = false

/**
 * Loads the choices for all GPU models, once. Native code detects the GPU models of this machine when a
 * product runs, because the query takes CUDA hundreds of milliseconds and would block JavaScript's thread
 * here. Warns if the user's file can't be read.
 */
export function loadTuning(): void {
  if (loaded) return
  loaded = true
  const shipped = shippedPath ? readTuning(shippedPath) : null
  const path = tuningPath()
  let own: TuningFile | null = null
  try {
    own = path === null ? null : readTuning(path)
  } catch (error) {
    process.emitWarning(`${path} is ignored: ${(error as Error).message}. npx mpmml tune replaces it`, {
      code: 'MPMML_TUNING',
    })
  }
  for (const gpu of new Set([shipped, own].flatMap((file) => Object.keys(file?.gpus ?? {})))) {
    applyTuning(
      gpu,
      [shipped, own].flatMap((file) => file?.gpus[gpu]?.choices ?? []),
    )
  }
}

/** Loads the choices again, for the products that follow. */
export function reloadTuning(): void {
  loaded = false
  loadTuning()
}
