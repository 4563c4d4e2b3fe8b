/** Measures which products WebGPU computes in less time than the CPU. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { signal, throwIfAborted } from '../abort.js'
import { FileError } from '../errors.js'
import { writeText } from '../files/text-file.js'
import { addon } from '../native.js'
import { listener, Options, type OptionsOf } from '../options.js'
import { measureProduct } from '../product/multiply.js'
import { measureKind, nameOfKind, type ProductKind } from '../webgpu/choice.js'
import { assertGpu, gpuName, lookForGpu } from '../webgpu/look.js'
import { choicesPath, type MeasuredChoice, readChoices } from '../webgpu/stored-choices.js'

export type { MeasuredChoice } from '../webgpu/stored-choices.js'

/** Options of {@link tuneWebGpu}. */
export interface TuneWebGpuOptions {
  /** Aborts the call with ERR_MPMML_ABORTED. */
  signal?: AbortSignal | undefined
  /** Is called before each kind of products is measured. */
  onProgress?: ((next: { kind: string; done: number; measured: number; total: number }) => void) | undefined
}

const tuneOptions = new Options({
  signal,
  onProgress: listener<Parameters<NonNullable<TuneWebGpuOptions['onProgress']>>[0]>(),
} satisfies OptionsOf<TuneWebGpuOptions>)

/**
 * Sides of the timed products: from the minimum size for which `auto` uses WebGPU to the largest size that is
 * timed.
 */
const SIDES = [512, 640, 812, 1024]

/** Returns the kinds that `auto` may give to WebGPU: all semirings and types that it computes, and witnesses except those of uint8. */
export function kindsToTune(): ProductKind[] {
  const pairs = new Map(
    addon.variants
      .filter(({ backend }) => backend === 'webgpu')
      .map(({ semiring, dtype }) => [`${semiring} ${dtype}`, { semiring, dtype }]),
  )
  return [...pairs.values()].flatMap((pair) =>
    [false, true]
      .filter((witness) => !(witness && pair.dtype === 'uint8'))
      .flatMap((witness) => SIDES.map((side) => ({ ...pair, witness, m: side, n: side, k: side }))),
  )
}

/**
 * Times products by WebGPU and on the CPU, from arrays to arrays, and stores the times in the user's cache
 * folder. `auto` chooses by these times in later processes. Without stored times a process times each kind of
 * products on first use.
 *
 * @throws Rejects with ERR_MPMML_NO_WEBGPU if WebGPU can't be used, ERR_MPMML_ABORTED (then nothing is stored), ERR_MPMML_FILE if the file
 *   can't be written or there is no folder for it, and what {@link mpmm} rejects with.
 * @example
 * await tuneWebGpu({ signal: AbortSignal.abort() }).catch(({ code }) => console.log(code)) // ERR_MPMML_ABORTED
 */
export async function tuneWebGpu(
  options?: TuneWebGpuOptions,
): Promise<{ path: string; gpu: string; choices: MeasuredChoice[] }> {
  const { signal, onProgress } = tuneOptions.read(options)
  const path = choicesPath()
  if (path === null) {
    throw new FileError(
      'there is no folder for the choices, because the user has no home folder: set HOME, or XDG_CACHE_HOME',
    )
  }
  throwIfAborted(signal, 'tuning')
  await assertGpu()
  const gpu = gpuName(await lookForGpu())
  const all = kindsToTune()
  const choices: MeasuredChoice[] = []
  for (const kind of all) {
    throwIfAborted(signal, 'tuning')
    const { length: measured } = choices
    onProgress?.({ kind: nameOfKind(kind), done: measured / all.length, measured, total: all.length })
    choices.push(await measureKind(kind, measureProduct))
  }
  const stored = readChoices()
  stored.gpus[gpu] = choices
  await mkdir(dirname(path), { recursive: true })
  await writeText(path, `${JSON.stringify(stored, null, 1)}\n`)
  return { path, gpu, choices }
}
