/** What a tool of the page is: its fields, and what it shows for what they hold. */

/** Rows of a table or a chart: a page with more of them is slow. */
export const MAX_ROWS = 200

/** What the fields hold, by their names. */
export type Values = Record<string, string>

/** What is to be shown, `width` pixels wide. It is called again when the width changes. */
export type Drawing = (width: number) => readonly (Node | false | null)[]

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** The choices of a field that is no text. They may depend on what other fields hold. */
  readonly choices?: (values: Values) => readonly string[]
  /** Lines of a text. */
  readonly rows?: number
}

export interface Tool {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly fields: readonly Field[]
  readonly example: Values
  /** The example in JavaScript. */
  readonly program: string
  /** What a file is as the text of a field; by default its own text. */
  readonly textOf?: (file: File) => Promise<string>
  answer(values: Values, signal: AbortSignal): Promise<Drawing>
}
