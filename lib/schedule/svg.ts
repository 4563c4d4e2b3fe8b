/** Parts of drawings of plans in SVG, with colours for light and dark themes. */
import { escapeXml } from '../xml-text.js'

/** Colours by class: light, dark. */
const colours: readonly [selector: string, property: string, light: string, dark: string][] = [
  ['paper', 'fill', '#fff', '#16181d'],
  ['ink', 'fill', '#1b1d21', '#e6e8eb'],
  ['faint', 'fill', '#5b6270', '#a3abb8'],
  ['axis', 'stroke', '#d8dbe1', '#343a44'],
  ['slack', 'stroke', '#5b6270', '#a3abb8'],
  ['link', 'stroke', '#5b6270', '#a3abb8'],
  ['head', 'fill', '#5b6270', '#a3abb8'],
  ['bar', 'stroke', '#0b5cad', '#7db7f5'],
  ['bar', 'fill', '#e3eefa', '#1d3a57'],
  ['strong', 'stroke', '#9a3412', '#fdba74'],
  ['strong', 'fill', '#c2410c', '#fb923c'],
]

const rules = (at: 2 | 3) => colours.map((each) => `.mpmml-plan .${each[0]}{${each[1]}:${each[at]}}`).join('')

const style =
  `<style>.mpmml-plan{font:13px system-ui,sans-serif}.mpmml-plan .critical{font-weight:700}.mpmml-plan line{stroke-width:1.5}` +
  `.mpmml-plan .axis{stroke-width:1}${rules(2)}.mpmml-plan .hollow{fill:none!important}@media (prefers-color-scheme:dark){${rules(3)}}</style>`

const arrow =
  '<defs><marker id="mpmml-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">' +
  '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>'

/** A whole drawing. */
export const frame = (width: number | string, height: number, label: string, parts: readonly string[]) =>
  `<svg xmlns="http://www.w3.org/2000/svg" class="mpmml-plan" width="${width}" height="${height}" role="img" aria-label="${escapeXml(label)}">` +
  `${style}${arrow}<rect class="paper" width="100%" height="100%"/>\n${parts.join('\n')}\n</svg>\n`

export const text = (x: number | string, y: number, content: string, kind = 'ink', anchor = 'start') =>
  `<text class="${kind}" x="${x}" y="${y}"${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${escapeXml(content)}</text>`

export const line = (
  kind: string,
  x1: number | string,
  y1: number,
  x2: number | string,
  y2: number,
  isArrow = false,
) =>
  `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"${isArrow ? ' marker-end="url(#mpmml-arrow)"' : ''}/>`

/** A bar, or a diamond for a milestone. */
export function bar(
  kind: string,
  x: number | string,
  y: number,
  width: number | string,
  about: string,
): string {
  const title = `<title>${escapeXml(about)}</title>`
  if (width === 0)
    return `<svg x="${x}" y="${y + 6}" overflow="visible"><path class="${kind}" d="M0-7 7 0 0 7-7 0z">${title}</path></svg>`
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="12" rx="2">${title}</rect>`
}

/** A text of at most `most` characters. */
export const shortened = (content: string, most: number): string => {
  const letters = [...content]
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : content
}

/** A number with at most 6 digits. */
export const shown = (value: number): string => String(Number(value.toPrecision(6))).replace('-', '−')
