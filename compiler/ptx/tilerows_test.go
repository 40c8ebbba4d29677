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
	"github.com/gokiln/kiln/dsl"
)

// tileText is a kernel of conformance with a tile.Config as PTX.
func tileText(t *testing.T, kernel, arch string, types []string, configs ...map[string]int64) string {
	t.Helper()
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: kernel, TypeArgs: types, Consts: map[string]int64{}}
	for i, c := range configs {
		for _, field := range []string{"A", "B", "AVec", "BVec", "Bulk", "Cluster", "OutSize", "Promote"} {
			c[field] += 0
		}
		for field, v := range c {
			req.Consts[[]string{"cfg.", "then."}[i]+field] = v
		}
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// simArgs are the arguments of a kernel, and buffers of the slices among them.
type simArgs struct {
	bytes   []byte
	buffers [][]byte
}

// slice adds a slice of so many elements.
func (a *simArgs) slice(buffer []byte, n int) {
	a.buffers = append(a.buffers, buffer)
	a.bytes = binary.LittleEndian.AppendUint64(a.bytes, uint64(len(a.buffers))<<32)
	a.bytes = binary.LittleEndian.AppendUint64(a.bytes, uint64(n))
}

// ints adds numbers of the type int.
func (a *simArgs) ints(list ...int) {
	for _, n := range list {
		a.bytes = binary.LittleEndian.AppendUint64(a.bytes, uint64(n))
	}
}

// TestTileRows reduces, maps and transposes tiles in the simulator. Numbers are small integers, so
// that sums are exact.
func TestTileRows(t *testing.T) {
	config := func(m, n, down, across int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": 64, "Down": down, "Across": across, "Stages": 3, "Chunk": 8}
	}
	for _, c := range []struct {
		arch   string
		consts map[string]int64
	}{
		{"sm_80", config(16, 32, 1, 1)}, {"sm_80", config(64, 64, 2, 2)}, {"sm_80", config(16, 64, 1, 4)},
		{"sm_90a", config(64, 64, 4, 1)}, {"sm_90a", config(64, 24, 4, 1)},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d/%dx%d", c.arch, c.consts["M"], c.consts["N"], c.consts["Down"], c.consts["Across"]), func(t *testing.T) {
			t.Parallel()
			checkRows(t, tileText(t, "TileRows", c.arch, []string{"dsl.BF16", "float32"}, c.consts), c.consts)
		})
	}
}

// checkRows runs TileRows and compares with sums in float32.
func checkRows(t *testing.T, text string, c map[string]int64) {
	const k, lowest = 40, float32(-1000)
	rng, n := rand.New(rand.NewPCG(1, 2)), int(min(c["M"], c["N"]))-3
	draw := func() (values []float32, bytes []byte) {
		for range n * k {
			v := float32(rng.IntN(9) - 4)
			values = append(values, v)
			bytes = binary.LittleEndian.AppendUint16(bytes, dsl.To[dsl.BF16](v).Bits())
		}
		return values, append(bytes, make([]byte, 16)...)
	}
	var a simArgs
	a.slice(make([]byte, 4*n*n), n*n)
	a.slice(make([]byte, 8*n), 2*n)
	a.slice(make([]byte, 8*n), 2*n)
	x, xs := draw()
	y, ys := draw()
	a.slice(xs, n*k)
	a.slice(ys, n*k)
	a.ints(n, k)
	a.bytes = binary.LittleEndian.AppendUint32(a.bytes, math.Float32bits(lowest))
	a.bytes = append(a.bytes, make([]byte, 8*17)...) // cfg, of which nothing is read
	require.NoError(t, ptx.Simulate(text, false, [3]int{1, 1, 1}, [3]int{int(c["Down"]*c["Across"]) * 32, 1, 1}, a.bytes, a.buffers), text)

	product := make([]float32, n*n) // what is not below the diagonal stays 0
	rows, cols := make([]float32, 2*n), make([]float32, 2*n)
	for i := range n {
		rows[n+i], cols[n+i] = lowest, lowest
	}
	for r := range n {
		for q := range r + 1 {
			v := float32(0)
			for i := range k {
				v += x[r*k+i] * y[q*k+i]
			}
			product[r*n+q] = v
			rows[r], cols[q] = rows[r]+v, cols[q]+v
			rows[n+r], cols[n+q] = max(rows[n+r], v), max(cols[n+q], v)
		}
	}
	number := func(buffer []byte, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(buffer[4*i:]))
	}
	for i := range 2 * n {
		require.Equal(t, rows[i], number(a.buffers[1], i), "row %d of %d", i, n)
		require.Equal(t, cols[i], number(a.buffers[2], i), "column %d of %d", i, n)
	}
	for r := range n {
		for q := range n {
			want := int32(0)
			if q <= r && q >= r-8 {
				want = int32(product[r*n+q]-rows[n+r]+cols[q]) * 16
			}
			require.Equal(t, want, int32(binary.LittleEndian.Uint32(a.buffers[0][4*(q*n+r):])), "row %d, column %d", r, q)
		}
	}
}
