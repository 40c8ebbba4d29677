package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
)

// stream is a launch of conformance's kernel TileStream.
type stream struct {
	both, turns  int64
	tileN, warps int64
	stages       int64
	m, n, k, d   int
}

// TestTileStream runs chains of two products by bulk copies in the simulator, with copies late and
// early: no tile, fewer than there are stages, and more, of which the last has an edge.
func TestTileStream(t *testing.T) {
	for _, s := range []stream{
		{both: 0, tileN: 64, warps: 4, stages: 2, m: 64, n: 64, k: 64, d: 64},
		{both: 0, tileN: 64, warps: 8, stages: 2, m: 150, n: 600, k: 104, d: 72},
		{both: 0, tileN: 128, warps: 4, stages: 1, m: 64, n: 700, k: 40, d: 128},
		{both: 0, tileN: 64, warps: 4, stages: 3, m: 64, n: 0, k: 64, d: 64},
		{both: 1, tileN: 64, warps: 4, stages: 2, m: 64, n: 64, k: 64, d: 64},
		{both: 1, tileN: 64, warps: 8, stages: 2, m: 150, n: 330, k: 104, d: 104},
		{both: 1, tileN: 64, warps: 4, stages: 1, m: 64, n: 200, k: 128, d: 128},
		{both: 1, tileN: 64, warps: 4, stages: 3, m: 64, n: 0, k: 64, d: 64},
		{turns: 1, tileN: 64, warps: 8, stages: 2, m: 150, n: 600, k: 104, d: 72},
		{turns: 1, tileN: 64, warps: 4, stages: 2, m: 64, n: 200, k: 64, d: 64},
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			text := s.text(t)
			s.check(t, text, false)
			s.check(t, text, true)
		})
	}
}

// wide is a size rounded up to 64 elements, which are 128 bytes.
func wide(n int) int64 { return int64(n+63) / 64 * 64 }

func (s *stream) text(t *testing.T) string {
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: "TileStream", TypeArgs: []string{"dsl.BF16", "float32"},
		Consts: map[string]int64{"both": s.both, "turns": s.turns, "wide": wide(s.k)}}
	for field, v := range map[string]int64{"M": 16 * s.warps, "N": s.tileN, "K": 64, "Down": s.warps, "Across": 1, "Stages": s.stages, "Chunk": 8,
		"A": 0, "B": 0, "Bulk": 1, "Cluster": 1, "OutSize": 0, "Promote": 0, "AVec": 1, "BVec": 1} {
		req.Consts["cfg."+field], req.Consts["then."+field] = v, v
	}
	req.Consts["then.N"], req.Consts["then.B"] = wide(s.d), 1
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:sm_90a")
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// check runs the kernel and compares with sums in float64. Factors are such that all are exact.
func (s *stream) check(t *testing.T, text string, early bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) (values []float64, bytes []byte) {
		for range n {
			v := float64(rng.IntN(3) - 1)
			values = append(values, v)
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(float32(v))>>16))
		}
		return values, append(bytes, make([]byte, 16)...)
	}
	x, xs := draw(s.m * s.k)
	y, ys := draw(s.n * s.k)
	z, zs := draw(s.n * s.d)
	out := make([]byte, s.m*s.d*4)
	tile := 16 * int(s.warps)
	var args []byte
	for i, n := range [][3]int{{s.k, s.m, tile}, {s.k, s.n, int(s.tileN)}, {s.d, s.n, int(s.tileN)}} {
		args = append(args, ptx.SimMap(uint64(i+2)<<32, 2, [3]int{n[0], max(n[1], 1), 1}, [2]int{n[0] * 2, 0}, [3]int{64, n[2], 1})...)
	}
	for i, n := range []int{s.m * s.d, s.m * s.k, s.n * s.k, s.n * s.d} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(n))
	}
	for _, n := range []int{s.m, s.n, s.k, s.d} {
		args = binary.LittleEndian.AppendUint64(args, uint64(n))
	}
	args = append(args, make([]byte, 8*40)...) // constants, of which nothing is read
	blocks, threads := (s.m+tile-1)/tile, int(s.warps)*32+128
	require.NoError(t, ptx.Simulate(text, early, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, args, [][]byte{out, xs, ys, zs}), text)
	for row := range s.m {
		want := make([]float64, s.d)
		for at := 0; at < s.n; at += int(s.tileN) {
			s.add(want, x[row*s.k:], y, z, at)
		}
		for col := range s.d {
			got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*(row*s.d+col):]))
			require.Equal(t, want[col], float64(got), "row %d, column %d", row, col)
		}
	}
}

// add adds to a row of the result what a tile gives, or takes its sign before.
func (s *stream) add(row, x, y, z []float64, at int) {
	if s.both == 0 {
		if at/int(s.tileN)%3 == 1 {
			return
		}
		for c := range row {
			row[c] = -row[c]
		}
	}
	dot := func(a, b []float64, n int) (sum float64) {
		for i := range n {
			sum += a[i] * b[i]
		}
		return sum
	}
	for n := at; n < min(at+int(s.tileN), s.n); n++ {
		p := dot(x, y[n*s.k:], s.k)
		for c := range row {
			if s.both == 0 {
				row[c] += 2 * p * z[n*s.d+c]
			} else {
				times, less := float64(1+n%2), float64(n%3)
				row[c] += times*p*z[n*s.d+c] + 3*(times*p-dot(x, z[n*s.d:], s.d)-less)*y[n*s.k+c]
			}
		}
	}
}
