/** A page keeps measured choices in memory only. */
import type * as inNode from '../../webgpu/stored-choices.js'

export const storedChoices: typeof inNode.storedChoices = () => []
