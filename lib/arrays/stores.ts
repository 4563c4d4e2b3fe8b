/** Selects the store of a name. */
import { BucketStore } from './bucket-store.js'
import { files } from './file-store.js'
import { isS3 } from './names.js'
import type { Store } from './store.js'

/** @param signal - ends the requests to a bucket; what a folder is asked for takes no time. */
export const storeOf = (path: string, signal?: AbortSignal): Store =>
  isS3(path) ? new BucketStore(signal) : files
