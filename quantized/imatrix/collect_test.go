package imatrix_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

func device(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// rows is what a weight was multiplied with, computed plainly.
type plain struct {
	columns int
	sums    []float64
	counts  []int64
}

func newPlain(experts, columns int) *plain {
	return &plain{columns, make([]float64, experts*columns), make([]int64, experts)}
}

func (p *plain) add(expert int, row []float32) {
	p.counts[expert]++
	for i, v := range row {
		p.sums[expert*p.columns+i] += float64(v) * float64(v)
	}
}

func (p *plain) equal(t *testing.T, e *imatrix.Entry) {
	t.Helper()
	require.Equal(t, p.counts, e.Counts, e.Name)
	require.Len(t, e.Sums, len(p.sums), e.Name)
	for i, want := range p.sums {
		require.InDelta(t, want, e.Sums[i], 1e-5*want+1e-30, "%s: %d", e.Name, i)
	}
}

func entry(t *testing.T, m *imatrix.Matrix, name string) *imatrix.Entry {
	t.Helper()
	e, ok := m.Get(name)
	require.True(t, ok, "%q among %d", name, m.Len())
	return e
}

// random is numbers of several magnitudes.
func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(3))))
	}
	return x
}

// Rows of any type, shape and layout are added, over several calls.
func TestCollector(t *testing.T) {
	d := device(t)
	const columns = 37
	var c imatrix.Collector
	want := map[string]*plain{"a": newPlain(1, columns), "t": newPlain(1, columns)}
	for call := range 5 {
		rows := 3 + 40*call
		x := random(rows * columns)
		for _, dt := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			if !d.Supports(dt) {
				continue
			}
			in := tensor.From(d, x, rows, columns).Cast(dt)
			list, err := tensor.ToSlice[float32](in.Cast(tensor.F32))
			require.NoError(t, err)
			for i := range rows {
				want["a"].add(0, list[i*columns:][:columns])
				want["t"].add(0, list[i*columns:][:columns])
			}
			c.Observe("a", in.Reshape(1, rows, columns), nil)
			c.Observe("t", in.T().Contiguous().T(), nil)
		}
	}
	c.Observe("none", tensor.Zeros(d, tensor.F32, 0, 4), nil)
	m, err := c.Matrix()
	require.NoError(t, err)
	require.Equal(t, 3, m.Len())
	for name, p := range want {
		p.equal(t, entry(t, m, name))
	}
	require.Equal(t, []float32{1, 1, 1, 1}, entry(t, m, "none").Weights(), "without rows")
	c.Observe("a", tensor.Ones(d, tensor.F32, columns), nil) // one row, and it goes on
	again, err := c.Matrix()
	require.NoError(t, err)
	require.Equal(t, entry(t, m, "a").Counts[0]+1, entry(t, again, "a").Counts[0])
}

// Sums do not lose small squares beside many large ones where the device has float64.
func TestCollectorIsExact(t *testing.T) {
	d := device(t)
	if !d.Supports(tensor.F64) {
		t.Skip("the device has no float64")
	}
	var c imatrix.Collector
	c.Observe("w", tensor.From(d, []float32{1 << 13}, 1, 1), nil) // 2²⁶
	for range 64 {
		c.Observe("w", tensor.Ones(d, tensor.F32, 1, 1), nil)
	}
	m, err := c.Matrix()
	require.NoError(t, err)
	require.Equal(t, []float32{1<<26 + 64}, entry(t, m, "w").Sums)
}

// Experts have rows of their own; rows behind the last end are of none.
func TestCollectorOfExperts(t *testing.T) {
	d := device(t)
	const columns, experts = 5, 4
	want := newPlain(experts, columns)
	var c imatrix.Collector
	for call, ends := range [][]int64{{3, 3, 9, 10}, {0, 2, 2, 2}, {7, 9, 11, 12}} {
		x := random((12 + call) * columns)
		row := 0
		for e, end := range ends {
			for ; row < int(end); row++ {
				want.add(e, x[row*columns:][:columns])
			}
		}
		in := tensor.From(d, x, 12+call, columns)
		c.Observe("w", in, tensor.From(d, ends).Cast([]tensor.DType{tensor.I64, tensor.I32}[call%2]))
	}
	m, err := c.Matrix()
	require.NoError(t, err)
	want.equal(t, entry(t, m, "w"))
}

func TestCollectorRefuses(t *testing.T) {
	d := device(t)
	x := tensor.Ones(d, tensor.F32, 2, 3)
	ends := tensor.From(d, []int64{1, 2})
	for _, c := range []struct {
		want string
		call func(c *imatrix.Collector)
	}{
		{`"w": `, func(c *imatrix.Collector) { c.Observe("w", x.Reshape(7), nil) }},
		{"a single number has no columns",
			func(c *imatrix.Collector) { c.Observe("w", tensor.Ones(d, tensor.F32), nil) }},
		{"activations of u8", func(c *imatrix.Collector) { c.Observe("w", x.Cast(tensor.U8), nil) }},
		{"want (rows, columns) and (experts)",
			func(c *imatrix.Collector) { c.Observe("w", x.Unsqueeze(0), ends) }},
		{"[2, 4] for sums of [1, 3] before", func(c *imatrix.Collector) {
			c.Observe("w", x, nil)
			c.Observe("w", tensor.Ones(d, tensor.F32, 2, 4), nil)
		}},
		{"for sums of [1, 3] before", func(c *imatrix.Collector) {
			c.Observe("w", x, nil)
			c.Observe("w", x, ends)
		}},
		{"the sum of column 1 of expert 0 is NaN", func(c *imatrix.Collector) {
			c.Observe("w", tensor.From(d, []float32{1, float32(math.NaN())}), nil)
		}},
		{"the sum of column 0 of expert 0 is +Inf", func(c *imatrix.Collector) {
			c.Observe("w", tensor.From(d, []float32{1e30, 0}), nil)
		}},
	} {
		var collector imatrix.Collector
		collector.Observe("fine", x, nil)
		c.call(&collector)
		_, err := collector.Matrix()
		require.ErrorContains(t, err, `importance of "w": `)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "fine")
	}
	var c imatrix.Collector
	_, err := d.Capture(func() error { c.Observe("w", x, nil); return nil })
	require.NoError(t, err)
	_, err = c.Matrix()
	require.ErrorIs(t, err, runtime.ErrCapturing)
}

// network has a layer of each kind, and a weight that two layers share.
type network struct {
	Embed *nn.Embedding
	Attn  *nn.MultiHeadAttention
	Up    *nn.Linear
	MoE   *nn.MoE `nn:"moe"`
	Tied  *nn.Linear
}

func (n *network) Forward(ids *tensor.Tensor) *tensor.Tensor {
	x := n.Embed.Forward(ids)
	x = n.MoE.Forward(n.Up.Forward(n.Attn.Forward(x)))
	return n.Embed.Unembed(n.Tied.Forward(x))
}

// A run of a network collects for every linear layer, in scopes and on several goroutines too.
func TestNetwork(t *testing.T) {
	d := device(t)
	net := &network{Embed: nn.NewEmbedding(11, 8), Attn: nn.NewMultiHeadAttention(8, 2,
		nn.AttentionOptions{}), Up: nn.NewLinear(8, 8), MoE: nn.NewMoE(8, 6, 3, nn.MoEOptions{TopK: 2})}
	net.Tied = &nn.Linear{Weight: net.Up.Weight}
	require.NoError(t, nn.Init(net, nn.On{Device: d, DType: tensor.F32}))
	ids := tensor.From(d, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1}, 2, 6)
	before, err := tensor.ToSlice[float32](net.Forward(ids))
	require.NoError(t, err)

	// The same with the operands on the host.
	want := map[string]*plain{}
	_, err = nn.Observe(net, func(name string, x, ends *tensor.Tensor) {
		columns := x.Size(-1)
		list, err := tensor.ToSlice[float32](x)
		require.NoError(t, err)
		limits := []int64{int64(len(list) / columns)}
		if ends != nil {
			limits, err = tensor.ToSlice[int64](ends.Cast(tensor.I64))
			require.NoError(t, err)
		}
		p := want[name]
		if p == nil {
			p = newPlain(len(limits), columns)
			want[name] = p
		}
		row := 0
		for e, end := range limits {
			for ; row < int(end); row++ {
				p.add(e, list[row*columns:][:columns])
			}
		}
	})
	require.NoError(t, err)
	net.Forward(ids)
	for _, name := range []string{"embed.weight", "attn.in_proj_weight", "attn.out_proj.weight",
		"up.weight", "moe.gate.weight", "moe.experts.gate_proj", "moe.experts.up_proj",
		"moe.experts.down_proj"} {
		require.Contains(t, want, name)
	}
	require.Len(t, want, 8)
	require.EqualValues(t, 24, want["up.weight"].counts[0], "of both layers that share it")
	require.Len(t, want["moe.experts.down_proj"].counts, 3)

	var c imatrix.Collector
	n, err := nn.Observe(net, c.Observe)
	require.NoError(t, err)
	require.Equal(t, 7, n)
	var all sync.WaitGroup
	const runs = 3
	for range runs {
		all.Go(func() {
			s := tensor.OpenScope()
			y := net.Forward(ids.In(s))
			got, err := tensor.ToSlice[float32](y)
			require.NoError(t, err)
			require.Equal(t, before, got, "the network computes the same")
			require.NoError(t, s.Close())
		})
	}
	all.Wait()
	n, err = nn.Observe(net, nil)
	require.NoError(t, err)
	require.Equal(t, 7, n)
	net.Forward(ids) // tells nobody
	m, err := c.Matrix()
	require.NoError(t, err)
	require.Equal(t, len(want), m.Len())
	for name, p := range want {
		for i := range p.sums {
			p.sums[i] *= runs
		}
		for i := range p.counts {
			p.counts[i] *= runs
		}
		p.equal(t, entry(t, m, name))
	}

	// Both forms of files have it.
	m.Datasets, m.Chunks, m.ChunkSize = []string{"text"}, 2, 6
	for _, write := range []func(string, *imatrix.Matrix) error{imatrix.WriteFile,
		imatrix.WriteBinaryFile} {
		path := filepath.Join(t.TempDir(), "imatrix")
		require.NoError(t, write(path, m))
		got, err := imatrix.Open(path)
		require.NoError(t, err)
		require.Equal(t, m.Len(), got.Len())
		w := entry(t, got, "moe.experts.down_proj").Weights()
		for i, x := range entry(t, m, "moe.experts.down_proj").Weights() {
			require.InEpsilon(t, x, w[i], 1e-6)
		}
	}
}

// What is collected of a quantized weight weighs the errors of the next one.
func TestAround(t *testing.T) {
	d := device(t)
	x := random(4 * 256)
	w := quantized.Quantize(tensor.From(d, random(2*256), 2, 256), format.Q8_0)
	var c imatrix.Collector
	y := c.Around("w", w.Linear)(tensor.From(d, x, 4, 256))
	require.NoError(t, y.Err())
	want := newPlain(1, 256)
	for i := range 4 {
		want.add(0, x[i*256:][:256])
	}
	m, err := c.Matrix()
	require.NoError(t, err)
	e := entry(t, m, "w")
	want.equal(t, e)
	important := tensor.From(d, e.Weights())
	q := quantized.QuantizeImportant(w.Dequantize(tensor.F32), format.Q4_K, important)
	plainly := quantized.Quantize(w.Dequantize(tensor.F32), format.Q4_K)
	a, err := q.Bytes()
	require.NoError(t, err)
	b, err := plainly.Bytes()
	require.NoError(t, err)
	require.False(t, bytes.Equal(a, b))
	require.Contains(t, strings.ToLower(q.Format().String()), "q4_k")
}
