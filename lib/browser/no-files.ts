/** Replaces functions for files, which pages can't open. */
import { FileError } from '../errors.js'

/** Returns the rejected promise of a function that reads or writes a file. */
export const noFile = (name: string, advice: string): Promise<never> =>
  Promise.reject(new FileError(`${name} needs files, and a page has none: ${advice}`))

/** Returns the advice for functions that read a file. */
export const fetchAnd = (parse: string) =>
  `fetch it, or take the File that the user has chosen, and pass its content to ${parse}`
