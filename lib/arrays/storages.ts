/** Which storage a name belongs to. */
import { buckets } from './bucket-storage.js'
import { folders } from './folder-storage.js'
import { isS3 } from './names.js'
import type { Storage } from './storage.js'

export const storageOf = (path: string): Storage => (isS3(path) ? buckets : folders)
