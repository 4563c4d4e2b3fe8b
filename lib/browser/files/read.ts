import type * as inNode from '../../files/read.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readMatrix = (() =>
  noFile('readMatrix', fetchAnd('parseNpy'))) as unknown as typeof inNode.readMatrix
