package metal_test

import (
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
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
			if version == "2.4" {
				tooltest.Sweep(t, "version 3.2")
			}
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

// Products and sums are kept apart where the text asks for it, in the words of its
// version, and only there.
func TestContraction(t *testing.T) {
	lib := metal.Open(t)
	const kernel = "struct A { device float* p; };\nkernel void k(constant A& a [[buffer(0)]]) { a.p[0] = a.p[1] * a.p[1] + a.p[2]; }\n"
	for _, c := range []struct {
		pragma  string
		version int
		apart   bool
	}{
		{"#pragma clang fp contract(off)", 24, true}, {"#pragma METAL fp contract(off)", 32, true}, {"#pragma METAL fp contract(off)", 31, false}, {"", 32, false},
	} {
		code, err := lib.Compile("#include <metal_stdlib>\n"+c.pragma+"\n"+kernel, c.version)
		require.NoError(t, err)
		p := &[3]float32{7, 1 + 0x1p-12, -1 - 0x1p-11} // the product ends in 2⁻²⁴, which rounding takes
		require.NoError(t, code.Run("k", [3]int{1, 1, 1}, [3]int{1, 1, 1}, binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(p))))))
		if c.apart || cpu.X86.HasFMA {
			require.Equal(t, c.apart, p[0] == 0, "%q for %d: %v", c.pragma, c.version, p[0])
		}
		goruntime.KeepAlive(p)
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
