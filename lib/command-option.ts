/** Options as a command line may have them. */
import type { Option } from './options.js'

/** An option, as a command line may have it. */
export interface CommandOption {
  /** As in its help: '--device <index>'. */
  readonly flag: string
  /** What it is for, in a line. */
  readonly summary: string
  /** The values that there are, if they have names. */
  readonly choices: readonly string[] | undefined
  /**
   * What functions take for a text.
   *
   * @throws ArgumentError (ERR_MPMML_OPTION), ArgumentError (ERR_MPMML_VARIANT).
   */
  readonly parse: (text: string) => unknown
}

/** What a set says of its options to a command line, by their names. */
export function commandOptionsOf<Name extends string>(
  set: Readonly<Record<Name, Option<unknown>>>,
): Readonly<Record<Name, CommandOption>> {
  const described = Object.entries<Option<unknown>>(set).map(([name, { read, choices, commandLine }]) => {
    const { flag, summary, fromText = (text: string) => text as unknown } = commandLine!
    const parse = (text: string) => {
      const value = fromText(text)
      read(value, name)
      return value
    }
    return [name, { flag, summary, choices, parse }]
  })
  return Object.fromEntries(described)
}
