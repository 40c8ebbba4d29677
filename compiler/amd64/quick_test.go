package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
)

// tiled adds what is left and right of each point of a tile of a picture but of those at the
// edges: a row of a tile has a vector that is cut off.
const tiled = `module "k.Tiled"

kernel @Tiled(%0: ptr<global,f32>, %1: ptr<global,f32>, %2: i64) args(out slice f32 "", x slice f32 "") {
b0:
  %3 = thread 0 : i64
  %4 = blockdim 0 : i64
  %5 = block 0 : i64
  %6 = block 1 : i64
  %7 = const 32 : i64
  %8 = mul %5, WIDE : i64
  %9 = mul %6, %2 : i64
  jump b1(%3)
b1(%10: i64):
  %11 = lt %10, %7 : bool
  br %11, b2, b6
b2:
  %12 = add %8, %10 : i64
  %13 = add %9, %12 : i64
  %14 = offset %1, %13 : ptr<global,f32>
  %15 = load %14 : f32
  %16 = const 0 : i64
  %17 = gt %12, %16 : bool
  br %17, b3, b5(%15)
b3:
  %18 = lt %12, %2 : bool
  br %18, b4, b5(%15)
b4:
  %19 = add %15, %15 : f32
  jump b5(%19)
b5(%20: f32):
  %21 = offset %0, %13 : ptr<global,f32>
  store %21, %20
  %22 = add %10, %4 : i64
  jump b1(%22)
b6:
  ret
}
`

// Of the vector at the end of a row it is asked first whether all lanes are inside of the
// picture; not in front of masks that copies of code have asked for already.
func TestPartQuick(t *testing.T) {
	for level, lanes := range map[isa]int{v3: 8, v4: 16} {
		m, err := ir.Parse(strings.ReplaceAll(tiled, "WIDE", "%7"))
		require.NoError(t, err)
		require.NoError(t, pass.RunVector(m, pass.Options{WarpSize: lanes}))
		require.NoError(t, pass.RunRows(m, pass.Options{WarpSize: lanes}))
		e, err := newEmitter(m, m.Kernel(), newCode(level, &poolOf{at: map[string]int64{}}), false, false)
		require.NoError(t, err)
		var succs []int
		for c, q := range e.quick {
			assert.Negative(t, e.Heads(e.Layout.Pos[c.Block.ID]), "the test of a loop is for the vector that is cut off")
			succs = append(succs, q.Succ)
		}
		assert.Contains(t, succs, 0)
		assert.GreaterOrEqual(t, len(succs), 2)
	}
}

// A block with a tile of many rows prefetches what the next one reads and writes; not where
// it is not known how far apart blocks are.
func TestNextTile(t *testing.T) {
	for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
		for wide, want := range map[string]int{"%7": 1, "%2": 0, "%2 once": 1, "%4": 0, "%5": 0} {
			source := tiled
			if once, is := strings.CutSuffix(wide, " once"); is { // a thread does not go on along its row by blocks
				wide, source = once, strings.ReplaceAll(tiled, "blockdim 0", "const 32")
			}
			text := codeOf(t, name, strings.ReplaceAll(source, "WIDE", wide))
			_, rows, _ := strings.Cut(text, "# for blocks whose rows of threads along x are cut into vectors")
			for _, op := range []string{"prefetcht0", "prefetchw"} {
				assert.Equal(t, want, strings.Count(rows, op), "%s: %s %s\n%s", name, wide, op, rows)
			}
			assert.Equal(t, wide == "%7", strings.Contains(rows, " + 128]"), rows)
		}
	}
}
