/**
 * Dark variants of the pictures: a style sheet for pages with a dark theme, added to a drawing with plain attributes.
 *
 * Style sheets override the attributes `fill` and `stroke`, and `prefers-color-scheme` also works where a page shows the picture by an
 * `img` element. Viewers without style sheets show the light colours.
 */

/** The dark counterpart of each light colour. */
const DARK = {
  '#ffffff': '#0d1117',
  '#fff': '#0d1117',
  '#fdfdfb': '#0d1117',
  '#1f2328': '#e6edf3',
  '#1b1c1e': '#e6edf3',
  '#59636e': '#9198a1',
  '#5d6168': '#a0a6ad',
  '#55585e': '#a0a6ad',
  '#8b949e': '#8b949e',
  '#9aa4af': '#6e7681',
  '#d0d7de': '#3d444d',
  '#d6d6cf': '#3d444d',
  '#cfe1f3': '#1f4b73',
  '#0b5cad': '#388bfd',
  '#0b62b5': '#58a6ff',
  '#4b4fd1': '#8b90ff',
  '#a8338c': '#db79c4',
  '#b3202c': '#ff7b72',
  '#b3430a': '#e8743b',
  '#c4500a': '#f0883e',
  '#a2480a': '#e8913a',
  '#7a5c00': '#d2a828',
  '#00795b': '#3fb68b',
  '#0a6b3d': '#3fb950',
}

const colours = /(fill|stroke)="(#[0-9a-f]+)"/g

/** Returns an SVG drawing with a dark theme; a drawing that has one already is returned unchanged. */
export function withDarkTheme(svg) {
  if (svg.includes('prefers-color-scheme')) return svg
  const used = new Map(
    [...svg.matchAll(colours)].map(([attribute, name, colour]) => [attribute, [name, colour]]),
  )
  const rules = [...used].map(([attribute, [name, colour]]) => {
    if (!DARK[colour])
      throw new Error(`the colour ${colour} has no dark counterpart: add it to docs/images/dark.mjs`)
    // White text is on coloured bars, which stay coloured.
    const element = name === 'fill' && DARK[colour] === DARK['#ffffff'] ? ':not(text)' : ''
    return `${element}[${attribute}]{${name}:${DARK[colour]}}`
  })
  const sheet = `<style>@media (prefers-color-scheme:dark){${rules.sort().join('')}}</style>`
  // A title must be the first element.
  return svg.replace(/(<svg [^>]*>\n?(?:<title>.*<\/title>\n)?)/, `$1${sheet}\n`)
}
