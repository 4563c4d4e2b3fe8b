/** What a command line can say of the options of products: the names, texts and values are those of the functions. */
import { backend, device, devices } from './backend.js'
import type { Option } from './options.js'
import { overflow, variant } from './product/options.js'
import { semiring } from './semirings.js'

/** An option, as a command line may have it: see {@link commandOptions}. */
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
   * @throws OptionError (ERR_MPMML_OPTION), VariantError (ERR_MPMML_VARIANT).
   */
  readonly parse: (text: string) => unknown
}

const wholeOf = (text: string) => (/^-?\d{1,10}$/.test(text.trim()) ? Number(text) : text)

const commandOption = (
  name: string,
  { read, choices, commandLine }: Option<unknown>,
  fromText: (text: string) => unknown = (text) => text,
): CommandOption => ({
  ...commandLine!,
  choices,
  parse(text) {
    const value = fromText(text)
    read(value, name)
    return value
  },
})

/**
 * The options of products that a command line can have, by their names: programs with one needn't say them again.
 *
 * @example
 * const { flag, choices, parse } = commandOptions.backend
 * console.log(flag, choices.join(), parse('cpu')) // --backend <name> auto,cpu,cuda cpu
 */
export const commandOptions: Readonly<
  Record<'semiring' | 'backend' | 'device' | 'devices' | 'variant' | 'overflow', CommandOption>
> = {
  semiring: commandOption('semiring', semiring),
  backend: commandOption('backend', backend),
  device: commandOption('device', device, wholeOf),
  devices: commandOption('devices', devices, (text) =>
    text === 'all' ? text : text.split(',').map(wholeOf),
  ),
  variant: commandOption('variant', variant),
  overflow: commandOption('overflow', overflow),
}
