//go:build race

package native

// raceEnabled says that counting allocations is pointless: the race detector
// makes its own, and sync.Pool drops objects on purpose.
const raceEnabled = true
