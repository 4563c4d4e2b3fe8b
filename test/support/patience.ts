/** Time in ms after which a test counts as hanging, also on a busy machine. */
export const PATIENCE = 600_000
