/** Elements, made so that nothing that a user or a link brings is read as HTML. */

type Child = Node | string | number | null | undefined | false

export type Attributes = Record<string, string | number | boolean | EventListener | undefined>

function filled<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value)
    else if (value === true) made.setAttribute(name, '')
    else if (value !== undefined && value !== false) made.setAttribute(name, `${value}`)
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      made.append(child instanceof Node ? child : `${child}`)
    }
  }
  return made
}

export const html = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] => filled(document.createElement(name), attributes, children)

export const svg = <Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Name] =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)

/** A picture of this size in pixels, which `label` says in words. */
export const picture = (width: number, height: number, label: string, ...children: Child[]): SVGSVGElement =>
  svg(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    ...children,
  )

let sheet: CSSStyleSheet | undefined

/** A drawing of the library as an element. Its style goes to the document, because the page's policy allows no style within elements. */
export function parsedSvg(text: string): Element {
  const drawing = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement
  const style = drawing.querySelector('style')
  if (style && !sheet) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(style.textContent ?? '')
    document.adoptedStyleSheets.push(sheet)
  }
  style?.remove()
  return document.importNode(drawing, true)
}

/** A table; `strong` are the rows that decide. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  strong: (row: number) => boolean = () => false,
): HTMLElement {
  const head = html('tr', {}, ...heads.map((text) => html('th', { scope: 'col' }, text)))
  const body = rows.map((cells, row) =>
    html('tr', { class: strong(row) ? 'strong' : undefined }, ...cells.map((cell) => html('td', {}, cell))),
  )
  const made = html(
    'table',
    {},
    html('caption', {}, caption),
    html('thead', {}, head),
    html('tbody', {}, ...body),
  )
  // Scrolled by keyboard too.
  return html('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption }, made)
}

/** A number as people read it. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : value < 0 ? '−∞' : 'NaN'
  if (Number.isInteger(value)) return `${value}`
  // Six digits, and of larger numbers two behind the point.
  const digits = Math.min(Math.max(6, Math.floor(Math.log10(Math.abs(value))) + 3), 17)
  return `${Number(value.toPrecision(digits))}`
}
