package hip

import (
	"embed"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/sim/standin"
)

//go:embed src
var sources embed.FS

// Archs are the architectures that can be simulated, with the width of a wave.
var Archs = map[string]int{"gfx90a": 64, "gfx942": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32}

// Library is the stand-in.
type Library struct {
	Path string
	tb   testing.TB
	lib  dl.Lib
}

var built = standin.Library{What: "AMD GPUs", Name: "libamdhip64.so", Sources: sources, Flags: func() ([]string, error) {
	number, err := buildNumber()
	return []string{"-DKILN_SIM_WAVE=64", fmt.Sprintf("-DSIM_BUILD=%d", number)}, err
}}

// Open returns the stand-in in its initial state, and puts it back into that when
// the test ends.
func Open(tb testing.TB) *Library {
	tb.Helper()
	l := Attach(tb)
	l.Reset()
	tb.Cleanup(l.Reset)
	return l
}

// Attach returns the stand-in as it is.
func Attach(tb testing.TB) *Library {
	tb.Helper()
	lib := built.Open(tb)
	return &Library{Path: lib.Name(), tb: tb, lib: lib}
}

// buildNumber is the last part of HIP's version: another one for other sources.
func buildNumber() (int, error) {
	sum := crc32.NewIEEE()
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		sum.Write(text)
		return err
	})
	return int(sum.Sum32() % 100000), err
}

// Main runs the tests and removes what was built for them.
func Main(m *testing.M) {
	code := tooltest.Run(m)
	Clean()
	os.Exit(code)
}

// Clean removes what was built.
func Clean() { built.Clean() }

//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr { return dl.Call(fn, args) }

func (l *Library) sym(name string) uintptr {
	addr, err := l.lib.Sym(name)
	if err != nil {
		l.tb.Fatal(err)
	}
	return addr
}

func cstring(s string) *byte { return &append([]byte(s), 0)[0] }

// Reset waits for the queue and forgets errors, orders and counts.
func (l *Library) Reset() { call(l.sym("sim_reset")) }

// Fail orders an error: the function called name returns code, after it has been
// called `after` times, count times in all (0 for always).
func (l *Library) Fail(name string, code, after, count int) {
	call(l.sym("sim_fail"), uintptr(unsafe.Pointer(cstring(name))), uintptr(code), uintptr(after), uintptr(count))
}

// Revive makes a device that was lost usable again.
func (l *Library) Revive(ordinal int) { call(l.sym("sim_revive"), uintptr(ordinal)) }

// Calls is how often a function was called since the last Reset.
func (l *Library) Calls(name string) int {
	return int(int32(call(l.sym("sim_calls"), uintptr(unsafe.Pointer(cstring(name))))))
}

// Set sets "devices" (how many of them there are), "pools" (-1: the runtime does not know the
// attribute), "memory" (bytes), "delay_us" (before every operation), "strict" (1: threads that have
// returned are missed at a barrier), "hip7" (1: the runtime is that of HIP 7, for devices that are
// opened from now on), "cooperative" (0: a device that is opened from now on has no launches of
// blocks that are all resident) or "quick" (1: texts are compiled without optimising, which is
// three times as fast and runs slower).
func (l *Library) Set(what string, value int) {
	call(l.sym("sim_set"), uintptr(unsafe.Pointer(cstring(what))), uintptr(value))
}

// Get reads "used" (bytes), "hosts", "streams", "events", "modules", "graphs": what
// exists now.
func (l *Library) Get(what string) int {
	return int(call(l.sym("sim_get"), uintptr(unsafe.Pointer(cstring(what)))))
}

// Launch is a launch that the stand-in was asked for.
type Launch struct {
	Grid, Block            [3]uint64
	Shared, Stream, Length uint64
	Args                   [4096]byte
}

// Last is the latest launch.
func (l *Library) Last() *Launch {
	out := new(Launch)
	call(l.sym("sim_last"), uintptr(unsafe.Pointer(out)))
	return out
}
