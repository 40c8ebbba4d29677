package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/conv/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
)

// implicitConfig is a configuration of an implicit GEMM.
type implicitConfig struct {
	arch                             string
	m, n, down, across, stages, many int64
}

// text is the kernel as PTX.
func (c *implicitConfig) text(t *testing.T, flat int64) []byte {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/conv/kernels", Func: "ImplicitGemm", TypeArgs: []string{"dsl.BF16", "float32"},
		Consts: map[string]int64{
			"pairs": 1, "blocks": c.many, "g.Flat": flat, "g.Strided": 0, "g.Rank": 2, "cfg.M": c.m, "cfg.N": c.n, "cfg.K": 64, "cfg.Down": c.down, "cfg.Across": c.across, "cfg.Stages": c.stages,
			"cfg.Chunk": 8, "cfg.A": 0, "cfg.B": 0, "cfg.AVec": 1, "cfg.BVec": 1, "cfg.Bulk": 0, "cfg.Cluster": 1, "cfg.OutSize": 0, "cfg.Promote": 0,
		},
		Funcs: map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}},
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + c.arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return art.Code
}

// divisor is one for the numbers of the test.
func divisor(n int) core.Divisor {
	shift := bits.Len(uint(n - 1))
	return core.Divisor{By: uint32(n), Mul: uint32((1<<32)*((1<<shift)-uint64(n))/uint64(n) + 1), Shift: uint32(shift)}
}

// TestImplicit runs a convolution of 3x3 with padding and a stride in the simulator, whose input and
// result have their channels innermost.
func TestImplicit(t *testing.T) {
	const inputs, high, wide, channels, side, n, outHigh, outWide = 2, 7, 9, 24, 3, 72, 4, 9
	g := kernels.Implicit{M: inputs * outHigh * outWide, N: n, K: side * side * channels, Groups: 1}
	g.OutDiv = [3]core.Divisor{divisor(1), divisor(outHigh), divisor(outWide)}
	g.KernelDiv = [3]core.Divisor{divisor(1), divisor(side), divisor(side)}
	g.Image, g.Channels = divisor(outHigh*outWide), divisor(channels)
	g.In, g.Kernel, g.Stride, g.First, g.Step = [3]int{1, high, wide}, [3]int{1, side, side}, [3]int{1, 2, 1}, [3]int{0, -1, -1}, [3]int{1, 1, 1}
	g.X, g.XImage, g.Y = [3]int{0, wide * channels / 8, channels / 8}, high*wide*channels/8, g.K
	g.Out, g.OutImage, g.OutChannel = n, outHigh*outWide*n, 1
	for _, c := range []implicitConfig{{"sm_90a", 64, 64, 4, 1, 4, 2}, {"sm_90a", 128, 128, 8, 1, 3, 1}, {"sm_80", 64, 64, 2, 1, 3, 1}} {
		t.Run(fmt.Sprintf("%s/%dx%d", c.arch, c.m, c.n), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			draw := func(n int) (values []float32, bytes []byte) {
				for range n {
					v := float32(rng.IntN(9)-4) / 2
					values = append(values, v)
					bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(v)>>16))
				}
				return values, bytes
			}
			x, xs := draw(inputs * high * wide * channels)
			y, ys := draw(n * g.K)
			out := make([]byte, 2*g.M*n)
			var args []byte
			for i, length := range []int{g.M * n, len(x), len(y)} {
				args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
				args = binary.LittleEndian.AppendUint64(args, uint64(length))
			}
			args = append(args, unsafe.Slice((*byte)(unsafe.Pointer(&g)), unsafe.Sizeof(g))...)
			args = append(args, make([]byte, 8*20)...) // compile-time values, of which nothing is read
			tiles := (g.M + int(c.m) - 1) / int(c.m) * ((n + int(c.n) - 1) / int(c.n))
			require.NoError(t, ptx.Simulate(string(c.text(t, int64(len(c.arch)%2))), false, [3]int{tiles, 1, 1}, [3]int{int(c.down*c.across) * 32, 1, 1}, args, [][]byte{out, xs, ys}))
			for i := range g.M * n {
				at, col := i/n, i%n
				image, row, across := at/(outHigh*outWide), at/outWide%outHigh, at%outWide
				want := float32(0)
				for k := range g.K {
					r, s := row*2-1+k/channels/side, across-1+k/channels%side
					if r >= 0 && r < high && s >= 0 && s < wide {
						want += x[((image*high+r)*wide+s)*channels+k%channels] * y[col*g.K+k]
					}
				}
				rounded := math.Float32frombits((math.Float32bits(want) + 0x7fff + math.Float32bits(want)>>16&1) &^ 0xffff)
				require.Equal(t, rounded, math.Float32frombits(uint32(binary.LittleEndian.Uint16(out[2*i:]))<<16), "position %d, channel %d", at, col)
			}
		})
	}
}

// TestImplicitAssemble gives configurations of convolutions to the vendor's assembler: nothing is
// spilled, with as many registers as several resident blocks leave.
func TestImplicitAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range []implicitConfig{
		{"sm_90a", 128, 256, 8, 1, 4, 1}, {"sm_90a", 128, 128, 8, 1, 3, 2}, {"sm_90a", 128, 64, 8, 1, 4, 2}, {"sm_90a", 64, 64, 4, 1, 4, 2},
		{"sm_80", 128, 128, 2, 4, 3, 1}, {"sm_80", 64, 64, 2, 1, 4, 1},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d", c.arch, c.m, c.n), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "implicit.ptx")
			require.NoError(t, os.WriteFile(file, c.text(t, 1), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
		})
	}
}
