/** Builds HTML text. Values are escaped unless they are instances of Html. */

/** Text that is HTML. */
export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
}

type Content = Html | string | number | undefined | Content[]

function textOf(content: Content): string {
  if (content === undefined) return ''
  if (content instanceof Html) return content.text
  if (Array.isArray(content)) return content.map(textOf).join('')
  return String(content).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Marks a string as HTML or SVG, which isn't escaped. */
export const raw = (text: string) => new Html(text)

/** Template tag that escapes values, unless they are Html. */
export function html(strings: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(strings.reduce((text, part, index) => text + textOf(contents[index - 1]) + part))
}

/** Returns a table that scrolls horizontally if it is too wide. Its first row is the header. */
export function tableOf([head = [], ...rows]: readonly Content[][], caption: string): Html {
  const cells = (row: Content[]) =>
    row.map((cell, index) => (index === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>`
}
