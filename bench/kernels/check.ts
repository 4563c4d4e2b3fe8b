/**
 * Compares kernel variants with the naive product, one after the other, in a subprocess, because a kernel may
 * crash it.
 */
import { info, mpmm, type Variant, type VariantName, variants } from '../../lib/index.js'
import type { Experiment } from '../experiment.js'
import { oneLine } from '../output.js'
import { type Product, VerificationError, verifier } from '../verify.js'
import { casesOf, type KernelCase } from './cases.js'

/**
 * Result of checking a variant. The status is `refused` if the variant can't run on this machine or supports
 * none of the cases.
 */
export interface KernelResult {
  variant: VariantName
  backend: Variant['backend']
  status: 'right' | 'wrong' | 'failed' | 'refused'
  /** Products that were compared. */
  compared: number
  /** First difference or error, or reason of the refusal; '' if the variant is correct. */
  reason: string
  /** Code of the error; null without an error. */
  code: string | null
}

/** The variants to check, by their names. */
interface KernelRequest {
  variants: VariantName[]
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? null
const messageOf = (error: unknown) => oneLine(error instanceof Error ? error.message : String(error))

interface Expectation extends KernelCase {
  /**
   * Throws VerificationError if a product differs. Undefined if kernels must reject the case because it
   * overflows.
   */
  check: ((product: Product) => unknown) | undefined
}

const known = new Map<string, Promise<Expectation[]>>()

/** The cases with their naive products, computed once for all variants of a semiring and element type. */
function expectationsOf({ semiring, dtype }: Variant): Promise<Expectation[]> {
  const key = `${semiring} ${dtype}`
  const expectations = known.get(key) ?? Promise.all(casesOf(semiring, dtype).map(expectationOf))
  known.set(key, expectations)
  return expectations
}

async function expectationOf(one: KernelCase): Promise<Expectation> {
  try {
    return { ...one, check: await verifier(one.a, one.b, one.options) }
  } catch (error) {
    if (codeOf(error) !== 'ERR_MPMML_OVERFLOW') throw error
    return { ...one, check: undefined }
  }
}

/**
 * Computes a case by a variant and compares it. Throws VerificationError if the product differs; errors of
 * the library pass through.
 */
async function compare({ name }: Variant, { what, a, b, options, check }: Expectation): Promise<void> {
  let product: Product
  try {
    product = await mpmm(a, b, { ...options, variant: name })
  } catch (error) {
    if (codeOf(error) === 'ERR_MPMML_OVERFLOW' && check === undefined) return
    throw error
  }
  if (product.variant !== name) throw new VerificationError(`${what}: ${product.variant} ran in its place`)
  if (check === undefined) throw new VerificationError(`${what}: an overflow was not found`)
  try {
    check(product)
  } catch (error) {
    throw new VerificationError(`${what}: ${messageOf(error)}`)
  }
}

async function checkVariant(row: Variant): Promise<KernelResult> {
  const { name, backend } = row
  let compared = 0
  let refusal = ''
  const found = (status: KernelResult['status'], reason: string, code: string | null = null) => ({
    variant: name,
    backend,
    status,
    compared,
    reason,
    code,
  })
  for (const expectation of await expectationsOf(row)) {
    try {
      await compare(row, expectation)
      compared++
    } catch (error) {
      const code = codeOf(error)
      if (error instanceof VerificationError) return found('wrong', error.message)
      if (code !== 'ERR_MPMML_VARIANT')
        return found('failed', `${expectation.what}: ${messageOf(error)}`, code)
      refusal ||= messageOf(error)
    }
  }
  return compared > 0 ? found('right', '') : found('refused', refusal, 'ERR_MPMML_VARIANT')
}

/**
 * Returns the addon's variants whose names contain a text. Naive variants are excluded, because they are the
 * reference. `npm run test:webgpu` checks the WGSL variants separately.
 */
export function checkedVariants(text: string): { rows: Variant[]; withoutGpu: string } {
  const all = variants().filter(
    ({ name, family, backend }) => family !== 'naive' && backend !== 'webgpu' && name.includes(text),
  )
  const withoutGpu = all.some(({ backend }) => backend === 'cuda') ? info().cuda.reason : ''
  return { rows: all.filter(({ backend }) => backend === 'cpu' || withoutGpu === ''), withoutGpu }
}

export const kernels: Experiment<KernelRequest, KernelResult> = {
  grid: ({ variants: names }) => {
    const rows = new Map(variants().map((row) => [row.name, row]))
    return names.map((name) => ({ what: name, cost: 1, measure: () => checkVariant(rows.get(name)!) }))
  },
}
