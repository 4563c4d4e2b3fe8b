/** Options as a command line may have them. */
import type { Option } from './options.js'

/** An option, as a command line may have it. */
export interface CommandOption {
  /** Flag and value as in the help: '--device <index>'. */
  readonly flag: string
  /** Purpose of the option, in a line. */
  readonly summary: string
  /** The values that there are, if they have names. */
  readonly choices: readonly string[] | undefined
  /**
   * Converts the text of the command line to the value that functions expect.
   *
   * @throws ArgumentError (ERR_MPMML_OPTION), ArgumentError (ERR_MPMML_VARIANT).
   */
  readonly parse: (text: string) => unknown
}

/** Returns the command-line descriptions of a set's options, by name. */
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
