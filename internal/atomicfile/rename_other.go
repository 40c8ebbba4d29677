//go:build !windows

package atomicfile

// renameMayRetry: a rename replaces an open file here; if it fails, it fails
// for good.
const renameMayRetry = false
