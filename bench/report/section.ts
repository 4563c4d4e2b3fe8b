/** Section of the report. */
import type { Figure } from './charts.js'
import type { Html } from './html.js'
import type { Exhibit } from './thesis.js'

export interface Section {
  /** Figures and tables of the thesis that the section reproduces; none for additional sections. */
  exhibits?: readonly Exhibit[]
  title: string
  /** Description of the section's content, one or two sentences. */
  caption: Html
  /** Statements of the thesis that the section is about. */
  claims?: readonly string[]
  /** Plots and tables; empty if nothing was measured. */
  body: readonly (Html | Figure)[]
  /** Command that measures missing points. */
  command: string
}
