/** Interface of a tool of the page: its fields, and the output for their content. */

/** Limit of the rows of a table or chart, because more rows make the page slow. */
export const MAX_ROWS = 200

/** Content of the fields, by name. */
export type Values = Record<string, string>

/** Draws the output, `width` pixels wide. It is called again when the width changes. */
export type Drawing = (width: number) => readonly (Node | false | null)[]

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** Choices of a select field. They may depend on the content of other fields. */
  readonly choices?: (values: Values) => readonly string[]
  /** Number of lines of a text field. */
  readonly rows?: number
}

export interface Tool {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly fields: readonly Field[]
  readonly example: Values
  /** Source of the example program in JavaScript. */
  readonly program: string
  /** Converts a file to the text of a field; the text of the file by default. */
  readonly textOf?: (file: File) => Promise<string>
  answer(values: Values, signal: AbortSignal): Promise<Drawing>
}
