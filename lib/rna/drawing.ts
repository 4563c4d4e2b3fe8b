/** A drawing of an interaction. */
import { show, showList } from '../describe.js'
import { DTypeError, OptionError, ShapeError } from '../errors.js'
import { boolean, Options, type OptionsOf, option, requireObject } from '../options.js'
import { escapeXml } from '../xml-text.js'
import type { BasePair } from './options.js'
import { readStrand } from './strand.js'

/** What can be drawn: a result of {@link bpmax}, or one of its windows. */
export interface Drawable {
  /** The index in the second sequence of the window's first base. */
  start: number
  /** Bases of the window. */
  length: number
  /** The pairs, as {@link InteractionWindow.pairs} has them. */
  pairs: { within1: readonly BasePair[]; within2: readonly BasePair[]; between: readonly BasePair[] }
}

/** The options of {@link drawInteraction}. `undefined` means the default. */
export interface DrawingOptions {
  /** Name of the first strand; 'strand 1' by default. */
  name1?: string | undefined
  /** Name of the second strand; 'strand 2' by default. */
  name2?: string | undefined
  /** Whether the second strand is drawn from 3′ to 5′, like in {@link bpmax}; true by default. */
  antiparallel?: boolean | undefined
}

const strandName = (usual: string) =>
  option(usual, (value, name) => {
    if (typeof value === 'string') return value
    throw new OptionError(`option ${name} must be a string, but it is ${show(value)}`)
  })

const drawingOptions = new Options({
  name1: strandName('strand 1'),
  name2: strandName('strand 2'),
  antiparallel: boolean(true),
} satisfies OptionsOf<DrawingOptions>)

const kinds = ['within1', 'within2', 'between'] as const

/** Throws DTypeError unless there are a window and lists of pairs of integers. */
function readDrawable(found: unknown): Drawable {
  requireObject(found, 'found', 'a result of bpmax, or one of its windows', ['start', 'length', 'pairs'])
  const { start, length, pairs } = found as unknown as Drawable
  for (const [name, value] of Object.entries({ start, length })) {
    if (Number.isInteger(value) && value >= 0) continue
    throw new DTypeError(`${name} of found must be an integer of 0 or more, but it is ${show(value)}`)
  }
  requireObject(pairs, 'pairs of found', 'an object with lists of pairs', kinds)
  for (const kind of kinds) {
    const list: unknown = pairs[kind]
    const isList =
      Array.isArray(list) &&
      list.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger))
    if (!isList)
      throw new DTypeError(`pairs.${kind} of found must be a list of pairs of bases, but it is ${show(list)}`)
  }
  return { start, length, pairs }
}

const STEP = 14
const MARGIN = 60
/** Between the lines of both strands. */
const GAP = 70
const INK = '#1b1b1b'
const WITHIN = '#6b7280'
const BETWEEN = '#c2410c'

/**
 * Draws an interaction as SVG: the first strand above from 5′ to 3′, and below it the second, or the window of it. Bases that
 * pair with each other are below each other, so there are gaps in the shorter parts. Pairs of a strand are arcs.
 *
 * @throws ValueError for sequences with other letters; ShapeError if the pairs aren't of these sequences; DTypeError if `found` isn't
 *   an interaction; OptionError.
 * @example
 * const svg = drawInteraction('GGG', 'CCC', await bpmax('GGG', 'CCC'), { name1: 'query' })
 * console.log(svg.startsWith('<svg')) // true
 */
export function drawInteraction(
  sequence1: string,
  sequence2: string,
  found: Drawable,
  options?: DrawingOptions,
): string {
  const { name1, name2, antiparallel } = drawingOptions.read(options)
  readStrand(sequence1, 'sequence1')
  readStrand(sequence2, 'sequence2')
  const { start, length, pairs } = readDrawable(found)
  const end = start + length
  /** The place of a base of strand 2 in the order that it is drawn in. */
  const turn = (j: number) => (antiparallel ? end - 1 - j : j - start)
  const between = pairs.between.map(([i, j]): BasePair => [i, turn(j)]).sort(([i], [k]) => i - k)
  const [x1, x2, width] = columns(sequence1.length, length, between)
  const below = (j: number) => x2[turn(j)]
  const height1 = tallest(pairs.within1, (i) => x1[i])
  const height2 = tallest(pairs.within2, below)
  const y1 = 40 + height1
  const y2 = y1 + GAP
  const parts = [
    ...pairs.within1.map((pair) => arc(pair, (i) => x1[i], y1 - 12, -1)),
    ...pairs.within2.map((pair) => arc(pair, below, y2 + 8, 1)),
    ...between.map(([i, j]) => line(x1[i]!, y1 + 5, x2[j]!, y2 - 14)),
    ...letters(sequence1, x1, y1),
    ...letters(ordered(sequence2.slice(start, end), antiparallel), x2, y2),
    label(MARGIN - 34, y1, '5′'),
    label((x1.at(-1) ?? MARGIN) + 22, y1, '3′'),
    label(MARGIN - 34, y2, antiparallel ? '3′' : '5′'),
    label((x2.at(-1) ?? MARGIN) + 22, y2, antiparallel ? '5′' : '3′'),
    label(MARGIN - 34, 20, `${name1} · 1–${sequence1.length}`),
    label(MARGIN - 34, y2 + height2 + 40, `${name2} · ${start + 1}–${end}`),
  ]
  const size = `${Math.max(width, 300)} ${y2 + height2 + 60}`
  const [w, h] = size.split(' ')
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${size}" font-family="monospace" ` +
    `font-size="13">\n<title>${escapeXml(`${name1} and ${name2}`)}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n${parts.join('\n')}\n</svg>\n`
  )
}

/** Where the bases of both strands are, and where the drawing ends. */
function columns(n: number, m: number, between: readonly BasePair[]): [number[], number[], number] {
  const x1: number[] = []
  const x2: number[] = []
  let x = MARGIN
  for (const [i, j] of [...between, [n, m]] as BasePair[]) {
    if (i > n || j > m || j < x2.length || i < x1.length) {
      throw new ShapeError(`the pairs between the strands must increase within ${n} and ${m} bases`)
    }
    const free = Math.max(i - x1.length, j - x2.length)
    for (let at = x; x1.length < i; at += STEP) x1.push(at)
    for (let at = x; x2.length < j; at += STEP) x2.push(at)
    x += free * STEP
    if (i < n && j < m) {
      x1.push(x)
      x2.push(x)
      x += STEP
    }
  }
  return [x1, x2, x + MARGIN]
}

const ordered = (sequence: string, antiparallel: boolean) =>
  antiparallel ? [...sequence].reverse().join('') : sequence

type Place = (index: number) => number | undefined

function ends([i, j]: BasePair, place: Place): [number, number] {
  const [from, to] = [place(i), place(j)]
  if (from === undefined || to === undefined) {
    throw new ShapeError(
      `the pair ${showList([i, j])} is not of this strand: give the sequences that it was found in`,
    )
  }
  return [from, to]
}

/** Wide arcs are higher, so that they don't meet those inside them, but never very high. */
const heightOf = (from: number, to: number) => {
  const width = Math.abs(to - from)
  return Math.round(10 + (160 * width) / (width + 500))
}

function tallest(pairs: readonly BasePair[], place: Place): number {
  return pairs.reduce((height, pair) => Math.max(height, heightOf(...ends(pair, place))), 0)
}

/** An arc above (−1) or below (1) a strand. */
function arc(pair: BasePair, place: Place, y: number, side: number): string {
  const [from, to] = ends(pair, place)
  // A quadratic curve reaches half as far as its middle point.
  const middle = y + side * 2 * heightOf(from, to)
  return `<path d="M ${from} ${y} Q ${(from + to) / 2} ${middle} ${to} ${y}" fill="none" stroke="${WITHIN}" stroke-width="1.3"/>`
}

const line = (x1: number, y1: number, x2: number, y2: number) =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${BETWEEN}" stroke-width="2"/>`

const text = (x: number, y: number, content: string, anchor: string) =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${INK}">${escapeXml(content)}</text>`

const label = (x: number, y: number, content: string) => text(x, y, content, 'start')

const letters = (sequence: string, x: readonly number[], y: number) =>
  [...sequence].map((letter, at) => text(x[at]!, y, letter.toUpperCase().replace('T', 'U'), 'middle'))
