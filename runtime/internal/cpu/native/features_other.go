//go:build !amd64

package native

func missing() map[string]string { return nil }

func hasVNNI(string) bool { return false }
