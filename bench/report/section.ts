/** A section of the report. */
import type { Figure } from './charts.js'
import type { Html } from './html.js'
import type { Exhibit } from './thesis.js'

export interface Section {
  /** The exhibits of the thesis that it stands for; none if it goes beyond it. */
  exhibits?: readonly Exhibit[]
  title: string
  /** What is shown, in a sentence or two. */
  caption: Html
  /** Statements of the thesis that it bears on. */
  claims?: readonly string[]
  /** The plots, the tables; nothing if nothing was measured. */
  body: readonly (Html | Figure)[]
  /** How to measure what is missing. */
  command: string
}
