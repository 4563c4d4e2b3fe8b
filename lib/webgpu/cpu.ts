/** Products on the CPU, with which self-tests of WebGPU compare. */
import { type Addon, reportFields, requestAt, requestFields } from '../native-interface.js'
import type { ElementArray, OperandArray } from '../storage.js'

/** Lists of the addon whose indices requests and reports have, its products on the CPU, and its advice about memory. */
export type CpuAddon = Pick<
  Addon,
  | ('semirings' | 'dataTypes' | 'paths' | 'overflowPolicies' | 'variants' | 'backends' | 'backendChoices')
  | ('multiplySync' | 'preferHugePages')
>

/** Square row-major matrices of a product. */
interface SquareProduct {
  readonly a: OperandArray
  readonly b: OperandArray
  readonly c: ElementArray
  readonly c0?: ElementArray
  readonly witness?: Int32Array | null
}

/** Computes c = c0 ⊕ a ⊗ b of side n on the CPU. */
export function multiplyOnCpu(
  { semirings, dataTypes, backendChoices, multiplySync }: CpuAddon,
  { semiring, dtype }: { readonly semiring: string; readonly dtype: string },
  n: number,
  { a, b, c, c0, witness }: SquareProduct,
): void {
  const request = new Float64Array(requestFields.length)
  const fields = {
    ...{ batch: 1, m: n, n, k: n, variant: -1, asksWitness: witness ? 1 : 0 },
    backend: backendChoices.indexOf('cpu'),
    semiring: semirings.findIndex(({ name }) => name === semiring),
    dtype: (dataTypes as readonly string[]).indexOf(dtype),
  }
  for (const [name, value] of Object.entries(fields)) request[requestAt[name as keyof typeof fields]] = value
  for (const name of ['a', 'b', 'c', 'c0', 'witness'] as const) {
    request[requestAt[name].rowStride] = n
    request[requestAt[name].colStride] = 1
  }
  const report = new Float64Array(reportFields.length)
  multiplySync(a, b, c, c0 ?? null, request, report, null, witness ? ([witness] as never) : undefined)
}
