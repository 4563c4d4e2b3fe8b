/**
 * Parts of drawings of plans in SVG. Attributes have the light theme, so that programs without style sheets show it, too; a style sheet has the
 * dark theme.
 */
import { escapeXml } from '../xml-text.js'

/**
 * Fill and stroke in the light theme, and in the dark theme, by the kind of part. Text has a stroke of the paper's colour, so that lines behind
 * it leave it readable.
 */
const paints = {
  paper: '#fff none #16181d none',
  ink: '#1b1d21 #fff #e6e8eb #16181d',
  faint: '#5b6270 #fff #a3abb8 #16181d',
  axis: 'none #d8dbe1 none #343a44',
  slack: 'none #5b6270 none #a3abb8',
  link: 'none #5b6270 none #a3abb8',
  head: '#5b6270 none #a3abb8 none',
  bar: '#e3eefa #0b5cad #1d3a57 #7db7f5',
  strong: '#c2410c #9a3412 #fb923c #fdba74',
  box: 'none #0b5cad none #7db7f5',
  strongbox: 'none #9a3412 none #fdba74',
}

type Kind = keyof typeof paints

const paint = (kind: Kind) => {
  const [fill, stroke] = paints[kind].split(' ')
  return `class="${kind}" fill="${fill}" stroke="${stroke}"`
}

const dark = Object.entries(paints)
  .map(([kind, colours]) => {
    const [, , fill, stroke] = colours.split(' ')
    return `.mpmml-plan .${kind}{fill:${fill};stroke:${stroke}}`
  })
  .join('')

const arrow =
  '<defs><marker id="mpmml-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">' +
  `<path ${paint('head')} d="M0 0 8 4 0 8z"/></marker></defs>`

/** A whole drawing. */
export const frame = (width: number | string, height: number, label: string, parts: readonly string[]) =>
  `<svg xmlns="http://www.w3.org/2000/svg" class="mpmml-plan" width="${width}" height="${height}"` +
  `${typeof width === 'number' ? ` viewBox="0 0 ${width} ${height}"` : ''} font-family="system-ui, sans-serif" ` +
  `font-size="13" role="img" aria-label="${escapeXml(label)}">` +
  `<style>@media (prefers-color-scheme:dark){${dark}}</style>${arrow}<rect ${paint('paper')} width="100%" height="100%"/>\n` +
  `${parts.join('\n')}\n</svg>\n`

type Place = number | string

export const text = (
  x: Place,
  y: number,
  content: string,
  { kind = 'ink', anchor = 'start', isBold = false }: { kind?: Kind; anchor?: string; isBold?: boolean } = {},
) =>
  `<text ${paint(kind)} stroke-width="3" paint-order="stroke" x="${x}" y="${y}"` +
  `${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}${isBold ? ' font-weight="700"' : ''}>${escapeXml(content)}</text>`

const head = ' marker-end="url(#mpmml-arrow)"'

export const line = (kind: Kind, x1: Place, y1: number, x2: Place, y2: number, isArrow = false) =>
  `<line ${paint(kind)} stroke-width="${kind === 'axis' ? 1 : 1.5}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"${isArrow ? head : ''}/>`

/** An arrow along a path. */
export const curve = (d: string) => `<path ${paint('link')} stroke-width="1.5" d="${d}"${head}/>`

/** A bar, or a diamond for a milestone. */
export function bar(kind: Kind, x: Place, y: number, width: Place, about: string): string {
  const title = `<title>${escapeXml(about)}</title>`
  if (width === 0)
    return `<svg x="${x}" y="${y + 6}" overflow="visible">${title}<path ${paint(kind)} d="M0-7 7 0 0 7-7 0z"/></svg>`
  return `<rect ${paint(kind)} x="${x}" y="${y}" width="${width}" height="12" rx="2">${title}</rect>`
}

export const rectangle = (kind: Kind, x: number, y: number, width: number, height: number, stroke = 1) =>
  `<rect ${paint(kind)} stroke-width="${stroke}" x="${x}" y="${y}" width="${width}" height="${height}" rx="4"/>`

/** A text of at most `most` characters. */
export const shortened = (content: string, most: number): string => {
  const letters = [...content]
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : content
}

/** A number with at most 6 digits. */
export const shown = (value: number): string => String(Number(value.toPrecision(6))).replace('-', '−')
