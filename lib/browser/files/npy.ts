import type * as inNode from '../../files/npy.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readNpy = (() => noFile('readNpy', fetchAnd('parseNpy'))) as typeof inNode.readNpy
export const writeNpy: typeof inNode.writeNpy = () =>
  noFile('writeNpy', 'formatNpy gives the bytes, which the page can offer as a Blob')
