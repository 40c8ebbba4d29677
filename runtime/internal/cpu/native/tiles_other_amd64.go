//go:build amd64 && !linux

package native

// permitTiles reports whether the system saves tile registers, which only Linux is asked for.
func permitTiles() bool { return false }
