package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// Sequences, pages and queries that are not there are refused: the kernel would read past the
// operands.
func TestCheckSequences(t *testing.T) {
	of := func(shape ...int) ops.View { return ops.View{DType: dtype.F32, Layout: layout.Contiguous(shape)} }
	const huge = int(^uint(0) >> 1)
	for _, c := range []struct {
		name string
		p    Problem
		text string // of the error, "" for none
	}{
		{"lengths", Problem{Q: of(2, 1, 1, 3, 8), K: of(2, 1, 9, 8), Sequences: []Sequence{{Keys: 9}, {Key: 9}}}, ""},
		{"one more key", Problem{Q: of(2, 1, 1, 3, 8), K: of(2, 1, 9, 8), Sequences: []Sequence{{Keys: 9}, {Keys: 10}}}, "sequence 1: 10 keys from 0 on, there are 9"},
		{"overflow", Problem{Q: of(1, 1, 1, 3, 8), K: of(1, 1, 9, 8), Sequences: []Sequence{{Key: 5, Keys: huge}}}, "sequence 0"},
		{"negative", Problem{Q: of(1, 1, 1, 3, 8), K: of(1, 1, 9, 8), Sequences: []Sequence{{Key: -1, Keys: 2}}}, "sequence 0"},
		{"negative length", Problem{Q: of(1, 1, 1, 3, 8), K: of(1, 1, 9, 8), Sequences: []Sequence{{Keys: -1}}}, "sequence 0"},
		{"batches", Problem{Q: of(2, 1, 1, 3, 8), K: of(2, 1, 9, 8), Sequences: []Sequence{{}}}, "queries [2, 1, 1, 3, 8] of 1 sequences"},
		{"batches of keys", Problem{Q: of(3, 1, 1, 3, 8), K: of(2, 1, 9, 8), Sequences: make([]Sequence, 3)}, "keys [2, 1, 9, 8] of 3 sequences"},
		{"packed", Problem{Q: of(1, 7, 2, 8), K: of(1, 1, 9, 8), Packed: true, Sequences: []Sequence{{0, 5, 0, 9}, {5, 2, 9, 0}}}, ""},
		{"packed queries", Problem{Q: of(1, 7, 2, 8), K: of(1, 1, 9, 8), Packed: true, Sequences: []Sequence{{5, 3, 0, 9}}}, "3 queries from 5 on, there are 7"},
		{"packed and not", Problem{Q: of(1, 1, 1, 7, 8), K: of(1, 1, 9, 8), Packed: true, Sequences: make([]Sequence, 1)}, "queries"},
		{"pages", Problem{Q: of(2, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 16, Pages: []int32{3, 0, 1}, Sequences: []Sequence{{Key: 1, Keys: 32}, {Keys: 3}}}, ""},
		{"too few pages", Problem{Q: of(1, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 16, Pages: []int32{3, 0, 1}, Sequences: []Sequence{{Key: 1, Keys: 33}}}, "33 keys in pages of 16"},
		{"no such page", Problem{Q: of(1, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 16, Pages: []int32{4}, Sequences: []Sequence{{Keys: 1}}}, "page 0 of the list is 4, there are 4"},
		{"negative page", Problem{Q: of(1, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 16, Pages: []int32{-1}, Sequences: []Sequence{{Keys: 1}}}, "page 0 of the list is -1"},
		{"size of pages", Problem{Q: of(1, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 32, Pages: []int32{1}, Sequences: []Sequence{{Keys: 1}}}, "pages of 32 tokens"},
		{"no sequences", Problem{Q: of(1, 1, 1, 3, 8), K: of(4, 1, 16, 8), PageTokens: 16}, "without sequences"},
		{"mask", Problem{Q: of(1, 1, 1, 3, 8), K: of(1, 1, 9, 8), Mask: of(1), Sequences: make([]Sequence, 1)}, "a mask of sequences"},
	} {
		c.p.V = c.p.K
		err := c.p.checkSequences()
		if c.text == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorIs(t, err, layout.ErrShape, c.name)
		require.ErrorContains(t, err, c.text, c.name)
	}
}
