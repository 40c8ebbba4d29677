package amd64

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Behind a loop nothing uses what is defined in it, whatever joins edges lead to: they
// get more arguments on the way.
func TestCloseLoops(t *testing.T) {
	m, err := ir.Parse(`module "k.Uses"

kernel @Uses(%0: ptr<global,u64>, %1: i64, %2: ptr<global,u64>, %3: i64) args(out slice u64 "[]uint64", in slice u64 "[]uint64") {
b0:
  %4 = thread 0 : i64
  %5 = const 1 : i64
  %6 = const 0 : u64
  %7 = convert %4 : u64
  jump b1(%4, %7, %6)
b1(%8: i64, %9: u64, %10: u64):
  %11 = lt %8, %3 : bool
  br %11, b2, b3
b2:
  %12 = offset %2, %8 : ptr<global,u64>
  %13 = load %12 : u64
  %14 = add %8, %5 : i64
  %15 = add %9, %13 : u64
  %16 = xor %10, %15 : u64
  jump b1(%14, %15, %16)
b3:
  %17 = lt %10, %7 : bool
  br %17, b5(%6), b4
b4:
  jump b5(%9)
b5(%18: u64):
  %19 = add %18, %10 : u64
  %20 = offset %0, %4 : ptr<global,u64>
  store %20, %19
  ret
}
`)
	require.NoError(t, err)
	f := m.Kernel()
	closeLoops(f)
	require.NoError(t, ir.Verify(m))
	for _, loop := range analysis.Loops(f, analysis.InEdges(f)) {
		in := func(v *ir.Value) bool { return v.Block != nil && v.Op != ir.OpConst && loop.Has(v.Block) }
		for _, b := range f.Blocks {
			if loop.Has(b) {
				continue
			}
			for _, v := range b.Instrs {
				for _, x := range v.Args {
					assert.False(t, in(x), "b%d: %v takes %%%d of the loop", b.ID, v.Op, x.ID)
				}
			}
			for _, e := range b.Term.Succs {
				for _, x := range e.Args {
					assert.False(t, in(x), "b%d passes %%%d of the loop to b%d", b.ID, x.ID, e.To.ID)
				}
			}
		}
	}
}
