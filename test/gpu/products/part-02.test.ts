/** Products and variants on a GPU: the shard of this file. */
import { partOf } from '../../support/parts.js'
import { gpuProductSuite } from '../../support/suite-gpu-products.js'

gpuProductSuite(partOf(import.meta.url))
