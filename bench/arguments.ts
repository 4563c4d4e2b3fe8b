/** Readers of options that several commands have. They throw commander's error, which ends as wrong usage. */
import { InvalidArgumentError } from 'commander'

/** A whole number from `least` to `most`. */
export function wholeNumber(least = 1, most = 2 ** 31 - 1): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^-?\d{1,10}$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    }
    return value
  }
}

/** Several, separated by commas. */
export function wholeNumbers(least = 1, most = 2 ** 31 - 1): (text: string) => number[] {
  const read = wholeNumber(least, most)
  return (text) => text.split(',').map((part) => read(part.trim()))
}

export const device = wholeNumber(0, 65535)

/** Some of `choices`, separated by commas. */
export function someOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice[] {
  return (text) =>
    text.split(',').map((part) => {
      const found = choices.find((choice) => choice === part.trim())
      if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
      return found
    })
}
