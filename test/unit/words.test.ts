/** The checker of English (native/tools/words.mjs), on text that it must report and text that it must accept. */
import { describe, expect, it } from 'vitest'

const { findHits, RULES } = await import(new URL('../../native/tools/words.mjs', import.meta.url).href)

/** Returns the hits of a file as `LINE RULE`. */
const hitsIn = (path: string, text: string): string[] =>
  findHits(path, text).map(({ line, rule }: { line: number; rule: string }) => `${line} ${rule}`)

describe('the checker of English', () => {
  it('reports a summary without a noun, at its line', () => {
    expect(hitsIn('a.ts', 'const a = 1\n\n/** What zlib makes of bytes. */\n')).toEqual(['3 headless-what'])
    expect(hitsIn('a.h', '/// How many bytes fit.\n')).toEqual(['1 headless-how'])
  })

  it('reports "Whether" on functions and accepts it on fields', () => {
    expect(hitsIn('a.ts', '/** Whether it is done. */\nfunction isDone(): boolean {')).toEqual([
      '1 whether-function',
    ])
    expect(hitsIn('a.ts', '/** Whether it is done. */\n  done: boolean')).toEqual([])
  })

  it('reports house words in private comments and in later sentences', () => {
    expect(hitsIn('a.cpp', 'int a;  // The yardstick of int32.\n')).toEqual(['1 house-word'])
    expect(hitsIn('a.ts', '// Copies the rows.\n// Work is given up then.\n')).toEqual(['2 give-up'])
  })

  it('reports test titles that are fragments', () => {
    expect(hitsIn('a.test.ts', "it('of edges says what to do', () => {\n")).toEqual(['1 title-fragment'])
    expect(hitsIn('a.test.ts', "it('rejects edges', () => {\n")).toEqual([])
  })

  it('skips code blocks of pages, code, and comments with `words-ok`', () => {
    expect(hitsIn('a.md', '```js\nWhat is given up.\n```\n')).toEqual([])
    expect(hitsIn('a.md', 'Work is given up.\n')).toEqual(['1 give-up'])
    expect(hitsIn('a.ts', "throw new Error('given up')\n")).toEqual([])
    expect(hitsIn('a.ts', '// words-ok: quotes the paper, "given up".\n')).toEqual([])
  })

  it('states for each rule what to write instead', () => {
    expect(RULES.length).toBeGreaterThan(20)
    expect(RULES.filter(({ fix }: { fix: string }) => !fix)).toEqual([])
  })
})
