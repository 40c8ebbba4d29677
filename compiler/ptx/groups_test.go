package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/ops/matmul/kernels" // their source
)

// groupsText is the kernel for products of groups by bulk copies, as PTX.
func groupsText(t *testing.T, consts map[string]int64) string {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/matmul/kernels", Func: "MultiplyGroups", TypeArgs: []string{"dsl.BF16", "dsl.BF16", "float32"},
		Consts: map[string]int64{"pairs": 1, "g.DivideK": 0},
		Funcs:  map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}},
	}
	for field, v := range consts {
		req.Consts["cfg."+field] = v
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:sm_90a")
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// groupsConfig is a configuration for 16-bit types.
func groupsConfig(m, n, down, stages, b, cluster, outSize int64) map[string]int64 {
	return map[string]int64{
		"M": m, "N": n, "K": 64, "Down": down, "Across": 1, "Stages": stages, "Chunk": 8, "A": 0, "B": b,
		"AVec": 1, "BVec": 1, "Bulk": 1, "Cluster": cluster, "OutSize": outSize, "Promote": 0,
	}
}

// TestGroups runs products of groups of rows in the simulator, by bulk copies. Rows of a group are in
// several tiles, and in one that other groups are in, too. Behind the last group there are zeros.
func TestGroups(t *testing.T) {
	const total, n, k = 150, 72, 136
	ends := []int{70, 71, 71, 140}
	for _, consts := range []map[string]int64{
		groupsConfig(64, 64, 4, 3, 1, 1, 2), groupsConfig(64, 64, 4, 4, 0, 1, 0), groupsConfig(128, 64, 8, 3, 1, 1, 2),
		groupsConfig(64, 128, 4, 3, 1, 1, 2), groupsConfig(64, 128, 4, 3, 0, 2, 2),
	} {
		t.Run(fmt.Sprintf("%dx%d by %d, %d", consts["M"], consts["N"], consts["Cluster"], consts["B"]), func(t *testing.T) {
			t.Parallel()
			text := groupsText(t, consts)
			for _, early := range []bool{false, true} {
				checkGroups(t, text, consts, early, total, n, k, ends)
			}
		})
	}
}

func checkGroups(t *testing.T, text string, consts map[string]int64, early bool, total, n, k int, ends []int) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) (values []float32, bytes []byte) {
		for range n {
			v := float32(rng.IntN(9)-4) / 2
			values = append(values, v)
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(v)>>16))
		}
		return values, append(bytes, make([]byte, 16)...)
	}
	count, high := len(ends), int(consts["M"]*consts["Cluster"])
	x, xs := draw(total * k)
	y, ys := draw(count * n * k)
	out := make([]byte, 2*total*n)
	for i := range out {
		out[i] = 0xab
	}
	begins, before, tiles := []int{0}, []int{}, 0
	for i, end := range append(ends, total) {
		begins, before = append(begins, end), append(before, tiles)
		tiles += (end - begins[i] + high - 1) / high
	}
	var plan []byte
	for _, v := range append(append(begins, before...), tiles) {
		plan = binary.LittleEndian.AppendUint32(plan, uint32(v))
	}
	args := ptx.SimMap(2<<32, 2, [3]int{k, total, 1}, [2]int{2 * k, 0}, [3]int{64, int(consts["M"]), 1})
	if box := int(consts["N"] / consts["Cluster"]); consts["B"] == 0 {
		args = append(args, ptx.SimMap(3<<32, 2, [3]int{k, n, count}, [2]int{2 * k, 2 * k * n}, [3]int{64, box, 1})...)
	} else {
		args = append(args, ptx.SimMap(3<<32, 2, [3]int{n, k, count}, [2]int{2 * n, 2 * k * n}, [3]int{64, 64, 1})...)
	}
	args = append(args, ptx.SimMap(1<<32, 2, [3]int{n, total, 1}, [2]int{2 * n, 0}, [3]int{64, 16, 1})...)
	for i, length := range []int{total * n, total * k, count * n * k, len(plan) / 4} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(length))
	}
	yk, yn := n, 1
	if consts["B"] == 0 {
		yk, yn = 1, k
	}
	for _, v := range []int{total, n, k, n, 1, k, 1, yk, yn, 1, k, 0, 0, 1, count, 0, n * k} {
		args = binary.LittleEndian.AppendUint64(args, uint64(v))
	}
	args = append(args, make([]byte, 8*20)...) // compile-time values, of which nothing is read
	blocks, threads := 3*int(consts["Cluster"]), int(consts["Down"])*32+128
	require.NoError(t, ptx.Simulate(text, early, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, args, [][]byte{out, xs, ys, plan}))
	group := 0
	for row := range total {
		for group < count && row >= ends[group] {
			group++
		}
		for col := range n {
			want := float32(0)
			for i := 0; i < k && group < count; i++ {
				want += x[row*k+i] * y[group*n*k+i*yk+col*yn]
			}
			rounded := math.Float32frombits((math.Float32bits(want) + 0x7fff + math.Float32bits(want)>>16&1) &^ 0xffff)
			got := math.Float32frombits(uint32(binary.LittleEndian.Uint16(out[2*(row*n+col):])) << 16)
			require.Equal(t, rounded, got, "row %d, column %d", row, col)
		}
	}
}

// TestGroupsAssemble gives the configurations for groups to the vendor's assembler: nothing is spilled.
func TestGroupsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, consts := range []map[string]int64{
		groupsConfig(128, 256, 8, 4, 1, 1, 2), groupsConfig(128, 256, 8, 4, 0, 2, 2), groupsConfig(64, 256, 4, 5, 0, 1, 2), groupsConfig(64, 128, 4, 8, 1, 1, 2),
	} {
		t.Run(fmt.Sprintf("%dx%d by %d, %d", consts["M"], consts["N"], consts["Cluster"], consts["B"]), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "groups.ptx")
			require.NoError(t, os.WriteFile(file, []byte(groupsText(t, consts)), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch=sm_90a", "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
		})
	}
}
