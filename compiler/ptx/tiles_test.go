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
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/tests/conformance/kernels" // their source
)

// product is a launch of conformance's kernel Tiles, by one block.
type product struct {
	types   []string
	m, n, k int
	consts  map[string]int64 // fields of cfg
}

// tileProduct is a product for an architecture.
type tileProduct struct {
	arch string
	product
}

func (c *tileProduct) String() string {
	return fmt.Sprintf("%s/%v/%dx%dx%d", c.arch, c.types, c.m, c.n, c.k)
}

// tileProducts have every matrix instruction of NVIDIA's. There are no steps, fewer than the stages,
// and more.
func tileProducts() []tileProduct {
	half := func(m, n, down, stages, a, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": 64, "Down": down, "Across": 1, "Stages": stages, "Chunk": 8, "A": a, "B": b, "AVec": 1, "BVec": 1}
	}
	double := func(n, across int64) map[string]int64 {
		return map[string]int64{"M": 16, "N": n, "K": 16, "Down": 1, "Across": across, "Stages": 2, "Chunk": 2, "A": 0, "B": 1, "AVec": 1, "BVec": 0}
	}
	single := func(m, n, down, stages, a, b int64) map[string]int64 {
		c := half(m, n, down, stages, a, b)
		c["K"], c["Chunk"] = 32, 4
		return c
	}
	eight := func(m, n, down, stages, b int64) map[string]int64 {
		c := half(m, n, down, stages, 0, b)
		c["K"], c["Chunk"] = 128, 16
		return c
	}
	bulk := func(m, n, down, stages, a, b, cluster, outSize int64) map[string]int64 {
		c := half(m, n, down, stages, a, b)
		c["Bulk"], c["Cluster"], c["OutSize"] = 1, cluster, outSize
		return c
	}
	bf16, f16, f64 := []string{"dsl.BF16", "float32"}, []string{"dsl.F16", "float32"}, []string{"float64", "float64"}
	tf32 := []string{"dsl.TF32", "float32"}
	e4m3, e5m2, i8, u8 := []string{"dsl.F8E4M3", "float32"}, []string{"dsl.F8E5M2", "float32"}, []string{"int8", "int32"}, []string{"uint8", "uint32"}
	ring := func(c map[string]int64) map[string]int64 {
		c["Bulk"], c["Cluster"], c["OutSize"] = 1, 1, 4
		return c
	}
	promote := func(stages int64, c map[string]int64) map[string]int64 {
		c["Promote"] = stages
		return c
	}
	return []tileProduct{
		{"sm_80", product{bf16, 24, 72, 200, half(32, 64, 2, 3, 0, 1)}},
		{"sm_80", product{f16, 32, 64, 64, half(32, 64, 2, 2, 0, 0)}},
		{"sm_80", product{bf16, 72, 64, 128, half(64, 64, 1, 2, 1, 1)}},
		{"sm_80", product{tf32, 72, 64, 44, single(32, 64, 2, 2, 0, 0)}},
		{"sm_80", product{tf32, 64, 72, 64, single(64, 64, 1, 3, 1, 1)}},
		{"sm_90a", product{tf32, 128, 72, 100, single(64, 64, 4, 3, 0, 0)}},
		{"sm_90a", product{tf32, 64, 64, 32, single(64, 64, 4, 3, 0, 1)}},
		{"sm_89", product{e4m3, 24, 72, 208, eight(32, 64, 2, 3, 0)}},
		{"sm_89", product{e5m2, 32, 144, 144, eight(32, 128, 2, 2, 1)}},
		{"sm_80", product{i8, 24, 144, 208, eight(32, 128, 2, 3, 1)}},
		{"sm_80", product{u8, 24, 72, 160, eight(32, 64, 2, 3, 0)}},
		{"sm_90a", product{e4m3, 128, 72, 400, eight(64, 64, 4, 3, 0)}},
		{"sm_90a", product{e5m2, 72, 64, 128, ring(eight(64, 64, 4, 3, 0))}},
		{"sm_90a", product{i8, 72, 128, 464, ring(eight(64, 64, 4, 3, 0))}},
		{"sm_90a", product{i8, 64, 64, 256, eight(64, 128, 4, 3, 1)}},
		{"sm_90a", product{u8, 128, 72, 144, ring(eight(64, 64, 4, 3, 0))}},
		{"sm_89", product{e4m3, 24, 72, 400, promote(1, eight(32, 64, 2, 3, 0))}},
		{"sm_90a", product{e4m3, 72, 64, 400, promote(1, eight(64, 64, 4, 3, 0))}},
		{"sm_90a", product{e4m3, 128, 72, 656, promote(1, ring(eight(64, 64, 4, 3, 0)))}},
		{"sm_89", product{e4m3, 24, 72, 656, promote(3, eight(32, 64, 2, 3, 0))}},
		{"sm_90a", product{e4m3, 72, 64, 656, promote(2, eight(64, 64, 4, 3, 0))}},
		{"sm_90a", product{e4m3, 128, 72, 1040, promote(2, ring(eight(64, 64, 4, 3, 0)))}},
		{"sm_90a", product{bf16, 72, 72, 384, promote(3, bulk(64, 64, 4, 3, 0, 1, 1, 4))}},
		{"sm_90a", product{bf16, 64, 64, 64, promote(3, bulk(64, 64, 4, 3, 0, 1, 1, 4))}},
		{"sm_80", product{f64, 15, 31, 40, double(32, 2)}},
		{"sm_90", product{f64, 15, 31, 40, double(16, 1)}},
		{"sm_90a", product{bf16, 72, 72, 200, half(64, 64, 4, 3, 0, 1)}},
		{"sm_90a", product{f16, 64, 16, 448, half(64, 16, 4, 4, 0, 0)}},
		{"sm_90a", product{bf16, 128, 128, 64, half(128, 128, 8, 4, 1, 1)}},
		{"sm_90a", product{bf16, 64, 64, 0, half(64, 64, 4, 3, 0, 1)}},
		{"sm_90a", product{bf16, 72, 72, 200, bulk(64, 64, 4, 3, 0, 1, 1, 0)}},
		{"sm_90a", product{f16, 150, 40, 448, bulk(64, 32, 4, 4, 0, 0, 1, 4)}},
		{"sm_90a", product{bf16, 200, 136, 256, bulk(128, 128, 8, 4, 1, 1, 1, 4)}},
		{"sm_90a", product{bf16, 64, 64, 0, bulk(64, 64, 4, 3, 0, 1, 1, 4)}},
		{"sm_90a", product{bf16, 200, 136, 200, bulk(64, 128, 4, 3, 0, 1, 2, 4)}},
		{"sm_90a", product{f16, 300, 64, 64, bulk(64, 64, 4, 3, 1, 0, 2, 0)}},
	}
}

// TestTiles runs products of package tile in the simulator: by mma.sync and ldmatrix, and by groups
// of warps. Factors are small integers, so that sums are exact.
func TestTiles(t *testing.T) {
	for _, c := range tileProducts() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			text := c.text(t, c.arch)
			c.check(t, text, false)
			c.check(t, text, true)
		})
	}
}

// text is the kernel as PTX.
func (p *product) text(t *testing.T, arch string) string { return p.emit(t, "ptx:"+arch) }

// emit is the kernel for a target.
func (p *product) emit(t *testing.T, to string) string {
	for _, field := range []string{"Bulk", "Cluster", "OutSize", "Promote"} {
		p.consts[field] += 0
	}
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: "Tiles", TypeArgs: p.types, Consts: map[string]int64{}}
	for field, v := range p.consts {
		req.Consts["cfg."+field] = v
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse(to)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// check runs the kernel, with asynchronous copies late or early, and compares with sums in float64.
func (p *product) check(t *testing.T, text string, early bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	size := map[string]int{"dsl.F8E4M3": 1, "dsl.F8E5M2": 1, "int8": 1, "uint8": 1, "dsl.BF16": 2, "dsl.F16": 2, "dsl.TF32": 4, "float64": 8, "float32": 4, "int32": 4, "uint32": 4}
	draw := func(n int) (values []float64, bytes []byte) {
		for range n {
			v := float64(rng.IntN(17)-8) / 4
			switch p.types[0] {
			case "int8":
				v *= 4
			case "uint8":
				v = math.Abs(v * 4)
			}
			values = append(values, v)
			switch p.types[0] {
			case "int8", "uint8":
				bytes = append(bytes, byte(int8(v)))
			case "dsl.F8E4M3":
				bytes = append(bytes, dsl.To[dsl.F8E4M3](float32(v)).Bits())
			case "dsl.F8E5M2":
				bytes = append(bytes, dsl.To[dsl.F8E5M2](float32(v)).Bits())
			case "dsl.BF16":
				bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(float32(v))>>16))
			case "dsl.F16":
				bytes = binary.LittleEndian.AppendUint16(bytes, dsl.To[dsl.F16](float32(v)).Bits())
			case "dsl.TF32": // with bits that are not read
				bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v))|uint32(rng.IntN(1<<13)))
			default:
				bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(v))
			}
		}
		return values, append(bytes, make([]byte, 16)...)
	}
	x, xs := draw(p.m * p.k)
	y, ys := draw(p.k * p.n)
	out := make([]byte, p.m*p.n*size[p.types[1]])
	var args []byte
	args = append(args, p.factorMap(2, p.m, p.consts["A"], p.consts["M"])...)
	args = append(args, p.factorMap(3, p.n, p.consts["B"], p.consts["N"]/max(p.consts["Cluster"], 1))...)
	args = append(args, ptx.SimMap(1<<32, size[p.types[1]], [3]int{p.n, p.m, 1}, [2]int{p.n * size[p.types[1]], 0}, [3]int{128 / size[p.types[1]], 16, 1})...)
	for i, n := range []int{p.m * p.n, p.m * p.k, p.k * p.n} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(n))
	}
	for _, n := range []int{p.m, p.n, p.k} {
		args = binary.LittleEndian.AppendUint64(args, uint64(n))
	}
	args = append(args, make([]byte, 8*16)...) // cfg, of which nothing is read
	threads, blocks := int(p.consts["Down"]*p.consts["Across"])*32, int(max(p.consts["Cluster"], 1))
	if p.consts["Bulk"] == 1 {
		threads += 128
	}
	require.NoError(t, ptx.Simulate(text, early, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, args, [][]byte{out, xs, ys}), text)
	for row := range p.m {
		for col := range p.n {
			want := 0.0
			for k := range p.k {
				a, b := x[p.at(row, k, p.m, p.consts["A"])], y[p.at(col, k, p.n, p.consts["B"])]
				want += a * b
			}
			at := row*p.n + col
			got := 0.0
			switch p.types[1] {
			case "float64":
				got = math.Float64frombits(binary.LittleEndian.Uint64(out[8*at:]))
			case "int32", "uint32":
				got = float64(int32(binary.LittleEndian.Uint32(out[4*at:])))
			default:
				got = float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*at:])))
			}
			require.Equal(t, want, got, "row %d, column %d", row, col)
		}
	}
}

// factorMap describes the factor in a buffer, with n rows or columns, of which a box has some.
func (p *product) factorMap(buffer uint64, n int, order, box int64) []byte {
	k := int(p.consts["K"])
	if order == 0 {
		return ptx.SimMap(buffer<<32, 128/k, [3]int{p.k, n, 1}, [2]int{p.k * 128 / k, 0}, [3]int{k, int(box), 1})
	}
	return ptx.SimMap(buffer<<32, 128/k, [3]int{n, p.k, 1}, [2]int{n * 128 / k, 0}, [3]int{k, k, 1})
}

// at is where a factor with n rows or columns has place k of number i.
func (p *product) at(i, k, n int, order int64) int {
	if order == 0 {
		return i*p.k + k
	}
	return k*n + i
}

// TestTilesAssemble gives the configurations that products use to the vendor's assembler: sums stay
// in registers, nothing is spilled, and products of warpgroups are not serialised.
func TestTilesAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	config := func(m, n, k, down, across, stages, chunk, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": k, "Down": down, "Across": across, "Stages": stages, "Chunk": chunk, "A": 0, "B": b, "AVec": 1, "BVec": 1}
	}
	bulk := func(c map[string]int64, cluster int64) map[string]int64 {
		c["Bulk"], c["Cluster"], c["OutSize"] = 1, cluster, 4
		return c
	}
	bf16, tf32, f64 := []string{"dsl.BF16", "float32"}, []string{"dsl.TF32", "float32"}, []string{"float64", "float64"}
	e4m3 := []string{"dsl.F8E4M3", "float32"}
	promote := func(stages int64, c map[string]int64) map[string]int64 {
		c["Promote"] = stages
		return c
	}
	for _, c := range []struct {
		arch   string
		types  []string
		consts map[string]int64
	}{
		{"sm_90a", bf16, config(128, 256, 64, 8, 1, 4, 8, 1)},
		{"sm_90a", bf16, config(128, 128, 64, 8, 1, 6, 8, 0)},
		{"sm_90a", bf16, bulk(config(128, 256, 64, 8, 1, 4, 8, 0), 2)},
		{"sm_90a", bf16, bulk(config(128, 256, 64, 8, 1, 4, 8, 1), 1)},
		{"sm_90a", bf16, bulk(config(64, 128, 64, 4, 1, 8, 8, 1), 1)},
		{"sm_90a", tf32, config(128, 256, 32, 8, 1, 4, 4, 0)},
		{"sm_90a", e4m3, bulk(config(128, 256, 128, 8, 1, 4, 16, 0), 2)},
		{"sm_90a", []string{"int8", "int32"}, bulk(config(128, 256, 128, 8, 1, 4, 16, 0), 2)},
		{"sm_90a", e4m3, promote(1, bulk(config(128, 128, 128, 8, 1, 6, 16, 0), 2))},
		{"sm_90a", e4m3, promote(2, bulk(config(128, 128, 128, 8, 1, 6, 16, 0), 2))},
		{"sm_90a", bf16, promote(8, bulk(config(128, 128, 64, 8, 1, 6, 8, 0), 2))},
		{"sm_89", e4m3, config(128, 128, 128, 2, 2, 3, 16, 0)},
		{"sm_120", []string{"dsl.F8E5M2", "float32"}, config(64, 128, 128, 2, 2, 3, 16, 0)},
		{"sm_80", []string{"uint8", "uint32"}, config(128, 128, 128, 2, 2, 3, 16, 1)},
		{"sm_80", tf32, config(128, 128, 32, 2, 2, 3, 4, 1)},
		{"sm_80", bf16, config(128, 128, 64, 2, 2, 3, 8, 1)},
		{"sm_90a", bf16, config(64, 128, 64, 4, 1, 8, 8, 1)},
		{"sm_90a", bf16, config(16, 128, 64, 1, 4, 6, 8, 1)},
		{"sm_80", bf16, config(32, 64, 64, 1, 2, 6, 8, 0)},
		{"sm_120", bf16, config(64, 128, 64, 2, 2, 3, 8, 0)},
		{"sm_90", f64, config(64, 128, 16, 2, 2, 3, 2, 1)},
	} {
		t.Run(fmt.Sprintf("%s/%v/%dx%d", c.arch, c.types, c.consts["M"], c.consts["N"]), func(t *testing.T) {
			t.Parallel()
			p := product{types: c.types, consts: c.consts}
			file := filepath.Join(t.TempDir(), "tiles.ptx")
			require.NoError(t, os.WriteFile(file, []byte(p.text(t, c.arch)), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
			// As the driver's linker compiles it, where registers pass from no warp to another.
			out, err = exec.Command(ptxas, "-c", "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NotContains(t, string(out), "serialized")
		})
	}
}
