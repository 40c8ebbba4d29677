package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// stepping is a cache of which steps are one graph: its operands are changed between launches.
type stepping struct {
	q, k, v, table, cos, sin *tensor.Tensor
	y                        *tensor.Tensor
	graph                    *tensor.Graph
}

// newStepping captures a step of so many sequences.
func newStepping(
	t *testing.T, d *tensor.Device, n, numbers, rotated int,
	attend func(q, k, v, table *tensor.Tensor, keys *Rotation) *tensor.Tensor,
) *stepping {
	t.Helper()
	s := &stepping{table: tensor.Zeros(d, tensor.I32, numbers)}
	s.q, s.k, s.v = qkv(d, n, 4, 2, 1, 1, 8)
	var keys *Rotation
	if rotated > 0 {
		s.cos, s.sin = tensor.Ones(d, tensor.F32, n, rotated), tensor.Zeros(d, tensor.F32, n, rotated)
		keys = &Rotation{Cos: s.cos, Sin: s.sin}
	}
	var err error
	s.graph, err = d.Capture(func() error {
		s.y = attend(s.q, s.k, s.v, s.table, keys)
		return s.y.Err()
	})
	require.NoError(t, err)
	return s
}

// next is the result of other operands.
func (s *stepping) next(t *testing.T, q, k, v *tensor.Tensor, numbers []int32) *tensor.Tensor {
	t.Helper()
	d := q.Device()
	for to, x := range map[*tensor.Tensor]*tensor.Tensor{s.q: q, s.k: k, s.v: v, s.table: tensor.From(d, numbers, len(numbers))} {
		require.NoError(t, to.Assign(x))
	}
	require.NoError(t, s.graph.Launch())
	return s.y.Copy()
}

// A graph of a step stores and attends to as many tokens as the numbers on the device say.
func TestStepCaptured(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		for name, o := range map[string]Options{
			"plain": {Causal: true}, "slopes": {ALiBi: tensor.Ones(d, tensor.F32, 4)},
			"options": {Causal: true, Scale: 0.5, SoftCap: 2, Sinks: tensor.Ones(d, tensor.F32, 4)},
		} {
			q, k, v := qkv(d, 1, 4, 2, 40, 40, 8)
			cut := func(x *tensor.Tensor, at, n int) *tensor.Tensor { return x.Narrow(2, at, n) }
			c, plain := NewCache(4), NewCache(64)
			c.Append(cut(k, 0, 5), cut(v, 0, 5))
			require.NoError(t, c.Reserve(32))
			require.NoError(t, c.Reserve(16)) // there is room
			keys, _ := c.Memory()
			require.Equal(t, 32, keys.Size(2))
			attend := func(q, k, v, table *tensor.Tensor, by *Rotation) *tensor.Tensor {
				return c.AttendStep(q, k, v, Step{Table: table, MaxKeys: 32, Keys: by}, o)
			}
			s := newStepping(t, d, 1, 4, 0, attend)
			require.Equal(t, 5, c.Len())
			plain.Append(cut(k, 0, 5), cut(v, 0, 5))
			at := 5
			for range 20 {
				if at == 15 { // as of tokens that were not taken
					require.NoError(t, c.Truncate(9))
					require.NoError(t, plain.Truncate(9))
				}
				numbers := c.Place().Numbers(nil)
				x := []*tensor.Tensor{cut(q, at, 1), cut(k, at, 1), cut(v, at, 1)}
				got := s.next(t, x[0], x[1], x[2], numbers)
				same(t, plain.Attend(x[0], x[1], x[2], o), got, 2e-5)
				// The same bits without a graph.
				same(t, attend(x[0], x[1], x[2], tensor.From(d, numbers, 4), nil), got, 0)
				c.Advance()
				at++
			}
			same(t, plain.Keys(), c.Keys(), 0)
			same(t, plain.Values(), c.Values(), 0)
			require.NoError(t, s.graph.Close(), name)
		}
	}
}

// Keys are rotated when they are stored, and those of a window stored over others.
func TestStepRotating(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		q, k, v := qkv(d, 1, 4, 2, 30, 30, 8)
		cos, sin := fn.RopeTable(d, tensor.F32, 6, 30, 0, fn.RopeScaling{})
		at := func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Narrow(2, i, 1) }
		ring, plain := NewRotating(7), NewRotating(7)
		for _, r := range []*Rotating{ring, plain} {
			r.AppendRotated(at(k, 0), at(v, 0), Rotation{Cos: cos, Sin: sin})
		}
		s := newStepping(t, d, 1, 4, 3, func(q, k, v, table *tensor.Tensor, by *Rotation) *tensor.Tensor {
			return ring.AttendStep(q, k, v, Step{Table: table, MaxKeys: 7, Keys: by}, Options{Causal: true})
		})
		for i := 1; i < 30; i++ {
			require.NoError(t, s.cos.Assign(cos.Narrow(0, i, 1)))
			require.NoError(t, s.sin.Assign(sin.Narrow(0, i, 1)))
			got := s.next(t, at(q, i), at(k, i), at(v, i), ring.Place().Numbers(nil))
			ring.Advance()
			turned := fn.Rope(at(k, i), cos.Narrow(0, i, 1), sin.Narrow(0, i, 1))
			same(t, plain.Attend(at(q, i), turned, at(v, i), Options{}), got, 2e-5)
			require.Equal(t, plain.Len(), ring.Len())
			require.Equal(t, plain.Oldest(), ring.Oldest())
		}
	}
}

// Sequences in pages take one launch each to store and to attend, wherever their pages are.
func TestStepPaged(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		c, err := NewPaged(d, tensor.F32, Pages{Count: 20, Tokens: 4, Heads: 2, KeySize: 8, ValueSize: 8})
		require.NoError(t, err)
		q, k, v := qkv(d, 2, 4, 2, 24, 24, 8)
		list, plain := []*Sequence{c.Open(), c.Open()}, []*Cache{NewCache(32), NewCache(32)}
		cut := func(x *tensor.Tensor, i, at, n int) *tensor.Tensor { return x.Narrow(0, i, 1).Narrow(2, at, n) }
		for i, n := range []int{3, 8} {
			require.NoError(t, list[i].Append(cut(k, i, 0, n).Squeeze(0), cut(v, i, 0, n).Squeeze(0)))
			plain[i].Append(cut(k, i, 0, n), cut(v, i, 0, n))
		}
		const most = 8 // pages of a sequence
		s := newStepping(t, d, 2, 8+2*most, 0, func(q, k, v, table *tensor.Tensor, by *Rotation) *tensor.Tensor {
			return c.AttendStep(q, k, v, Step{Table: table, MaxKeys: 32, Keys: by}, Options{})
		})
		for range 14 {
			var numbers, pages []int32
			var x [3][]*tensor.Tensor
			for i, sequence := range list {
				require.NoError(t, sequence.Reserve(1))
				place := sequence.Place()
				place.Page = most * i
				numbers = place.Numbers(numbers)
				pages = append(append(pages, sequence.Pages()...), make([]int32, most-len(sequence.Pages()))...)
				for j, t := range []*tensor.Tensor{q, k, v} {
					x[j] = append(x[j], cut(t, i, sequence.Len(), 1))
				}
			}
			got := s.next(t, tensor.Cat(0, x[0]...), tensor.Cat(0, x[1]...), tensor.Cat(0, x[2]...), append(numbers, pages...))
			for i, sequence := range list {
				sequence.Advance()
				same(t, plain[i].Attend(x[0][i], x[1][i], x[2][i], Options{}), got.Narrow(0, i, 1), 2e-5)
			}
		}
		require.Equal(t, 20-5-6, c.Free())
		require.ErrorIs(t, list[0].Reserve(100), ErrPages)
	}
}

func TestStepErrors(t *testing.T) {
	d := open(t, "auto")
	q, k, v := qkv(d, 1, 4, 2, 1, 1, 8)
	table := tensor.Zeros(d, tensor.I32, 4)
	c := NewCache(4)
	require.ErrorIs(t, c.Reserve(5), tensor.ErrEmpty)
	require.ErrorIs(t, c.AttendStep(q, k, v, Step{Table: table, MaxKeys: 4}, Options{}).Err(), tensor.ErrEmpty)
	c.Append(k, v)
	for name, bad := range map[string]struct {
		q    *tensor.Tensor
		s    Step
		o    Options
		kind error
	}{
		"no table":  {q, Step{MaxKeys: 4}, Options{}, tensor.ErrArgument},
		"no keys":   {q, Step{Table: table}, Options{}, tensor.ErrArgument},
		"many keys": {q, Step{Table: table, MaxKeys: 5}, Options{}, tensor.ErrRange},
		"mask":      {q, Step{Table: table, MaxKeys: 4}, Options{Mask: table.Cast(tensor.F32)}, tensor.ErrArgument},
		"window":    {q, Step{Table: table, MaxKeys: 4}, Options{Window: &Window{}}, tensor.ErrArgument},
		"queries":   {tensor.Cat(2, q, q), Step{Table: table, MaxKeys: 4}, Options{}, tensor.ErrShape},
		"tables":    {q, Step{Table: table, MaxKeys: 4, Keys: &Rotation{}}, Options{}, tensor.ErrArgument},
		"failed":    {tensor.Fail("first", tensor.ErrEmpty), Step{Table: table, MaxKeys: 4}, Options{}, tensor.ErrEmpty},
	} {
		require.ErrorIs(t, c.AttendStep(bad.q, k, v, bad.s, bad.o).Err(), bad.kind, name)
	}
	half := k.Cast(tensor.F16)
	y := c.AttendStep(q.Cast(tensor.F16), half, half, Step{Table: table, MaxKeys: 4}, Options{})
	require.ErrorIs(t, y.Err(), tensor.ErrDTypeMismatch)
	ring := NewRotating(4)
	ring.Append(k, v)
	y = ring.AttendStep(q, k, v, Step{Table: table, MaxKeys: 4}, Options{ALiBi: tensor.Ones(d, tensor.F32, 4)})
	require.ErrorIs(t, y.Err(), tensor.ErrArgument)
}
