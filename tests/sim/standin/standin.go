package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/gokiln/kiln/internal/dl"
)

// Library is a library that is built when it is first opened.
type Library struct {
	What    string // is simulated: "AMD GPUs"
	Name    string // of the file
	Sources fs.FS  // with the folder src, whose *.cpp are compiled
	Arch    string // of the only processors that it is for, "" for all
	// Prepare, if not nil, completes the folder that the sources were copied to.
	Prepare func(clang, src string) error
	// Flags returns more options for the compiler.
	Flags func() ([]string, error)

	once sync.Once
	dir  string
	lib  dl.Lib
	err  error
}

var errNoCompiler = errors.New("it is built with clang++-19 on Linux, which is missing: install clang-19 or set KILN_CLANG to the path of a clang++")

// Open returns the library. A machine without the compiler skips the test.
func (l *Library) Open(tb testing.TB) dl.Lib {
	tb.Helper()
	l.once.Do(func() { l.lib, l.err = l.build() })
	switch {
	case (errors.Is(l.err, errNoCompiler) || errors.Is(l.err, dl.ErrNoDL)) && os.Getenv("KILN_REQUIRE_TOOLS") != "1":
		tb.Skip(l.err)
	case l.err != nil:
		tb.Fatal(l.err)
	}
	return l.lib
}

// Clean removes what was built.
func (l *Library) Clean() {
	if l.dir != "" {
		// A folder that cannot be removed is left to the system.
		_ = os.RemoveAll(l.dir)
	}
}

// compiler finds clang++.
func (l *Library) compiler() (string, error) {
	if goruntime.GOOS != "linux" || l.Arch != "" && l.Arch != goruntime.GOARCH {
		return "", errNoCompiler
	}
	for _, name := range []string{os.Getenv("KILN_CLANG"), "clang++-19"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", errNoCompiler
}

// BuiltEnv names folders of libraries, separated as in PATH, that a process which started this
// one has built and removes afterwards.
const BuiltEnv = "KILN_SIM_BUILT"

func (l *Library) build() (dl.Lib, error) {
	for _, dir := range filepath.SplitList(os.Getenv(BuiltEnv)) {
		if out := filepath.Join(dir, l.Name); exists(out) {
			return dl.Open(out)
		}
	}
	clang, err := l.compiler()
	if err != nil {
		return dl.Lib{}, fmt.Errorf("the simulator of %s: %w", l.What, err)
	}
	if l.dir, err = os.MkdirTemp("", "kiln-sim"); err != nil {
		return dl.Lib{}, err
	}
	if err := os.CopyFS(l.dir, l.Sources); err != nil {
		return dl.Lib{}, err
	}
	src, out := filepath.Join(l.dir, "src"), filepath.Join(l.dir, l.Name)
	if l.Prepare != nil {
		if err := l.Prepare(clang, src); err != nil {
			return dl.Lib{}, err
		}
	}
	files, err := filepath.Glob(filepath.Join(src, "*.cpp"))
	if err != nil {
		return dl.Lib{}, err
	}
	flags, err := l.Flags()
	if err != nil {
		return dl.Lib{}, err
	}
	// The thread that works off the queue outlives main: nothing is destroyed behind it.
	args := append([]string{"-std=c++17", "-O1", "-fno-c++-static-destructors", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
		fmt.Sprintf("-DSIM_CLANG=%q", clang), fmt.Sprintf("-DSIM_DIR=%q", src), "-o", out}, flags...)
	if err := Run(clang, append(args, files...)...); err != nil {
		return dl.Lib{}, err
	}
	return dl.Open(out)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Run runs a compiler; the error has what it says.
func Run(clang string, args ...string) error {
	if text, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", clang, err, text)
	}
	return nil
}
