//go:build !amd64

package native

func missing() map[string]string { return nil }
