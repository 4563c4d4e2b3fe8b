/** Opens matrices on disk, of which blocks are read. */
import { FileError } from '../errors.js'
import type { ArraySource } from './array-source.js'
import { storeOf } from './bucket-store.js'
import { isNpy, isS3, isZarr } from './names.js'
import { NpySource } from './npy-source.js'
import { ZarrSource } from './zarr-source.js'

/** @throws FileError; ERR_MPMML_PACKAGE for Zarr without zarrita. */
export async function openSource(path: string, signal?: AbortSignal): Promise<ArraySource> {
  if (isZarr(path)) return ZarrSource.open(path, storeOf(path, signal))
  if (isNpy(path) && !isS3(path)) return NpySource.open(path)
  if (isS3(path))
    throw new FileError(
      `${path}: expected a Zarr array, s3://bucket/name.zarr: other files are not read from S3`,
    )
  throw new FileError(
    `${path}: expected an array on disk, a folder .zarr or a file .npy, by the end of its name`,
  )
}
