package attention

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// checkSequences checks that all queries, keys and pages of the sequences are there.
func (p *Problem) checkSequences() error {
	if p.Table.DType != 0 {
		return p.checkTable()
	}
	if p.Sequences == nil {
		if p.Packed || p.PageTokens != 0 || p.Pages != nil {
			return fmt.Errorf("%w: pages or packed queries without sequences", layout.ErrShape)
		}
		return nil
	}
	q, k, v := p.Q.Layout.Shape(), p.K.Layout.Shape(), p.V.Layout.Shape()
	switch {
	case !k[:3].Equal(v[:3]):
		return fmt.Errorf("%w: keys %v and values %v", layout.ErrShape, k, v)
	case p.Mask.DType != 0:
		return fmt.Errorf("%w: a mask of sequences", layout.ErrShape)
	case p.Packed && len(q) != 4, !p.Packed && (len(q) != 5 || q[0] != len(p.Sequences)):
		return fmt.Errorf("%w: queries %v of %d sequences", layout.ErrShape, q, len(p.Sequences))
	case p.PageTokens < 0 || p.PageTokens > 0 && p.PageTokens != k[2]:
		return fmt.Errorf("%w: pages of %d tokens in keys %v", layout.ErrShape, p.PageTokens, k)
	case p.PageTokens == 0 && k[0] != 1 && k[0] != len(p.Sequences) || p.Packed && p.PageTokens == 0 && k[0] != 1:
		return fmt.Errorf("%w: keys %v of %d sequences", layout.ErrShape, k, len(p.Sequences))
	case max(len(p.Pages), k[2]) > math.MaxInt32 || p.Packed && q[1] > math.MaxInt32/max(q[2], 1):
		return fmt.Errorf("%w: more than 2³¹ tokens", layout.ErrShape)
	}
	for i, page := range p.Pages {
		if page < 0 || int(page) >= k[0] {
			return fmt.Errorf("%w: page %d of the list is %d, there are %d", layout.ErrShape, i, page, k[0])
		}
	}
	for i, s := range p.Sequences {
		if err := p.checkSequence(s); err != nil {
			return fmt.Errorf("%w: sequence %d: %w", layout.ErrShape, i, err)
		}
	}
	return nil
}

// checkSequence checks that a sequence is inside of the operands.
func (p *Problem) checkSequence(s Sequence) error {
	inside := func(from, n, all int) bool { return from >= 0 && n >= 0 && from <= all && n <= all-from }
	if tokens := p.Q.Layout.Shape()[1]; p.Packed && !inside(s.Query, s.Queries, tokens) {
		return fmt.Errorf("%d queries from %d on, there are %d", s.Queries, s.Query, tokens)
	}
	if p.PageTokens == 0 {
		if keys := p.K.Layout.Shape()[2]; !inside(s.Key, s.Keys, keys) {
			return fmt.Errorf("%d keys from %d on, there are %d", s.Keys, s.Key, keys)
		}
		return nil
	}
	pages := s.Keys / p.PageTokens
	if s.Keys%p.PageTokens > 0 {
		pages++
	}
	if s.Keys < 0 || !inside(s.Key, pages, len(p.Pages)) {
		return fmt.Errorf("%d keys in pages of %d tokens from page %d on of a list of %d", s.Keys, p.PageTokens, s.Key, len(p.Pages))
	}
	return nil
}

// table returns the numbers of the sequences, of tiles of m rows if queries are packed, and of
// pages, as the kernel has them, and how many blocks there are without splits.
func (p *Problem) table(k *kernels.Problem, m int) (list []int32, blocks int) {
	if p.Sequences == nil {
		k.PagesAt = p.sizes().batches * TableLen // if there is a table
		return nil, k.Tiles * (k.AllRows / max(k.Rows, 1))
	}
	blocks = k.Tiles * k.Heads * len(p.Sequences)
	for _, s := range p.Sequences {
		list = append(list, int32(s.Query), int32(s.Queries), int32(s.Key), int32(s.Keys))
	}
	if k.TilesAt = len(list); p.Packed {
		for i, s := range p.Sequences {
			for row := 0; row < s.Queries*k.Groups; row += m {
				list = append(list, int32(i), int32(row))
			}
		}
		blocks = (len(list) - k.TilesAt) / 2 * k.Heads
	}
	k.PagesAt = len(list)
	return append(list, p.Pages...), blocks
}

// checkTable checks the shapes of operands of batches with a table.
func (p *Problem) checkTable() error {
	q, k, v, t := p.Q.Layout.Shape(), p.K.Layout.Shape(), p.V.Layout.Shape(), p.Table.Layout
	switch {
	case p.Table.DType != dtype.I32:
		return fmt.Errorf("%w: a table of %v", ops.ErrDType, p.Table.DType)
	case !t.IsContiguous() || len(t.Shape()) != 1 || t.Shape()[0] < TableLen*q[0]:
		return fmt.Errorf("%w: a table %v of %d batches", layout.ErrShape, t, q[0])
	case p.Packed || p.Sequences != nil || p.Mask.DType != 0:
		return fmt.Errorf("%w: a table with sequences, packed queries or a mask", layout.ErrShape)
	case !k[:3].Equal(v[:3]) || p.PageTokens == 0 && k[0] != q[0] || p.PageTokens > 0 && p.PageTokens != k[2]:
		return fmt.Errorf("%w: keys %v and values %v of %d batches in pages of %d tokens",
			layout.ErrShape, k, v, q[0], p.PageTokens)
	case p.PageTokens == 0 && p.MaxKeys > k[2] || p.MaxKeys < 1:
		return fmt.Errorf("%w: up to %d of %d keys", layout.ErrShape, p.MaxKeys, k[2])
	}
	return nil
}

// numbers are a table on the device.
type numbers struct {
	runtime.SliceHeader
	own ops.Scratch
}

// Free frees the memory, if it was allocated for a launch.
func (n *numbers) Free(s *runtime.Stream) { n.own.Free(s) }

// onDevice is the table that is there already, or what is copied.
func (p *Problem) onDevice(s *runtime.Stream, list []int32) (n numbers, err error) {
	if p.Table.DType != 0 {
		return numbers{SliceHeader: p.Table.Header()}, nil
	}
	n.own, err = upload(s, list)
	n.SliceHeader = runtime.SliceHeader{Buf: n.own.Buf, Len: len(list)}
	return n, err
}

// upload copies numbers to the device.
func upload(s *runtime.Stream, list []int32) (m ops.Scratch, err error) {
	if len(list) == 0 {
		return m, nil
	}
	if err := m.Alloc(s, len(list)*dtype.I32.Size()); err != nil {
		return m, err
	}
	all, err := runtime.View[int32](m.Buf)
	if err == nil {
		err = all.Slice(0, len(list)).CopyFromAsync(s, list)
	}
	if err != nil {
		m.Free(s)
	}
	return m, err
}
