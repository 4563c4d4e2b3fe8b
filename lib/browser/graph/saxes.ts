/** The XML parser, which bundles for browsers contain. */
import * as saxes from 'saxes'
import type * as inNode from '../../graph/saxes.js'

export const assertSaxes: typeof inNode.assertSaxes = () => saxes
