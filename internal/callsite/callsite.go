package callsite

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"unicode"
)

// Depth is how many callers a Stack notes.
const Depth = 24

// Stack is return addresses, the innermost first; 0 ends it early.
type Stack [Depth]uintptr

// Capture notes the callers of the function that calls Capture, but for the innermost skip.
func (s *Stack) Capture(skip int) {
	if n := walk(&s[0], Depth, skip); n < Depth {
		s[n] = 0
	}
}

// Site is a line of a program, and what it called.
type Site struct {
	Pos string // as in "main.go:12", "" if it is not known
	Op  string // the function of a library that the line calls, as in "index_select", or ""
}

// Site is the first caller outside of the libraries.
func (s *Stack) Site() Site {
	n := 0
	for n < Depth && s[n] != 0 {
		n++
	}
	if n == 0 {
		return Site{}
	}
	return find(s[:n])
}

// Here is the first caller of the calling function outside of the libraries.
func Here() Site {
	var pcs [64]uintptr
	return find(pcs[:goruntime.Callers(2, pcs[:])])
}

func find(pcs []uintptr) (s Site) {
	frames := goruntime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.File != "" && !inLibrary(f.Function, f.File) {
			s.Pos = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			return s
		}
		if op := operation(f.Function); op != "" {
			s.Op = op
		}
		if !more {
			return Site{}
		}
	}
}

// module is what the names of functions of this module begin with.
const module = "github.com/gokiln/kiln/"

// libraries are the folders whose callers an error is told about.
var libraries = []string{"internal/callsite/", "runtime/", "jit/", "ops/", "tensor/", "nn/", "quantized/", "models/"}

// root is the folder of the module as file names have it, which a build may have cut.
var root = func() string {
	_, file, _, _ := goruntime.Caller(0)
	return strings.TrimSuffix(file, "internal/callsite/callsite.go")
}()

// launchers is the file that kiln gen writes.
const launchers = "zz_kernels.go"

// inLibrary goes by the file: a function literal of a library that was inlined has the name of
// a function of the program.
func inLibrary(function, file string) bool {
	if strings.HasSuffix(file, "_test.go") {
		return false
	}
	if strings.HasPrefix(function, "runtime.") || filepath.Base(file) == launchers {
		return true
	}
	rel, ok := strings.CutPrefix(file, root)
	if !ok {
		return false
	}
	for _, l := range libraries {
		if strings.HasPrefix(rel, l) {
			return true
		}
	}
	return false
}

// operation is the name of an exported function or method of package tensor as its errors
// have it, "" of anything else.
func operation(function string) string {
	name, ok := strings.CutPrefix(function, module+"tensor.")
	if !ok || strings.Contains(name, ".func") {
		return ""
	}
	name, _, _ = strings.Cut(name, "[")
	name = name[strings.LastIndexByte(name, '.')+1:]
	if name == "" || !unicode.IsUpper(rune(name[0])) {
		return ""
	}
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
