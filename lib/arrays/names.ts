/** Parses names of arrays: paths of files and folders, and S3 addresses. */
import { FileError } from '../errors.js'

/** Name of the work in messages about aborts. */
export const WORK = 'the work on arrays'

export const isNpy = (path: string) => /\.npy$/i.test(path)

/** Returns whether a name denotes a Zarr array, which may be in groups: `store.zarr/group/array`. */
export const isZarr = (path: string) => /\.zarr(?:[/\\]|$)/i.test(path) && !isNpy(path)

/** Returns the paths of the groups in the name of a Zarr array, outermost first. */
export function groupsOf(path: string): string[] {
  const name = path.replace(/[/\\]+$/, '')
  const ends = [...name.matchAll(/[/\\]/g)].map(({ index }) => index)
  return ends.map((end) => name.slice(0, end)).filter(isZarr)
}

/** Bucket and key of an object, or key prefix of several objects. */
export interface Address {
  readonly bucket: string
  readonly key: string
}

export const isS3 = (path: string) => /^s3:\/\//i.test(path)

/** @throws FileError */
export function parseAddress(path: string): Address {
  const [, bucket, key = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/+(.*?))?\/*$/is.exec(path) ?? []
  // The message omits the text, which may be an address with a password.
  if (bucket === undefined) {
    throw new FileError(
      'an address begins with s3: but is not s3://bucket/name.zarr: name a bucket and a key',
    )
  }
  if (key.split('/').some((part) => part === '.' || part === '..' || (part === '' && key !== ''))) {
    throw new FileError(`${path}: a key must have no empty parts, "." or ".." between its slashes`)
  }
  return { bucket, key }
}

export const formatAddress = ({ bucket, key }: Address) => `s3://${bucket}${key === '' ? '' : `/${key}`}`

/** Returns whether a string is an address in canonical form, so that equal locations have equal names. */
export function isAddress(text: string): boolean {
  try {
    return formatAddress(parseAddress(text)) === text
  } catch {
    return false
  }
}
