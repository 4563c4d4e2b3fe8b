/** Creates elements. Text from users and links is never parsed as HTML. */

type Child = Node | string | number | null | undefined | false

export type Attributes = Record<string, string | number | boolean | EventListener | undefined>

function filled<Made extends Element>(
  created: Made,
  attributes: Attributes,
  children: readonly Child[],
): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') created.addEventListener(name, value)
    else if (value === true) created.setAttribute(name, '')
    else if (value !== undefined && value !== false) created.setAttribute(name, `${value}`)
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      created.append(child instanceof Node ? child : `${child}`)
    }
  }
  return created
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

/** Returns an SVG element with a size in pixels; `label` describes it for screen readers. */
export const picture = (width: number, height: number, label: string, ...children: Child[]): SVGSVGElement =>
  svg(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    ...children,
  )

let sheet: CSSStyleSheet | undefined

/**
 * Converts a drawing of the library to an element. Its style moves to the document, because the page's
 * content security policy forbids styles inside elements.
 */
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

/** Returns a table; `strong` selects the emphasized rows. */
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
  const created = html(
    'table',
    {},
    html('caption', {}, caption),
    html('thead', {}, head),
    html('tbody', {}, ...body),
  )
  // The tabindex enables scrolling by keyboard.
  return html('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption }, created)
}

/** Formats a number for people. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : value < 0 ? '−∞' : 'NaN'
  if (Number.isInteger(value)) return `${value}`
  // Six significant digits, or two decimals for larger numbers.
  const digits = Math.min(Math.max(6, Math.floor(Math.log10(Math.abs(value))) + 3), 17)
  return `${Number(value.toPrecision(digits))}`
}
