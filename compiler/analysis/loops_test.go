package analysis_test

import (
	"testing"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoops(t *testing.T) {
	// b1 is a loop over the loop b2; b5 leaves both from the inside.
	m, err := ir.Parse(`func @f(%0: bool) {
b0:
  jump b1
b1:
  br %0, b2, b6
b2:
  br %0, b3, b4
b3:
  br %0, b5, b2
b4:
  jump b1
b5:
  jump b6
b6:
  ret
}`)
	require.NoError(t, err)
	f := m.Funcs[0]
	b := f.Blocks
	loops := analysis.Loops(f, analysis.InEdges(f))
	require.Len(t, loops, 2)
	assert.Same(t, b[1], loops[0].Header)
	assert.Same(t, loops[0], loops[1].Parent)
	assert.Equal(t, 2, loops[1].Depth)
	assert.Len(t, loops[1].Exits(), 2)

	// The blocks of each loop stand together.
	order := map[*ir.Block]int{}
	for i, x := range analysis.LoopOrder(f) {
		order[x] = i
	}
	require.Len(t, order, 7)
	for _, l := range loops {
		lo, hi := len(b), -1
		for _, x := range l.Blocks {
			lo, hi = min(lo, order[x]), max(hi, order[x])
		}
		assert.Equal(t, len(l.Blocks), hi-lo+1)
		assert.Equal(t, lo, order[l.Header])
	}
}
