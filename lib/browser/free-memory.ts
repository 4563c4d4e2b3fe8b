/** How much memory a page can still get. Browsers don't say: what they refuse is an error where it is asked for. */
import type * as inNode from '../free-memory.js'

export const availableMemory: typeof inNode.availableMemory = () => 2 ** 32
