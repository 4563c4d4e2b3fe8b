/** Which storage a name belongs to. */
import { BucketStorage } from './bucket-storage.js'
import { folders } from './folder-storage.js'
import { isS3 } from './names.js'
import type { Storage } from './storage.js'

/** @param signal - ends the requests to a bucket; what a folder is asked for takes no time. */
export const storageOf = (path: string, signal?: AbortSignal): Storage =>
  isS3(path) ? new BucketStorage(signal) : folders
