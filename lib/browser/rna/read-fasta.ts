import type * as inNode from '../../rna/read-fasta.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readFasta: typeof inNode.readFasta = () => noFile('readFasta', fetchAnd('parseFasta'))
