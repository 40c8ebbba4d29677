package tooltest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes a program, or a script, that the test runs afterwards.
//
// A goroutine that starts another process meanwhile would pass that process the file while it is
// open for writing, and Linux refuses to run such a file: "text file busy" (golang.org/issue/22315).
// No process starts before this file is closed.
func WriteProgram(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := writeProgram(path, data); err != nil {
		t.Fatal(err)
	}
}

func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// CopyProgram copies a program that the test runs afterwards, as WriteProgram writes one.
func CopyProgram(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeProgram(to, data)
}
