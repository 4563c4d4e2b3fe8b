/** Interface of a tool of the page: its fields, and the output for their content. */

/** Rows of a table or a chart: a page with more of them is slow. */
export const MAX_ROWS = 200

/** Content of the fields, by name. */
export type Values = Record<string, string>

/** Output for the content, `width` pixels wide. It is called again when the width changes. */
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
  /** Converts a file to the text of a field; the text of the file by default. */
  readonly textOf?: (file: File) => Promise<string>
  answer(values: Values, signal: AbortSignal): Promise<Drawing>
}
