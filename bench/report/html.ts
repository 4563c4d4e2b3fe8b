/** HTML text: escaped unless it says that it is HTML already. */

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

/** HTML or SVG that comes as text. */
export const raw = (text: string) => new Html(text)

/** A template whose values are escaped, unless they are Html. */
export function html(strings: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(strings.reduce((text, part, index) => text + textOf(contents[index - 1]) + part))
}

/** A table that scrolls within itself if it is too wide; its first row is its head. */
export function tableOf([head = [], ...rows]: readonly Content[][], caption: string): Html {
  const cells = (row: Content[]) =>
    row.map((cell, index) => (index === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>`
}
