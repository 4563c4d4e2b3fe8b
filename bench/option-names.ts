/** Errors of the library name options as programs give them. */
import type { Option } from 'commander'

/** A message that names the options of a command as the command line has them: "begin again with --overwrite". */
export function inFlags(message: string, options: readonly Option[]): string {
  let text = message
  for (const option of options) {
    const name = option.attributeName()
    text = text.replaceAll(
      new RegExp(`\\b(option|options|options \\S+ and) ${name}\\b`, 'g'),
      `$1 ${option.long}`,
    )
    // Only for boolean options: messages use "with NAME" for no other options, so that "with memory" is
    // ordinary text.
    if (option.isBoolean()) {
      text = text.replaceAll(new RegExp(`\\bwith ${name}(?=[.,;:]?(\\s|$))`, 'g'), `with ${option.long}`)
    }
  }
  return text
}
