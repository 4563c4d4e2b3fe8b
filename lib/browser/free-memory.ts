/** Memory that a page can still allocate. Browsers don't report it; a refused allocation is an error. */
import type * as inNode from '../free-memory.js'

export const availableMemory: typeof inNode.availableMemory = () => 2 ** 32
