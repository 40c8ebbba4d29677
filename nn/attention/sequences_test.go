package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// both returns what operations and what the kernel make of an attention; the kernel's has to be
// taken.
func both(t *testing.T, f func() *tensor.Tensor) (want, got *tensor.Tensor) {
	t.Helper()
	end := byKernels(t, false)
	want = f()
	end()
	defer byKernels(t, true)()
	asked := false
	fusing = func(*problem) bool { asked = true; return true }
	got = f()
	require.True(t, asked)
	return want, got
}

// TestFusedPaged has pages in any order, sequences without a token, of one, of whole pages and not,
// of several tiles of keys, and several blocks that share these.
func TestFusedPaged(t *testing.T) {
	for at, device := range devices() {
		d := open(t, device)
		for i, n := range []struct{ page, s, d, dv, units int }{{16, 1, 32, 24, 1}, {16, 3, 16, 8, 40}, {5, 20, 7, 9, 2}} {
			c, err := NewPaged(d, tensor.F32, Pages{Count: 120, Tokens: n.page, Heads: 2, KeySize: n.d, ValueSize: n.dv})
			require.NoError(t, err)
			lengths := []int{0, 1, n.page, 4*n.page + 3, 290}
			list := make([]*Sequence, len(lengths))
			for i := range list {
				list[i] = c.Open()
			}
			for left := true; left; { // pages of sequences are between those of others
				left = false
				for i, s := range list {
					if m := min(7, lengths[i]-s.Len()); m > 0 {
						left = true
						require.NoError(t, s.Append(tensor.Randn(d, tensor.F32, 0, 1, 2, m, n.d), tensor.Randn(d, tensor.F32, 0, 1, 2, m, n.dv)))
					}
				}
			}
			q := tensor.Randn(d, tensor.F32, 0, 1, len(list), 4, n.s, n.d)
			slopes, sinks := tensor.Rand(d, tensor.F32, 0, 1, len(list), 4), tensor.Randn(d, tensor.F32, 0, 1, 4)
			end := pretend.Be(func(info *runtime.Info) { info.Units = n.units })
			for j, o := range []Options{{}, {Causal: true, ALiBi: slopes}, {Window: &Window{Left: 40, Right: 2}, Sinks: sinks}} {
				if !some(3, at, i, j) {
					continue
				}
				want, got := both(t, func() *tensor.Tensor { return c.Attend(q, list, o) })
				same(t, want, got, 2e-5)
			}
			end()
			require.ErrorIs(t, c.Attend(q.Narrow(3, 0, 5), list, Options{}).Err(), tensor.ErrShape)
			for _, yes := range []bool{true, false} {
				end := byKernels(t, yes)
				err := c.Attend(q, list, Options{Sinks: slopes}).Err()
				end()
				require.ErrorIs(t, err, tensor.ErrShape)
				require.ErrorContains(t, err, "sinks [5, 4] of sequences in pages, want (heads)")
			}
		}
	}
}

// TestFusedVarLen has tiles with rows of one sequence alone, sequences without queries, without
// keys, and of one, and those of several tiles.
func TestFusedVarLen(t *testing.T) {
	for at, device := range devices() {
		d := open(t, device)
		endsQ, endsK := []int{0, 4, 4, 5, 60, 63, 70}, []int{0, 6, 9, 10, 110, 110, 260}
		q := tensor.Randn(d, tensor.F32, 0, 1, 70, 6, 24)
		k, v := tensor.Randn(d, tensor.F32, 0, 1, 260, 2, 24), tensor.Randn(d, tensor.F32, 0, 1, 260, 2, 40)
		slopes, sinks := tensor.Rand(d, tensor.F32, 0, 1, 6, 6), tensor.Randn(d, tensor.F32, 0, 1, 6)
		for i, units := range []int{1, 100} {
			end := pretend.Be(func(info *runtime.Info) { info.Units = units })
			for j, o := range []Options{{}, {Causal: true, ALiBi: slopes, SoftCap: 3}, {Causal: true, ALiBi: sinks}, {Window: &Window{Left: 30, Right: 5}, Sinks: sinks}} {
				if !some(2, at, i, j) {
					continue
				}
				want, got := both(t, func() *tensor.Tensor { return VarLen(q, k, v, endsQ, endsK, o) })
				same(t, want, got, 2e-5)
			}
			end()
		}
		require.ErrorIs(t, VarLen(q, k, v, endsQ, endsK, Options{Sinks: sinks.Narrow(0, 0, 3)}).Err(), tensor.ErrShape)
	}
}

// TestLengths has batches of one tensor with keys of their own number, from their own place on.
func TestLengths(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		q, k, v := qkv(d, 4, 4, 2, 20, 150, 16)
		o := Options{Causal: true}
		p, err := check(q, k, v, o)
		require.NoError(t, err)
		in := p.forKernels()
		in.Sequences = []opsattention.Sequence{{Keys: 150}, {Key: 30, Keys: 77}, {Key: 150}, {Key: 149, Keys: 1}}
		for _, units := range []int{1, 30} {
			end := pretend.Be(func(info *runtime.Info) { info.Units = units })
			got, ok := p.launch("sdpa", in)
			end()
			require.True(t, ok)
			for i, s := range in.Sequences {
				of := func(x *tensor.Tensor) *tensor.Tensor { return x.Get(i).Narrow(1, s.Key, s.Keys) }
				same(t, SDPA(q.Get(i), of(k), of(v), o), got.Get(i).Flatten(0, 1), 2e-5)
			}
		}
		in.Sequences[1].Keys = 121
		bad, ok := p.launch("sdpa", in)
		require.True(t, ok)
		require.ErrorContains(t, bad.Err(), "sequence 1: 121 keys from 30 on, there are 150")
	}
}

// TestCapturedVarLen has sequences in a graph, which cannot hold the copy of their table.
func TestCapturedVarLen(t *testing.T) {
	fuse(t)
	d := open(t, "auto")
	q, k := tensor.Randn(d, tensor.F32, 0, 1, 9, 4, 8), tensor.Randn(d, tensor.F32, 0, 1, 9, 2, 8)
	ends := []int{0, 4, 9}
	want := VarLen(q, k, k, ends, ends, Options{Causal: true})
	var y *tensor.Tensor
	g, err := d.Capture(func() error {
		y = VarLen(q, k, k, ends, ends, Options{Causal: true})
		return y.Err()
	})
	require.NoError(t, err)
	require.NoError(t, g.Launch())
	same(t, want, y, 2e-5)
	require.NoError(t, g.Close())
}

// TestMarks has results of kernels in the scope of their operands, and with their mark of NoGrad.
func TestMarks(t *testing.T) {
	d := open(t, "auto")
	x := tensor.Randn(d, tensor.F32, 0, 1, 9, 2, 8)
	c, err := NewPaged(d, tensor.F32, Pages{Count: 4, Tokens: 8, Heads: 2, KeySize: 8, ValueSize: 8})
	require.NoError(t, err)
	one := c.Open()
	require.NoError(t, one.Append(x.Transpose(0, 1), x.Transpose(0, 1)))
	w := tensor.NewVar(x).Tensor()
	for name, f := range map[string]func(q *tensor.Tensor) []*tensor.Tensor{
		"one": func(q *tensor.Tensor) []*tensor.Tensor {
			y, lse := SDPAWithLSE(q, x, x, Options{})
			return []*tensor.Tensor{y, lse}
		},
		"packed": func(q *tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{VarLen(q, x, x, []int{0, 4, 9}, []int{0, 4, 9}, Options{})}
		},
		"paged": func(q *tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{c.Attend(q.Transpose(0, 1).Unsqueeze(0), []*Sequence{one}, Options{})}
		},
		"recorded": func(q *tensor.Tensor) []*tensor.Tensor {
			y, lse := SDPAWithLSE(q, w, w, Options{})
			return []*tensor.Tensor{y, lse}
		},
	} {
		for _, yes := range []bool{true, false} {
			end := byKernels(t, yes)
			for _, y := range f(x.NoGrad()) {
				require.NoError(t, y.Err(), name)
				require.False(t, y.Mul(w.Sum()).RequiresGrad(), "%s by kernels: %v", name, yes)
			}
			s := tensor.OpenScope()
			of := f(x.In(s))
			require.NoError(t, s.Close())
			for i, y := range of {
				_, err := y.Float64s()
				require.ErrorIs(t, err, tensor.ErrFreed, "%s %d by kernels: %v", name, i, yes)
			}
			end()
		}
	}
}

// TestPagedEach appends a token to each of some sequences at once, as one by one, in a pool that
// grows meanwhile, and takes tokens back.
func TestPagedEach(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	pages := Pages{Count: 3, Tokens: 2, Heads: 2, KeySize: 4, ValueSize: 3}
	one, err := NewPaged(d, tensor.F32, pages)
	require.NoError(t, err)
	each, err := NewPaged(d, tensor.F32, pages)
	require.NoError(t, err)
	require.NoError(t, one.Grow(20))
	require.Equal(t, 23, one.Count())
	require.ErrorIs(t, each.Grow(0), tensor.ErrArgument)
	var a, b []*Sequence
	for range 3 {
		a, b = append(a, one.Open()), append(b, each.Open())
	}
	same := func() {
		t.Helper()
		for i := range a {
			require.Equal(t, a[i].Len(), b[i].Len())
			for _, of := range []func(*Sequence) *tensor.Tensor{(*Sequence).Keys, (*Sequence).Values} {
				x, err := tensor.ToSlice[float32](of(a[i]))
				require.NoError(t, err)
				y, err := tensor.ToSlice[float32](of(b[i]))
				require.NoError(t, err)
				require.Equal(t, x, y)
			}
		}
	}
	for step := range 5 {
		k := tensor.Randn(d, tensor.F32, 0, 1, 3, 2, 1, 4)
		v := tensor.Randn(d, tensor.F32, 0, 1, 3, 2, 1, 3)
		for i := range a {
			require.NoError(t, a[i].Append(k.Get(i), v.Get(i)))
		}
		if step == 2 { // each third page is in use
			require.ErrorIs(t, each.AppendEach(b, k, v), ErrPages)
			require.NoError(t, each.Grow(7))
		}
		require.NoError(t, each.AppendEach(b, k, v))
		same()
	}
	require.NoError(t, a[1].Truncate(3))
	require.NoError(t, b[1].Truncate(3))
	require.ErrorIs(t, b[1].Truncate(4), tensor.ErrRange)
	require.Equal(t, 2, each.Free())
	same()
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 2, 1, 4)
	require.ErrorIs(t, each.AppendEach(b, x, x.Narrow(-1, 0, 3)), tensor.ErrShape)
	require.ErrorIs(t, each.AppendEach(nil, x, x), tensor.ErrShape)
	require.ErrorIs(t, each.AppendEach([]*Sequence{b[0], b[0]}, x, x.Narrow(-1, 0, 3)), tensor.ErrArgument)
	require.ErrorIs(t, each.AppendEach([]*Sequence{a[0], b[0]}, x, x.Narrow(-1, 0, 3)), tensor.ErrArgument)
	require.Error(t, each.AppendEach(b[:2], x, x), "values of another size")
	require.Error(t, each.AppendEach(b[:2], nil, x))
	same()
}
