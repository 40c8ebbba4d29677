package tooltest

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWriteProgram runs a program as soon as it is written, while others start processes.
func TestWriteProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script for sh, which Windows does not have")
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					exec.Command("/bin/sh", "-c", "exit 0").Run()
				}
			}
		}()
	}
	path := filepath.Join(t.TempDir(), "program")
	for range 200 {
		WriteProgram(t, path, []byte("#!/bin/sh\nexit 0\n"))
		if out, err := exec.Command(path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}
