/**
 * The part of mpmml/files for browsers: the bytes of .npy files. Functions that open files reject with
 * advice.
 */
import type { readNpy as readInNode, writeNpy as writeInNode } from '../files/npy.js'
import type { readMatrix as readAnyInNode } from '../files/read.js'
import type { writeMatrix as writeAnyInNode } from '../files/write.js'
import { fetchAnd, noFile } from './no-files.js'

export { formatNpy, parseNpy } from '../files/npy-bytes.js'

const offered = 'formatNpy gives the bytes of a .npy file, which the page can offer as a Blob'

export const readNpy = (() => noFile('readNpy', fetchAnd('parseNpy'))) as typeof readInNode
export const readMatrix = (() => noFile('readMatrix', fetchAnd('parseNpy'))) as typeof readAnyInNode
export const writeNpy: typeof writeInNode = () => noFile('writeNpy', offered)
export const writeMatrix: typeof writeAnyInNode = () => noFile('writeMatrix', offered)
