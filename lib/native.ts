/** The addon: how it is found, and what it exports (native/addon/). No other file of the library knows either. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import bindings from 'bindings'
import { AddonError } from './errors.js'
import type { Semiring, VariantName } from './variant-names.js'

/** A row of the native variant registry. Its index in {@link Addon.variants} is how requests and reports name it. */
export interface NativeVariant {
  name: VariantName
  family: string
  semiring: Semiring
  dtype: 'int32'
  parameters: Record<string, number | string>
  backend: 'cpu' | 'cuda'
  architectures: string[]
}

/** Milliseconds and indices that a product reports, by the names in {@link Addon.reportFields}. */
export type ReportField =
  | 'backend'
  | 'device'
  | 'variant'
  | 'path'
  | 'totalMs'
  | 'kernelMs'
  | 'analysisMs'
  | 'h2dMs'
  | 'd2hMs'

type MatrixField = 'Offset' | 'RowStride' | 'ColStride' | 'BatchStride'

/** What a request says, by the names in {@link Addon.requestFields}. Sizes and strides count elements. */
export type RequestField =
  | 'batch'
  | 'm'
  | 'n'
  | 'k'
  | `${'a' | 'b' | 'c' | 'c0'}${MatrixField}`
  | 'semiring'
  | 'overflow'
  | 'backend'
  | 'device'
  | 'variant'

/** What `describe()` tells of the build and the machine. */
export interface NativeDescription {
  compiler: string
  cuda: {
    built: boolean
    /** One line: what was built, or why nothing was. */
    status: string
    toolkit: string
    architectures: string[]
    /** Version of the driver's CUDA interface, '' where there is no driver. */
    driver: string
    /** Why CUDA can't be used; '' where it can. */
    reason: string
    devices: Record<string, number | string>[]
  }
  cpu: { simd: string; instructionSets: string[]; threads: number }
}

export interface Addon {
  /** The semirings of the build; `zero` is the value of its zero, the others are finite. */
  semirings: { name: Semiring; zero: number; finiteMin: number; finiteMax: number }[]
  variants: NativeVariant[]
  /** Names of the range paths, by the index in a report. */
  paths: string[]
  /** The fields of a request's Float64Array, in order. */
  requestFields: RequestField[]
  /** The fields of a report's Float64Array, in order. */
  reportFields: ReportField[]
  describe(): NativeDescription
  explain(device: number): { backend: 'cpu' | 'cuda'; reason: string }
  /** Throws Error with `code`. */
  multiplySync(
    a: Int32Array,
    b: Int32Array,
    c: Int32Array,
    c0: Int32Array | null,
    request: Float64Array,
    report: Float64Array,
  ): void
  /** The same off the event loop; a value other than 0 in `cancel[0]` asks that it be given up. */
  multiply(
    a: Int32Array,
    b: Int32Array,
    c: Int32Array,
    c0: Int32Array | null,
    request: Float64Array,
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<void>
}

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (name === 'mpmml' && version) return folder
    } catch {}
    folder = dirname(folder)
  }
}

/** The folder of the package. */
export const root = packageRoot()

/** The version in package.json. */
export const version: string = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version

function load(): Addon {
  try {
    return bindings({
      bindings: 'mpmml',
      module_root: root,
      // The release build alone: by default a stale debug build would win.
      try: [['module_root', 'build', 'Release', 'bindings']],
    })
  } catch (error) {
    throw new AddonError(
      `the native addon build/Release/mpmml.node can't be loaded from ${root}: ${(error as Error).message.split('\n')[0]}. ` +
        'It is compiled when the package is installed; if install scripts were switched off (--ignore-scripts), run: npm rebuild mpmml',
      { cause: error },
    )
  }
}

/** The addon, loaded once. */
export const addon: Addon = load()
