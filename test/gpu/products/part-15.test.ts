/** Products and variants on a GPU: the part of this file. */
import { partOf } from '../../support/parts.js'
import { gpuProductSuite } from '../../support/suite-gpu-products.js'

gpuProductSuite(partOf(import.meta.url))
