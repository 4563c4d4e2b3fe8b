/** Measured choices between WebGPU and the CPU in the user's cache folder. In browsers lib/browser/webgpu/stored-choices.ts takes its place. */
import { readFileSync } from 'node:fs'
import { ownCacheFolder } from '../environment.js'
import { join } from '../platform.js'

/** Times of products of a kind on one GPU, in milliseconds. */
export type MeasuredChoice = {
  /** Semiring, type, whether there is a witness, and the steps as a power of two (choice.ts). */
  kind: string
  /** Milliseconds of a product by WebGPU, from arrays to an array. */
  webgpuMs: number
  /** Milliseconds of the product on the CPU. */
  cpuMs: number
}

/** Content of the file, by the names of GPUs. */
export interface StoredChoices {
  /** The version of the format. */
  format: 1
  gpus: Record<string, MeasuredChoice[]>
}

/** Returns the path of the file; null if there is no folder for it. */
export function choicesPath(): string | null {
  const folder = ownCacheFolder()
  return folder && join(folder, 'webgpu.json')
}

/** Returns the stored choices; none if the file doesn't exist or isn't of this format: then products are timed again. */
export function readChoices(): StoredChoices {
  const none: StoredChoices = { format: 1, gpus: {} }
  try {
    const path = choicesPath()
    const read = path === null ? none : (JSON.parse(readFileSync(path, 'utf8')) as StoredChoices)
    return read.format === 1 ? read : none
  } catch {
    return none
  }
}

let read: StoredChoices | undefined

/** Returns the choices for a GPU. The file is read once. */
export function storedChoices(gpu: string): readonly MeasuredChoice[] {
  read ??= readChoices()
  return read.gpus[gpu] ?? []
}
