import { optionalPackages } from '../optional-packages.js'

/** Loads zarrita, if a Zarr array is named. */
export const loadZarrita = optionalPackages('Zarr arrays need', ['zarrita'], () => import('zarrita'))
