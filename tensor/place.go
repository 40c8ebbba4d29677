package tensor

import (
	"fmt"
	"maps"
	"path/filepath"
	goruntime "runtime"
	"sync/atomic"
)

// position is the line outside of the module's libraries that an operation was called from, "" if
// there is none. It costs some hundred nanoseconds: few calls are near, and lines are known by the
// program counter.
func position() string {
	var pcs [64]uintptr
	for from, n := 3, 8; ; from, n = from+n, len(pcs) { // from: less this function and its caller
		got := goruntime.Callers(from, pcs[:n])
		for _, pc := range pcs[:got] {
			if line := lineOf(pc); line != "" {
				return line
			}
		}
		if got < n {
			return ""
		}
	}
}

// lines is what [lineOf] has found so far. It is replaced, not changed, so that readers need no
// lock; a program has few lines that call operations.
var lines atomic.Pointer[map[uintptr]string]

// lineOf is the file and line of a return address, "" of one in the module's libraries.
func lineOf(pc uintptr) string {
	known := lines.Load()
	if known != nil {
		if line, ok := (*known)[pc]; ok {
			return line
		}
	}
	line := ""
	if f, _ := goruntime.CallersFrames([]uintptr{pc}).Next(); !inLibrary(f.Function) && f.File != "" {
		line = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
	}
	for {
		next := map[uintptr]string{pc: line}
		if known != nil {
			maps.Copy(next, *known)
		}
		if lines.CompareAndSwap(known, &next) {
			return line
		}
		known = lines.Load()
	}
}
