/** Runs examples, and looks at the pictures that they draw. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DOMParser } from 'linkedom'
import { expect } from 'vitest'
import { root, runProgram } from '../cli/support.js'

/** Examples use what `npm run build:ts` built. */
export const built = existsSync(join(root, 'dist', 'lib', 'index.js'))

export const named = (what: string) => (built ? what : `${what} (skipped: dist/ is not built)`)

export const run = (example: string, args: string[]) =>
  runProgram(process.execPath, [join(root, 'examples', example), ...args])

/** Output of an example, by lines. */
export async function lines(example: string, args: string[] = []): Promise<string[]> {
  const { status, stdout, stderr } = await run(example, args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trimEnd().split('\n')
}

/** Picture that an example draws with -o. */
export async function drawn(example: string, args: string[] = []): Promise<Document> {
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-example-'))
  try {
    const file = join(folder, 'picture.svg')
    await lines(example, [...args, '-o', file])
    const text = readFileSync(file, 'utf8')
    // The same in a browser and in other programs: with attributes only.
    expect(text).not.toMatch(/<style|\b(class|style)=|NaN|undefined/)
    return new DOMParser().parseFromString(text, 'image/svg+xml') as unknown as Document
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The lines of a picture that are drawn strong. */
export const strongLines = (picture: Document) =>
  [...picture.querySelectorAll('line')].filter((line) => Number(line.getAttribute('stroke-width')) > 2)

/** The first comment of an example, which says how to run it. */
export const headOf = (example: string) =>
  readFileSync(join(root, 'examples', example), 'utf8').split('*/')[0]!
