/** Files, which pages can't open. */
import { FileError } from '../errors.js'

/** The promise that a function gives which reads or writes a file. */
export const noFile = (name: string, advice: string): Promise<never> =>
  Promise.reject(new FileError(`${name} needs files, and a page has none: ${advice}`))

/** What to do in place of reading one. */
export const fetchAnd = (parse: string) =>
  `fetch it, or take the File that the user has chosen, and pass its content to ${parse}`
