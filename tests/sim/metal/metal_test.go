package metal_test

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/sim/metal"
)

func TestMain(m *testing.M) { metal.Main(m) }

// TestPrograms runs every program of irconf that Metal can have. The first and the
// last version of the language differ in their pragmas and fences.
func TestPrograms(t *testing.T) {
	lib := metal.Open(t)
	for _, version := range []string{"2.4", "3.2"} {
		t.Run(version, func(t *testing.T) {
			tgt, err := target.Parse("msl:" + version)
			require.NoError(t, err)
			have, _, err := irconf.Written(msl.Language, tgt, irconf.Cases())
			require.NoError(t, err)
			const batch = 300
			for first := 0; first < len(have); first += batch {
				cases := have[first:min(first+batch, len(have))]
				text, err := irconf.Together(msl.Language, tgt, cases)
				require.NoError(t, err)
				code, err := lib.Compile("#include <metal_stdlib>\n"+text, tgt.Version)
				require.NoError(t, err)
				for i, c := range cases {
					got, err := run(code, fmt.Sprintf("k%d", i), c)
					require.NoError(t, err, c.Name)
					require.NoError(t, c.Check(got))
				}
			}
		})
	}
}

// run runs a case with buffers of Go memory.
func run(code *metal.Code, name string, c irconf.Case) ([][]byte, error) {
	bufs := make([][]byte, len(c.Bufs))
	for i, b := range c.Bufs {
		words := make([]uint64, len(b)/8+1) // aligned
		bufs[i] = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8), b)]
	}
	args := c.Pack(func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bufs[i])))) })
	err := code.Run(name, c.Grid, c.Block, args)
	goruntime.KeepAlive(bufs)
	return bufs, err
}
