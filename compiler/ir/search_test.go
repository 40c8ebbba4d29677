package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// A diamond with a loop back to its head, and a block that nothing reaches.
func TestDepthFirst(t *testing.T) {
	blocks := make([]*ir.Block, 5)
	for i := range blocks {
		blocks[i] = &ir.Block{ID: i}
	}
	to := [][]int{{1, 2}, {3}, {3}, {0}, {3}}
	next := func(b *ir.Block) (out []*ir.Block) {
		for _, i := range to[b.ID] {
			out = append(out, blocks[i])
		}
		return out
	}
	var pre, from []int
	post := ir.DepthFirst(blocks[0], len(blocks), next, func(b, by *ir.Block) {
		pre = append(pre, b.ID)
		if by != nil {
			from = append(from, by.ID)
		}
	})
	var ids []int
	for _, b := range post {
		ids = append(ids, b.ID)
	}
	require.Equal(t, []int{0, 1, 3, 2}, pre)
	require.Equal(t, []int{0, 1, 0}, from)
	require.Equal(t, []int{3, 1, 2, 0}, ids)
}
