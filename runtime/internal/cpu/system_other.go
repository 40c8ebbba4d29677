//go:build !(linux || darwin || windows)

package cpu

// systemMemory returns 0: what is not known.
func systemMemory() (total, available int64) { return 0, 0 }

func modelName() string { return "CPU" }
