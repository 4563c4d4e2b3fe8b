/** The table of variants, the native registry and the TypeScript type agree. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { info, matrix, mpmmSync, type Variant, type VariantName, variants } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectThrown } from '../support/expect.js'

interface TableRow {
  name: string
  family: { name: string; backend: 'cpu' | 'cuda' }
  automatic: boolean
  semiring: { name: string; idempotent?: boolean }
  dataType: { name: string }
  parameters: Record<string, number | string>
  isa?: { name: string; processor: string }
}

const { allRows, refusedRows, semiringTypes } = (await import(
  new URL('../../native/variants/rows.mjs', import.meta.url).href
)) as {
  allRows: () => TableRow[]
  refusedRows: () => (TableRow & { refused: string })[]
  semiringTypes: () => Pick<TableRow, 'semiring' | 'dataType'>[]
}
const { webGpuRows } = (await import(new URL('../../native/variants/webgpu.mjs', import.meta.url).href)) as {
  webGpuRows: (Omit<Variant, 'name'> & { name: string })[]
}
const { listOf } = (await import(new URL('../../native/variants/files.mjs', import.meta.url).href)) as {
  listOf: (row: TableRow) => string
}
const processor = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? process.arch

describe('variants', () => {
  it('are the rows of the table that this build can have', () => {
    const { addon: origin, cpu, cuda } = info()
    // A build may have only some instruction sets of its processor's family.
    const isas = new Set(variants().flatMap(({ parameters }) => parameters.isa ?? []))
    for (const name of ['portable', ...cpu.instructionSets]) expect(isas).toContain(name)
    const expected = (['cpu', 'cuda'] as const).flatMap((backend) =>
      allRows()
        .filter(({ family }) => family.backend === backend && (backend === 'cpu' || cuda.built))
        .filter((row) => listOf(row) !== 'lab' || origin.kind === 'lab')
        .filter(({ isa }) => !isa || isas.has(isa.name))
        .filter(({ isa }) => !isa || isa.processor === 'any' || isa.processor === processor)
        .map(({ name, family, semiring, dataType, parameters, automatic }) => ({
          name,
          family: family.name,
          semiring: semiring.name,
          dtype: dataType.name,
          parameters,
          automatic,
          backend,
        })),
    )
    const ofWebGpu = webGpuRows.map(({ architectures: _, ...row }) => row)
    expect(variants().map(({ architectures: _, ...row }) => row)).toEqual([...expected, ...ofWebGpu])
    expect(expected.length).toBeGreaterThan(0)
  })

  it('exist for every semiring and type: for verification, and for the planner wherever it runs', () => {
    expect(semiringTypes().length).toBeGreaterThan(8)
    for (const { semiring, dataType } of semiringTypes()) {
      const rows = allRows().filter(
        (row) => row.semiring.name === semiring.name && row.dataType.name === dataType.name,
      )
      const what = `${semiring.name} ${dataType.name}`
      const naive = rows.filter(({ family }) => family.name === 'naive' && family.backend === 'cpu')
      expect(
        naive.map(({ automatic }) => automatic),
        what,
      ).toEqual([false])
      const automatic = rows.filter((row) => row.automatic)
      expect(automatic.filter(({ family }) => family.backend === 'cuda').length, what).toBeGreaterThan(0)
      for (const isa of ['avx512', 'avx2', 'sse41', 'neon', 'portable']) {
        const own = automatic.filter(({ parameters }) => parameters.isa === isa)
        expect(own.length, `${what} ${isa}`).toBeGreaterThan(0)
      }
    }
  })

  it('are of semirings of the native code, idempotent or not', () => {
    const ofTable = new Map(
      semiringTypes().map(({ semiring }) => [semiring.name, semiring.idempotent ?? true]),
    )
    expect(addon.semirings.map(({ name, idempotent }) => [name, idempotent])).toEqual([...ofTable])
  })

  it('exist on tensor cores for plus-times on float64 only', () => {
    const rows = allRows().filter(({ family }) => family.name === 'tensor')
    const algebras = rows.map(({ semiring, dataType }) => `${semiring.name} ${dataType.name}`)
    expect([...new Set(algebras)]).toEqual(['plus-times float64'])
  })

  it('have the names of the TypeScript type', () => {
    const source = readFileSync(new URL('../../lib/variant-names.ts', import.meta.url), 'utf8')
    const [, union] = source.match(/export type VariantName =((?:\n {2}\| '[^']+')+)/)!
    const names = [...union!.matchAll(/'([^']+)'/g)].map(([, name]) => name)
    expect(names).toEqual([...allRows(), ...webGpuRows].map(({ name }) => name))
  })

  it('are rejected with the reason if no kernel can be built for them', () => {
    expect(addon.refusedVariants).toEqual(
      refusedRows().map(({ name, family, semiring, dataType, parameters, refused: reason }) => ({
        name,
        family: family.name,
        semiring: semiring.name,
        dtype: dataType.name,
        parameters,
        reason,
      })),
    )
    expect(addon.refusedVariants.length).toBeGreaterThan(0)
    for (const { name, reason } of addon.refusedVariants) {
      const call = () => mpmmSync(matrix(1, 1, [1]), matrix(1, 1, [1]), { variant: name as VariantName })
      expectThrown(call, 'VARIANT', name, reason)
    }
  })

  it('are frozen rows in a new array', () => {
    const rows = variants()
    rows.length = 0
    for (const row of variants()) {
      expect(row.architectures.length).toBeGreaterThan(0)
      for (const part of [row, row.parameters, row.architectures]) expect(Object.isFrozen(part)).toBe(true)
    }
    expect(variants().length).toBeGreaterThan(0)
  })

  it('name a family, a semiring and a type', () => {
    // Returns the first letter and the bits of a type: i32 for int32.
    const short = (dtype: string) => dtype.replace(/[a-z]+/, ([first]) => first!)
    for (const { name, family, semiring, dtype } of variants()) {
      const canonical: VariantName = name
      expect(canonical.startsWith(`${family}_${semiring.replace('-', '')}_${short(dtype)}_`)).toBe(true)
    }
  })
})
