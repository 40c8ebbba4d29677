package artifact

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

func TestPositions(t *testing.T) {
	for _, list := range [][]ir.Pos{
		{},
		{{}},
		{{File: "k/k.go", Line: 7, Col: 3}, {}, {File: "dsl/math.go", Line: 1200, Col: 90}, {File: "k/k.go", Line: 8}},
		{{Line: 1}}, // of no file
	} {
		b := appendPositions(nil, list)
		got, err := Table(b).Positions()
		require.NoError(t, err)
		assert.Equal(t, list, got)
		for n := range b { // no part of it is a table
			_, err := Table(b[:n]).Positions()
			assert.ErrorIs(t, err, errPositions, "%d of %d bytes of %v", n, len(b), list)
		}
		_, err = Table(append(b, 0)).Positions()
		assert.ErrorIs(t, err, errPositions)
	}
	_, err := Table([]byte{1, 1, 'k', 1, 2, 1, 1}).Positions()
	assert.ErrorIs(t, err, errPositions, "a file that is not there")
	_, err = Table([]byte{0, 0xff, 0xff, 0xff, 0x7f}).Positions()
	assert.ErrorIs(t, err, errPositions, "more than there are")
}
