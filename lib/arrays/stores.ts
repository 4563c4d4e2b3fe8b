/** Selects the store for a path or an address. */
import { BucketStore } from './bucket-store.js'
import { files } from './file-store.js'
import { isS3 } from './names.js'
import type { Store } from './store.js'

/** @param signal - aborts requests to a bucket. Calls for folders ignore it, because they take no time. */
export const storeOf = (path: string, signal?: AbortSignal): Store =>
  isS3(path) ? new BucketStore(signal) : files
