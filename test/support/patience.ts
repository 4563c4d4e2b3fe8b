/** What takes so many milliseconds hangs, however busy the machine is. */
export const PATIENCE = 600_000
