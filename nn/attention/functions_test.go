package attention

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// steep multiplies scores, and makes those of keys far from the query less.
func steep(score float32, query, key int32) float32 { return 1.5*score - 0.125*float32(query-key) }

// slopeOfSteep is its derivative by the score.
func slopeOfSteep(float32, int32, int32) float32 { return 1.5 }

// documents attends to 50 tokens around a multiple of 100, and to the first one.
func documents(query, key int32) bool { return query/100 == key/100 && key%100 < 50 || key == 0 }

// A ScoreFunc is what operations make of scores, with gradients, at once and in blocks.
func TestScoreFunc(t *testing.T) {
	defer func(n int) { maxScores = n }(maxScores)
	for _, device := range devices() {
		d := open(t, device)
		const s, kv = 7, 9
		bias := make([]float32, s*kv)
		for i := range bias {
			bias[i] = -0.125 * float32(i/kv+kv-s-i%kv)
		}
		q, k, v := qkv(d, 2, 4, 2, s, kv, 8)
		for _, scores := range []int{1 << 23, 24} {
			maxScores = scores
			for _, o := range []Options{{Scale: 0.3}, {Scale: 0.3, Causal: true, ALiBi: tensor.Ones(d, tensor.F32, 4)}} {
				run := func(o Options) []*tensor.Tensor {
					x, y, z := tensor.NewVar(q), tensor.NewVar(k), tensor.NewVar(v)
					out, lse := SDPAWithLSE(x.Tensor(), y.Tensor(), z.Tensor(), o)
					grads, err := out.Sqr().Sum().Add(lse.Sum()).Backward()
					require.NoError(t, err)
					return []*tensor.Tensor{out, lse, grads.Of(x.Tensor()), grads.Of(y.Tensor()), grads.Of(z.Tensor())}
				}
				other := o
				o.ScoreFunc, o.ScoreGrad = steep, slopeOfSteep
				other.Scale, other.Mask = 0.45, tensor.From(d, bias, s, kv)
				want := run(other)
				for i, got := range run(o) {
					same(t, want[i], got, 1e-5)
				}
				o.ScoreGrad = nil
				x := tensor.NewVar(q)
				out := SDPA(x.Tensor(), k, v, o)
				require.NoError(t, out.Err())
				grads, err := out.Sum().Backward()
				if err == nil {
					err = grads.Of(x.Tensor()).Err()
				}
				require.ErrorIs(t, err, tensor.ErrNoGradient)
				require.ErrorContains(t, err, "set Options.ScoreGrad")
			}
		}
	}
}

func TestFunctionErrors(t *testing.T) {
	d := open(t, "auto")
	x := tensor.Ones(d, tensor.F64, 1, 2, 3, 4)
	for _, c := range []struct {
		o    Options
		kind error
		text string
	}{
		{Options{ScoreFunc: steep}, tensor.ErrDType, "cast them"},
		{Options{ScoreGrad: slopeOfSteep}, tensor.ErrArgument, "without its ScoreFunc"},
		{Options{BlockMask: new(BlockMask)}, tensor.ErrArgument, "without a MaskFunc"},
	} {
		err := SDPA(x, x, x, c.o).Err()
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}
}

// TestFusedFunctions has functions in the kernel, with tiles that are left out and not, for one
// device whose blocks share keys and one where they do not.
func TestFusedFunctions(t *testing.T) {
	for at, device := range devices() {
		d := open(t, device)
		for i, n := range []struct{ s, kv, units, threads int }{{37, 330, 1, 0}, {2, 1500, 40, 512}} {
			q, k, v := qkv(d, 1, 4, 2, n.s, n.kv, 16)
			var blocks BlockMask
			slopes := tensor.Rand(d, tensor.F32, 0, 0.3, 4)
			for j, o := range []Options{
				{MaskFunc: documents}, {ScoreFunc: steep, Causal: true}, {MaskFunc: documents, BlockMask: &blocks},
				{MaskFunc: documents, BlockMask: &blocks, ScoreFunc: steep, Window: &Window{Left: 133, Right: 40}},
				{MaskFunc: prefixMask, BlockMask: &blocks}, {ScoreFunc: steep, SoftCap: 2, ALiBi: slopes},
			} {
				if (at == 0 || i == 0) && (j == 3 || j == 4) || some(3, at, i, j) { // both that have a table for both functions
					plain(t, q, k, v, o, n.threads)
				}
			}
			if at == 0 {
				require.Len(t, blocks.tables, 2, "one for each function")
			}
		}
	}
}

// TestOrder has the score of one query and two keys: ScoreFunc is of the capped products, and ALiBi
// is added behind it. Scores are 1.5·2·tanh(2·1/2) − 0.125 − 0.5 and 1.5·2·tanh(2·3/2).
func TestOrder(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		q, k := tensor.From(d, []float32{2}, 1, 1, 1), tensor.From(d, []float32{1, 3}, 1, 2, 1)
		o := Options{Scale: 1, ScoreFunc: steep, SoftCap: 2, ALiBi: tensor.From(d, []float32{0.5})}
		for _, yes := range []bool{true, false} {
			end := byKernels(t, yes)
			out, lse := SDPAWithLSE(q, k, k, o)
			end()
			require.InDelta(t, 3.2207907723823, list(t, lse)[0], 1e-6, "log(e^1.6597824679 + e^2.9851642611)")
			require.InDelta(t, 2.5801514063283, list(t, out)[0], 1e-6)
		}
	}
}

// TestFusedFunctionsOfSequences counts positions in each sequence.
func TestFusedFunctionsOfSequences(t *testing.T) {
	d := open(t, "auto")
	ends := []int{0, 40, 41, 41, 190}
	q, k := tensor.Randn(d, tensor.F32, 0, 1, 190, 4, 8), tensor.Randn(d, tensor.F32, 0, 1, 190, 2, 8)
	o := Options{MaskFunc: documents, ScoreFunc: steep, Causal: true, BlockMask: new(BlockMask)}
	want, got := both(t, func() *tensor.Tensor { return VarLen(q, k, k, ends, ends, o) })
	same(t, want, got, 2e-5)
	c, err := NewPaged(d, tensor.F32, Pages{Count: 40, Tokens: 8, Heads: 2, KeySize: 8, ValueSize: 8})
	require.NoError(t, err)
	var list []*Sequence
	for i := range 4 {
		list = append(list, c.Open())
		part := k.Narrow(0, ends[i], ends[i+1]-ends[i]).Transpose(0, 1)
		require.NoError(t, list[i].Append(part, part))
	}
	queries := tensor.Randn(d, tensor.F32, 0, 1, 4, 4, 1, 8)
	want, got = both(t, func() *tensor.Tensor { return c.Attend(queries, list, o) })
	same(t, want, got, 2e-5)
}

// TestBlockMask has values that are no numbers in tiles that no query of a tile sees: with a
// BlockMask these are not read. It is computed once, for each function and size.
func TestBlockMask(t *testing.T) {
	fuse(t)
	for _, device := range devices() {
		d := open(t, device)
		defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 1, 512 })()
		q, k, v := qkv(d, 1, 4, 2, 640, 640, 8)
		var blocks BlockMask
		o := Options{MaskFunc: documents, BlockMask: &blocks}
		want := SDPA(q, k, v, Options{MaskFunc: documents})
		table := blocks.tables
		require.Empty(t, table)
		bad := v.AddScalar(0)
		// Keys 128 to 191 are a tile. Queries from 200 on see none of them.
		require.NoError(t, bad.SliceSet(tensor.Zeros(d, tensor.F32, 1, 2, 64, 8).AddScalar(math.NaN()), 2, 128))
		from := func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(2, 300, 340) }
		var first *tensor.Tensor
		for range 2 {
			same(t, from(want), from(SDPA(q, k, bad, o)), 0)
			require.Len(t, blocks.tables, 1)
			for _, table := range blocks.tables {
				if first == nil {
					first = table
				}
				require.Same(t, first, table, "the table was computed again")
			}
		}
		require.NoError(t, SDPA(q.Narrow(2, 0, 100), k, v, o).Err())
		require.Len(t, blocks.tables, 2)
	}
}

// TestBlockMaskCaptured has a call between a capture, which computes nothing, and the first launch
// of the graph: a table of the graph has no numbers yet.
func TestBlockMaskCaptured(t *testing.T) {
	fuse(t)
	d := open(t, "auto")
	q, k, v := qkv(d, 1, 4, 2, 130, 130, 8)
	var blocks BlockMask
	o := Options{MaskFunc: documents, BlockMask: &blocks}
	want := SDPA(q, k, v, Options{MaskFunc: documents})
	var y *tensor.Tensor
	g, err := d.Capture(func() error {
		y = SDPA(q, k, v, o)
		return y.Err()
	})
	require.NoError(t, err)
	require.Empty(t, blocks.tables)
	same(t, want, SDPA(q, k, v, o), 0)
	require.Len(t, blocks.tables, 1)
	require.NoError(t, g.Launch())
	same(t, want, y, 0)
	require.NoError(t, g.Close())
	g, err = d.Capture(func() error { // with a table that is there
		y = SDPA(q, k, v, o)
		return y.Err()
	})
	require.NoError(t, err)
	require.NoError(t, g.Launch())
	same(t, want, y, 0)
	require.NoError(t, g.Close())
}

// TestBlockMaskBound has more sizes than there are tables, as decoding has.
func TestBlockMaskBound(t *testing.T) {
	fuse(t)
	d := open(t, "auto")
	q, k, v := qkv(d, 1, 1, 1, 1, maxTables+2, 8)
	var blocks BlockMask
	for n := range maxTables + 2 {
		k, v := k.Narrow(2, 0, n+1), v.Narrow(2, 0, n+1)
		got := SDPA(q, k, v, Options{MaskFunc: documents, BlockMask: &blocks})
		same(t, SDPA(q, k, v, Options{MaskFunc: documents}), got, 0)
		require.Len(t, blocks.tables, min(n+1, maxTables))
		require.Len(t, blocks.kept, min(n+1, maxTables))
	}
	for key := range blocks.tables {
		require.Greater(t, key.kv, 2, "the oldest are gone")
	}
}
