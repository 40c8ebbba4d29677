package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// perfMap is the file that tells Linux perf the names of code made at run time:
// lines of address, size and name, in /tmp/perf-PID.map. KILN_PERF_MAP=1 asks
// for it. Lines are only added: perf reads the file after the program has run, and
// its samples carry no time of unloading.
var perfMap = perfFile{wanted: os.Getenv("KILN_PERF_MAP") == "1", dir: os.TempDir()}

type perfFile struct {
	wanted bool
	dir    string

	mu   sync.Mutex
	file *os.File
}

// add appends a line. A profile without names is no reason to fail, so errors
// only end the attempts.
func (p *perfFile) add(base uintptr, size int, name string) {
	if !p.wanted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		f, err := os.OpenFile(filepath.Join(p.dir, fmt.Sprintf("perf-%d.map", os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			p.wanted = false
			return
		}
		p.file = f
	}
	if _, err := fmt.Fprintf(p.file, "%x %x %s\n", base, size, strings.ReplaceAll(name, "\n", " ")); err != nil {
		p.wanted = false
	}
}
