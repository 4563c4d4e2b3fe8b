/** Partition of the variant table into source files. */
import { describe, expect, it } from 'vitest'

interface Row {
  name: string
  family: { name: string; backend: 'cpu' | 'cuda'; list?: string; together?: number; typesTogether?: boolean }
  automatic: boolean
  semiring: { name: string }
  dataType: { name: string }
  isa?: { name: string }
}

interface SourceFile {
  list: 'cpu' | 'cuda' | 'hopper' | 'lab'
  file: string
  isa?: { name: string }
  rows: Row[]
}

const variants = (name: string) => import(new URL(`../../native/variants/${name}`, import.meta.url).href)
const { allRows } = (await variants('rows.mjs')) as { allRows: () => Row[] }
const { sourceFiles } = (await variants('files.mjs')) as { sourceFiles: (rows: Row[]) => SourceFile[] }

describe('source files', () => {
  const rows = allRows()
  const files = sourceFiles(rows)

  it('contain every row once', () => {
    const names = files.flatMap((file) => file.rows.map(({ name }) => name))
    expect(names.sort()).toEqual(rows.map(({ name }) => name).sort())
    expect(new Set(files.map(({ file }) => file)).size).toBe(files.length)
  })

  it('contain rows that can be compiled with the same options, and no more than the family allows', () => {
    for (const { file, list, isa, rows: together } of files) {
      const [{ family, semiring, dataType }] = together as [Row]
      expect(together.length, file).toBeLessThanOrEqual(family.together ?? 1)
      expect(file).toMatch(list === 'cpu' ? /\.cpp$/ : /\.cu$/)
      for (const row of together) {
        expect(row.family, file).toBe(family)
        expect(row.isa, file).toBe(isa)
        const usual = family.backend === 'cpu' ? 'cpu' : row.automatic ? 'cuda' : 'lab'
        expect(list, file).toBe(family.list ?? usual)
        if (list !== 'cuda') continue
        expect(row.semiring, file).toBe(semiring)
        if (!family.typesTogether) expect(row.dataType, file).toBe(dataType)
      }
    }
  })

  it('are far fewer than rows', () => {
    expect(files.length).toBeLessThan(rows.length / 4)
  })
})
