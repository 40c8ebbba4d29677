package ptx_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/ops/attention/kernels" // their source
)

// attention is causal attention of BF16 with its gradients, of tiles that bulk copies bring.
type attention struct {
	heads, groups, s, keys, d, dv int
	left                          int   // how many keys in front of its position a query attends to, 0: all
	capped, whole                 int64 // 1 if warpgroups take turns and results are stored by boxes

	q, k, v, grad, out, logs, deltas []float64
	dq, dk, dv2                      []float64
}

// TestAttention runs the kernels for sm_90a in the simulator: rows and keys that end within
// tiles, several heads of queries for one of keys, sizes of heads that are no whole boxes.
func TestAttention(t *testing.T) {
	for i, a := range []attention{
		{heads: 2, groups: 2, s: 70, keys: 150, d: 72, dv: 40},
		{heads: 1, groups: 2, s: 70, keys: 90, d: 64, dv: 64, capped: 1},
		{heads: 1, groups: 1, s: 130, keys: 130, d: 64, dv: 64, left: 70, whole: 1},
		{heads: 1, groups: 1, s: 130, keys: 130, d: 64, dv: 64},
		{heads: 2, groups: 2, s: 70, keys: 300, d: 72, dv: 136, whole: 1},
		{heads: 3, groups: 1, s: 130, keys: 230, d: 64, dv: 64, whole: 1},
	} {
		t.Run(fmt.Sprintf("%d heads of %d, %d by %d of %d and %d, capped %d, left %d, whole %d", a.heads, a.groups, a.s, a.keys, a.d, a.dv, a.capped, a.left, a.whole), func(t *testing.T) {
			if i >= 3 {
				tooltest.Sweep(t, "each option with smaller sizes")
			}
			t.Parallel()
			a.compute()
			rows := a.heads * a.groups * a.s
			near(t, a.out, a.run(t, "Forward", rows*a.dv)[0], "out")
			ofQueries := a.run(t, "BackwardQueries", rows*a.d)
			near(t, a.dq, ofQueries[0], "gradient of queries")
			ofKeys := a.run(t, "BackwardKeys", a.heads*a.keys*a.d, a.heads*a.keys*a.dv)
			near(t, a.dk, ofKeys[0], "gradient of keys")
			near(t, a.dv2, ofKeys[1], "gradient of values")
		})
	}
}

const capOfScores, scaleOfScores = 1.5, 0.125

// compute draws operands and computes everything in float64.
func (a *attention) compute() {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = float64(rng.IntN(65)-32) / 16
		}
		return list
	}
	rows := a.heads * a.groups * a.s
	a.q, a.k, a.v, a.grad = draw(rows*a.d), draw(a.heads*a.keys*a.d), draw(a.heads*a.keys*a.dv), draw(rows*a.dv)
	a.out, a.logs, a.deltas = make([]float64, rows*a.dv), make([]float64, rows), make([]float64, rows)
	a.dq, a.dk, a.dv2 = make([]float64, rows*a.d), make([]float64, len(a.k)), make([]float64, len(a.v))
	dot := func(x, y []float64, n int) (sum float64) {
		for i := range n {
			sum += x[i] * y[i]
		}
		return sum
	}
	for row := range rows {
		head, end := row/(a.groups*a.s), row%a.s+a.keys-a.s+1
		begin := 0
		if a.left > 0 {
			begin = max(end-1-a.left, 0)
		}
		p, slope, total := make([]float64, end), make([]float64, end), 0.0
		for key := begin; key < end; key++ {
			s := scaleOfScores * dot(a.q[row*a.d:], a.k[(head*a.keys+key)*a.d:], a.d)
			slope[key] = 1
			if a.capped == 1 {
				th := math.Tanh(s / capOfScores)
				s, slope[key] = capOfScores*th, 1-th*th
			}
			p[key] = math.Exp(s)
			total += p[key]
		}
		a.logs[row] = math.Log(total)
		for key := begin; key < end; key++ {
			p[key] /= total
			for c := range a.dv {
				a.out[row*a.dv+c] += p[key] * a.v[(head*a.keys+key)*a.dv+c]
			}
		}
		a.deltas[row] = dot(a.out[row*a.dv:], a.grad[row*a.dv:], a.dv)
		for key := begin; key < end; key++ {
			at := head*a.keys + key
			ds := p[key] * (dot(a.grad[row*a.dv:], a.v[at*a.dv:], a.dv) - a.deltas[row]) * slope[key]
			for c := range a.d {
				a.dq[row*a.d+c] += scaleOfScores * ds * a.k[at*a.d+c]
				a.dk[at*a.d+c] += scaleOfScores * ds * a.q[row*a.d+c]
			}
			for c := range a.dv {
				a.dv2[at*a.dv+c] += p[key] * a.grad[row*a.dv+c]
			}
		}
	}
}

// emit compiles a kernel for tiles.
func (a *attention) emit(t *testing.T, name string, consts map[string]int64) *compiler.Artifact {
	const pkg = "github.com/gokiln/kiln/ops/attention/kernels"
	req := front.Request{Pkg: pkg, Func: name, TypeArgs: []string{"dsl.BF16", "float32"}, Consts: consts}
	others := map[string]int64{"w.DV": wide(a.dv), "w.Stages": 2, "w.Chunk": 8, "w.Bulk": 1, "w.Raw": 1 - a.capped, "f.Bounded": 1, "f.Capped": a.capped}
	if name == "Forward" {
		maps.Copy(others, map[string]int64{"w.Wide": wide(a.d), "w.QVec": 1, "w.KVec": 1, "w.VVec": 1, "w.PingPong": a.whole, "w.Boxes": a.whole})
		req.Funcs = map[string]front.Func{"score": {Pkg: pkg, Name: "AnyScore"}, "see": {Pkg: pkg, Name: "AnyKey"}}
	} else {
		maps.Copy(others, map[string]int64{"w.D": wide(a.d), "w.Across": 1, "w.Vec": 1, "w.Boxes": a.whole})
	}
	maps.Copy(req.Consts, others)
	for _, f := range []string{"ALiBi", "Sinks", "Split", "Ragged", "Packed", "Page", "Score", "Seen", "Mask"} {
		req.Consts["f."+f] = 0
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:sm_90a")
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return art
}

// run runs a kernel and returns its results, of so many elements each.
func (a *attention) run(t *testing.T, name string, results ...int) (list [][]float64) {
	const m, n, warps = 128, 64, 8
	art := a.emit(t, name, map[string]int64{"w.M": m, "w.N": n, "w.Down": warps})
	rows := a.groups * a.s // of a plane
	ofRows, ofKeys, tiles := m, n, (rows+m-1)/m
	if name == "BackwardKeys" {
		ofRows, ofKeys, tiles = n, m, (a.keys+m-1)/m
	}
	var buffers [][]byte
	for _, size := range results {
		buffers = append(buffers, make([]byte, 2*size))
	}
	operands := []operand{{halves(a.grad), 2}, {singles(a.logs), 4}, {singles(a.deltas), 4}, {halves(a.q), 2}, {halves(a.k), 2}, {halves(a.v), 2}}
	absent := 3 // slices that there are none of: masks and slopes
	if name == "Forward" {
		operands[0], operands[1], operands[2] = operand{nil, 4}, operand{make([]byte, 4*len(a.logs)), 4}, operand{}
		absent = 6 // and scores left out, sinks and a table
	}
	var args, slices []byte
	add := func(o operand) uint64 {
		slices = binary.LittleEndian.AppendUint64(slices, uint64(len(buffers)+1)<<32)
		slices = binary.LittleEndian.AppendUint64(slices, uint64(len(o.bytes)/o.size))
		buffers = append(buffers, append(o.bytes, make([]byte, 16)...))
		return uint64(len(buffers)) << 32
	}
	for i, b := range buffers {
		slices = binary.LittleEndian.AppendUint64(slices, uint64(i+1)<<32)
		slices = binary.LittleEndian.AppendUint64(slices, uint64(len(b)/2))
	}
	var at []uint64 // addresses of operands
	for _, o := range operands {
		if o.size == 0 {
			at = append(at, 0)
			continue
		}
		at = append(at, add(o))
	}
	for i, f := range []struct{ at, size, rows, planes, box int }{
		{3, a.d, a.heads * rows, 1, ofRows}, {0, a.dv, a.heads * rows, 1, ofRows}, {4, a.d, a.keys, a.heads, ofKeys}, {5, a.dv, a.keys, a.heads, ofKeys},
	} {
		if i == 1 && name == "Forward" {
			args = append(args, a.outMap(0, a.dv, rows)...)
		} else {
			args = append(args, ptx.SimMap(at[f.at], 2, [3]int{f.size, f.rows, f.planes}, [2]int{2 * f.size, 2 * f.size * f.rows}, [3]int{64, f.box, 1})...)
		}
	}
	switch name {
	case "BackwardQueries":
		args = append(args, a.outMap(0, a.d, rows)...)
	case "BackwardKeys":
		args = append(append(args, a.outMap(0, a.d, a.keys)...), a.outMap(1, a.dv, a.keys)...)
	}
	args = append(append(args, slices...), make([]byte, absent*16)...)
	ofK, ofV := [6]int{0, a.keys * a.d, 0, 0, a.d, 0}, [6]int{0, a.keys * a.dv, 0, 0, a.dv, 0}
	problem := []int{rows, a.s, a.keys, a.d, a.dv, a.heads, a.groups, tiles, 1, a.heads * rows, 0, 0, 0, a.keys - a.s, 1 << 40, 0}
	if a.left > 0 {
		problem[len(problem)-2] = a.left
	}
	problem = append(append(append(problem, ofK[:]...), ofV[:]...), make([]int, 18)...)
	for _, v := range problem {
		args = binary.LittleEndian.AppendUint64(args, uint64(v))
	}
	for _, v := range []float64{scaleOfScores, capOfScores, math.Inf(-1)} {
		args = binary.LittleEndian.AppendUint32(args, math.Float32bits(float32(v)))
	}
	args = append(args, make([]byte, 256)...) // constants, of which nothing is read
	text := string(art.Code)
	require.NoError(t, ptx.Simulate(text, false, [3]int{a.heads * tiles, 1, 1}, [3]int{warps*32 + 128, 1, 1}, args, buffers), text)
	for _, b := range buffers[:len(results)] {
		var values []float64
		for i := 0; i < len(b); i += 2 {
			values = append(values, float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[i:]))<<16)))
		}
		list = append(list, values)
	}
	return list
}

// outMap describes result number i: a plane of rows for each head.
func (a *attention) outMap(i, size, rows int) []byte {
	return ptx.SimMap(uint64(i+1)<<32, 2, [3]int{size, rows, a.heads}, [2]int{2 * size, 2 * size * rows}, [3]int{64, 16, 1})
}

// operand is the bytes of a slice, and the size of an element, 0 for none.
type operand struct {
	bytes []byte
	size  int
}

// halves are numbers as BF16, in which they are exact.
func halves(x []float64) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16))
	}
	return b
}

func singles(x []float64) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

// near compares with what is rounded to BF16, as are probabilities in between: a hundredth of the
// largest element.
func near(t *testing.T, want, got []float64, what string) {
	most := 0.0
	for _, v := range want {
		most = max(most, math.Abs(v))
	}
	require.InDeltaSlice(t, want, got, most/100, what)
}
