/** Converts option names in the library's messages to command-line flags. */
import type { Option } from 'commander'

/**
 * Returns a message with command-line flags in place of option names, such as "begin again with --overwrite".
 */
export function inFlags(message: string, options: readonly Option[]): string {
  let text = message
  for (const option of options) {
    const name = option.attributeName()
    text = text.replaceAll(
      new RegExp(`\\b(option|options|options \\S+ and) ${name}\\b`, 'g'),
      `$1 ${option.long}`,
    )
    // Messages use "with NAME" only for boolean options. Other occurrences, such as "with memory", are
    // ordinary text.
    if (option.isBoolean()) {
      text = text.replaceAll(new RegExp(`\\bwith ${name}(?=[.,;:]?(\\s|$))`, 'g'), `with ${option.long}`)
    }
  }
  return text
}
