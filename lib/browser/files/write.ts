import type * as inNode from '../../files/write.js'
import { noFile } from '../no-files.js'

export const writeMatrix: typeof inNode.writeMatrix = () =>
  noFile('writeMatrix', 'formatNpy gives the bytes of a .npy file, which the page can offer as a Blob')
