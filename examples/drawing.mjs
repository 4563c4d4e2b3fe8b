/** Draws small SVG pictures. They use plain attributes only, so that every viewer renders them alike. */

const colors = {
  page: '#ffffff',
  text: '#1f2328',
  muted: '#8b949e',
  grid: '#d0d7de',
  strong: '#b3430a',
  shade: '#cfe1f3',
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
const rounded = (value) => Number(value.toFixed(1))

export function text(
  x,
  y,
  content,
  { anchor = 'start', fill = colors.text, size = 13, weight = 'normal' } = {},
) {
  return `<text x="${rounded(x)}" y="${rounded(y)}" fill="${fill}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}">${escaped(content)}</text>`
}

export function line(x1, y1, x2, y2, { strong = false, faint = false } = {}) {
  const stroke = strong ? colors.strong : faint ? colors.grid : colors.muted
  return `<line x1="${rounded(x1)}" y1="${rounded(y1)}" x2="${rounded(x2)}" y2="${rounded(y2)}" stroke="${stroke}" stroke-width="${strong ? 3 : 1.5}"/>`
}

export function circle(x, y, radius, { strong = false } = {}) {
  return `<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${radius}" fill="${colors.page}" stroke="${strong ? colors.strong : colors.text}" stroke-width="${strong ? 3 : 1.5}"/>`
}

/** Returns a rectangle: strong, shaded, or outlined. */
export function box(x, y, width, height, { strong = false, shaded = false } = {}) {
  const fill = strong ? colors.strong : shaded ? colors.shade : colors.page
  return `<rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}" fill="${fill}" stroke="${colors.muted}"/>`
}

/** Returns an arrow: a line with a head at its end. */
export function arrow(x1, y1, x2, y2, { strong = false } = {}) {
  const angle = Math.atan2(y2 - y1, x2 - x1)
  const head = [0.5, -0.5].map((turn) =>
    line(x2, y2, x2 - 9 * Math.cos(angle + turn), y2 - 9 * Math.sin(angle + turn), { strong }),
  )
  return [line(x1, y1, x2, y2, { strong }), ...head].join('\n')
}

/** Returns an SVG picture that contains `parts`. */
export function picture(width, height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="${colors.page}"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}
