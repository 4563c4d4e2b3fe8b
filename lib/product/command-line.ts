/** What a command line can say of the options of products. */
import { backend, device, devices } from '../backend.js'
import { semiring } from '../built-in.js'
import { type CommandOption, commandOptionsOf } from '../command-option.js'
import { overflow, variant } from './options.js'

/**
 * The options of products that a command line can have, by their names: programs with one needn't say them again.
 *
 * @example
 * const { flag, choices, parse } = commandOptions.backend
 * console.log(flag, choices.join(), parse('cpu')) // --backend <name> auto,cpu,cuda cpu
 */
export const commandOptions: Readonly<
  Record<'semiring' | 'backend' | 'device' | 'devices' | 'variant' | 'overflow', CommandOption>
> = commandOptionsOf({ semiring, backend, device, devices, variant, overflow })
