/** The options of a product, read once and checked. */
import { readDevice } from '../backend.js'
import { show, showChoices, typeName } from '../describe.js'
import { deviceMemoryLimit, environmentBackend } from '../environment.js'
import { OptionError } from '../errors.js'
import type { MatrixLike } from '../matrix.js'
import { addon, indexIn } from '../native.js'
import { semiringIndex, semiringNames } from '../semirings.js'
import type { ElementArray } from '../storage.js'
import type { Semiring, VariantName } from '../variant-names.js'
import { variantIndex } from '../variants.js'

/** What to do with a finite sum that decides a result and is outside the finite range of int32. */
export type Overflow = 'throw' | 'saturate' | 'wrap'

/** How far a product is. */
export interface Progress {
  /** The share of the work that is done, from 0 to 1. */
  done: number
}

/** Where to compute. */
export type BackendChoice = 'auto' | 'cuda' | 'cpu'

/** The options of {@link mpmm}. `undefined` means the default. */
export interface MpmmOptions<Out extends MatrixLike<ElementArray> = MatrixLike> {
  /** The semiring of the product; 'max-plus' by default. */
  semiring?: Semiring | undefined
  /**
   * A matrix of the result's shape to write into, which is then the result's `c`. Its elements may not overlap each
   * other, nor those of the operands. After ERR_MPMML_ABORTED and ERR_MPMML_CUDA its content is unspecified; after any
   * other error it is as it was.
   */
  out?: Out | undefined
  /**
   * C0 of C0 ⊕ A⊗B: a matrix of the result's shape (or one matrix for every product of a batch), or `true` for what
   * `out` holds. It may be `out` itself, but not overlap it otherwise.
   */
  accumulate?: MatrixLike<ElementArray> | boolean | undefined
  /**
   * 'auto', the default, takes CUDA if it can be used and the product is large enough and fits, otherwise the CPU. The
   * environment variable MPMML_BACKEND (auto, cuda or cpu) overrides 'auto'. 'cuda' without a usable GPU is an error.
   */
  backend?: BackendChoice | undefined
  /** The index of the CUDA device; 0 by default. The CPU ignores it. */
  device?: number | undefined
  /** A kernel variant by its name in {@link variants}: either it computes the product or there is an error. It implies the backend. */
  variant?: VariantName | undefined
  /**
   * What to do with a finite sum that decides a result and is outside the finite range: 'throw', the default, rejects the
   * product with ERR_MPMML_OVERFLOW; 'saturate' takes the nearest finite value; 'wrap' computes finite sums modulo 2^32 (a
   * sum that wraps onto the value of the semiring's zero is zero). Only for int32 and uint8: floating-point results that
   * are too large become infinities, as in IEEE 754. In max-min, min-max and or-and nothing can overflow, and the option
   * makes no difference.
   */
  overflow?: Overflow | undefined
  /** Gives up the product, with ERR_MPMML_ABORTED and the signal's reason as `cause`. */
  signal?: AbortSignal | undefined
  /**
   * Is called four times per second while the product runs, and with `done: 1` when it has succeeded: so a product that
   * takes less than a quarter of a second never calls it. If it throws, the product is given up and rejected with what it
   * threw. mpmmSync can't call it.
   */
  onProgress?: ((progress: Progress) => void) | undefined
}

// Reading a property of the addon's object at each product would take longer.
const { backendChoices, overflowPolicies, variants: nativeVariants } = addon

/** The indices of choices in the addon's lists. */
const AUTO = indexIn(backendChoices, 'auto')
const CPU = indexIn(backendChoices, 'cpu')
export const THROW = indexIn(overflowPolicies, 'throw')

const names: readonly (keyof MpmmOptions)[] = [
  'semiring',
  'out',
  'accumulate',
  'backend',
  'device',
  'variant',
  'overflow',
  'signal',
  'onProgress',
]

/** Options as indices into the addon's lists; matrices and the signal as they came. */
export interface ReadOptions {
  semiring: number
  /** {@link LEFT_OUT} if it isn't given. */
  overflow: number
  backend: number
  device: number
  /** -1 if none is asked for. */
  variant: number
  /** Whether CUDA may compute the product, as far as the options and the build say. */
  mayUseCuda: boolean
  /** The most bytes of device memory that the product may take; 0: no limit. */
  deviceMemory: number
  out: unknown
  accumulate: unknown
  signal: AbortSignal | undefined
  onProgress: ((progress: Progress) => void) | undefined
}

/** The option `overflow` if it isn't given, which means 'throw' for integers. */
export const LEFT_OUT = -1

const maxPlus = semiringIndex('max-plus')

const builtWithCuda = nativeVariants.some(({ backend }) => backend === 'cuda')

function mayUseCuda(backend: number, variant: number): boolean {
  return builtWithCuda && backend !== CPU && (variant < 0 || nativeVariants[variant]!.backend === 'cuda')
}

/** Reads what the user passed as options: each property once. */
export function readOptions(options: unknown): ReadOptions {
  if (options === undefined) {
    const backend = indexIn(backendChoices, environmentBackend())
    const onCuda = mayUseCuda(backend, -1)
    return {
      semiring: maxPlus,
      overflow: LEFT_OUT,
      backend,
      device: 0,
      variant: -1,
      mayUseCuda: onCuda,
      deviceMemory: onCuda ? deviceMemoryLimit() : 0,
      out: undefined,
      accumulate: undefined,
      signal: undefined,
      onProgress: undefined,
    }
  }
  if (typeof options !== 'object' || options === null) {
    throw new OptionError(
      `options must be an object such as { semiring: 'min-plus' }, but it is ${show(options)}`,
    )
  }
  for (const name in options) {
    if (!names.includes(name as keyof MpmmOptions)) {
      throw new OptionError(`there is no option ${show(name)}: expected ${showChoices(names)}`)
    }
  }
  const { semiring, out, accumulate, backend, device, variant, overflow, signal, onProgress } =
    options as Record<string, unknown>
  const variantNumber = variant === undefined ? -1 : variantIndex(variant)
  let backendNumber = backend === undefined ? AUTO : choice(backendChoices, backend, 'backend')
  if (backendNumber === AUTO && variantNumber < 0) {
    backendNumber = indexIn(backendChoices, environmentBackend())
  }
  const onCuda = mayUseCuda(backendNumber, variantNumber)
  return {
    semiring: semiring === undefined ? maxPlus : readSemiring(semiring),
    overflow: overflow === undefined ? LEFT_OUT : choice(overflowPolicies, overflow, 'overflow'),
    backend: backendNumber,
    device: readDevice(device),
    variant: variantNumber,
    mayUseCuda: onCuda,
    deviceMemory: onCuda ? deviceMemoryLimit() : 0,
    out,
    accumulate,
    signal: readSignal(signal),
    onProgress: readListener(onProgress),
  }
}

function choice(choices: readonly string[], value: unknown, name: string): number {
  const index = choices.indexOf(value as string)
  if (index >= 0) return index
  throw new OptionError(`option ${name} must be ${showChoices(choices)}, but it is ${show(value)}`)
}

function readSemiring(value: unknown): number {
  const index = semiringIndex(value)
  if (index >= 0) return index
  throw new OptionError(`option semiring must be ${showChoices(semiringNames())}, but it is ${show(value)}`)
}

function readSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined
  // By its methods, so that signals of other realms and polyfills are taken too.
  const signal = value as Partial<AbortSignal> | null
  if (
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  ) {
    return signal as AbortSignal
  }
  throw new OptionError(
    `option signal must be an AbortSignal, but it is ${typeName(value)}: pass controller.signal`,
  )
}

function readListener(value: unknown): ((progress: Progress) => void) | undefined {
  if (value === undefined || typeof value === 'function') return value as (progress: Progress) => void
  throw new OptionError(`option onProgress must be a function, but it is ${show(value)}`)
}
