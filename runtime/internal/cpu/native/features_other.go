//go:build !amd64

package native

func missing() map[string]string { return nil }

func hasVNNI(string) bool { return false }

func hasPairs() bool { return false }

func hasTiles() bool { return false }

// HasPacked reports whether the processor has instructions for products of packed factors.
func HasPacked() bool { return false }
