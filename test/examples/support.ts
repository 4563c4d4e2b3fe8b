/** Runs examples, and parses the pictures that they draw. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DOMParser } from 'linkedom'
import { expect } from 'vitest'
import { root, runProgram } from '../cli/support.js'

export const run = (example: string, args: string[]) =>
  runProgram(process.execPath, [join(root, 'examples', example), ...args])

/** Runs an example and returns the lines of its output. */
export async function lines(example: string, args: string[] = []): Promise<string[]> {
  const { status, stdout, stderr } = await run(example, args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trimEnd().split('\n')
}

/** Runs an example with -o and returns its picture. */
export async function drawn(example: string, args: string[] = []): Promise<Document> {
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-example-'))
  try {
    const file = join(folder, 'picture.svg')
    await lines(example, [...args, '-o', file])
    const text = readFileSync(file, 'utf8')
    // The style consists of attributes only, because not all programs apply style sheets in SVG.
    expect(text).not.toMatch(/<style|\b(class|style)=|NaN|undefined/)
    return new DOMParser().parseFromString(text, 'image/svg+xml') as unknown as Document
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the strong lines of a picture. */
export const strongLines = (picture: Document) =>
  [...picture.querySelectorAll('line')].filter((line) => Number(line.getAttribute('stroke-width')) > 2)

/** Returns the first comment of an example, which contains its command. */
export const headOf = (example: string) =>
  readFileSync(join(root, 'examples', example), 'utf8').split('*/')[0]!
